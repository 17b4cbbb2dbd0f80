/** What one that has become active is to do before it applies anything: a function of what those before have left in the Lease and of what its store knows. */
import type { Forebear } from '../../core/session/node-identity.ts';
import type { LeaseWords } from './lease.ts';
import type { LeaseMemory } from './lease-memory.ts';

export interface Succession {
  /** Of the parent's knowledge. */
  readonly forebear?: Forebear;
  /** Another store was active last, or may have been: what this one holds may be older than what was applied. Why, in words. */
  readonly catchUp?: string;
  /** What was applied by other stores has to come on record. */
  readonly takeStock: boolean;
  /** Ms by which states are told ahead of the own wall clock, so that the parent does not take them for older than those of before. */
  readonly aheadMs: number;
}

/** The former one may have told of states for so long after the Lease said by which time it does. */
const toldSinceMs = 5_000;

export function successionOf(
  left: LeaseWords,
  memory: LeaseMemory,
  now: { readonly wallMs: number; readonly sinceSeenMs: number },
): Succession {
  const { bootCounter, attachedNonce, toldMs } = left;
  const catchUp = reasonToCatchUp(left, memory);
  const toldByNowMs = toldMs === undefined ? 0 : toldMs + now.sinceSeenMs + toldSinceMs;
  return {
    ...(bootCounter === undefined
      ? {}
      : { forebear: { bootCounter, ...(attachedNonce === undefined ? {} : { attachedNonce }) } }),
    ...(catchUp === undefined ? {} : { catchUp }),
    takeStock: catchUp !== undefined || !memory.tookStock,
    aheadMs: Math.max(0, toldByNowMs - now.wallMs),
  };
}

function reasonToCatchUp({ store }: LeaseWords, memory: LeaseMemory): string | undefined {
  if (store === memory.store) return undefined;
  if (store !== undefined) return 'another of the agents of this identity was active last';
  return memory.leased ? 'the Lease was made anew, and does not say which agent was active last' : undefined;
}
