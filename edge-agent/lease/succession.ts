/**
 * Decides what an agent does when it becomes active, before it applies anything. The decision depends on the values in the Lease and on the values in the
 * agent's store.
 */
import type { Forebear } from '../../core/session/node-identity.ts';
import type { LeaseHandover } from './lease.ts';
import type { LeaseMemory } from './lease-memory.ts';

export interface Succession {
  /** The boot counter and the nonce by which the parent knows the previous agents. */
  readonly forebear?: Forebear;
  /** The reason why the agent has to catch up: another store was active last, or may have been, so this store may be older than the state of the cluster. */
  readonly catchUp?: string;
}

export function successionOf(handover: LeaseHandover, memory: LeaseMemory): Succession {
  const { bootCounter, attachedNonce } = handover;
  const catchUp = reasonToCatchUp(handover, memory);
  const nonce = attachedNonce === undefined ? {} : { attachedNonce };
  return {
    ...(bootCounter === undefined ? {} : { forebear: { bootCounter, ...nonce } }),
    ...(catchUp === undefined ? {} : { catchUp }),
  };
}

function reasonToCatchUp({ store }: LeaseHandover, memory: LeaseMemory): string | undefined {
  if (store === memory.store) return undefined;
  if (store !== undefined) return 'another agent of this identity was active last';
  return memory.leased ? 'the Lease was created again, and does not name the agent that was active last' : undefined;
}
