/** What a node says of itself in every Hello: how often its store was started, and which start this is. */

import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import { asText, hex, text } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';

export interface NodeIdentity {
  /**
   * Grows with each start, and is no less than the seconds since 1970: a node that lost its store, or was put back to an older copy of it, is not taken
   * for a copy of itself.
   */
  readonly bootCounter: number;
  /** 16 bytes, hex, of this start: its boot counter as it was then, and 8 random bytes. */
  readonly bootNonce: string;
  /** The node has once caught up with its parent: what is missing in its feeds is meant to be missing. */
  readonly caughtUp: boolean;
  /** The boot nonce under which a parent welcomed this store last; a copy of an older state of the store has an older one. */
  readonly attachedNonce?: string;
  /** The boot counter of the first start with this store. */
  readonly firstBoot: number;
}

/** What the last process with this identity, which had another store, was to the parent; its lawful successor is to be taken for it. */
export interface Forebear {
  readonly bootCounter: number;
  readonly attachedNonce?: string;
}

export function beginBoot(t: Transaction, clock: Clock, random: Random, forebear?: Forebear): NodeIdentity {
  const before = readNodeIdentity(t);
  const own = boundedCounter(before?.bootCounter, bootCounterMax);
  const theirs = boundedCounter(forebear?.bootCounter, bootCounterMax);
  const attachedNonce = theirs > own ? (forebear?.attachedNonce ?? before?.attachedNonce) : before?.attachedNonce;
  const bootCounter = Math.max(own + 1, theirs + 1, boundedCounter(Math.floor(clock.wallMs() / 1000), bootCounterMax));
  const identity: NodeIdentity = {
    bootCounter,
    bootNonce: nonceOf(bootCounter, random),
    caughtUp: before?.caughtUp ?? false,
    firstBoot: before?.firstBoot ?? bootCounter,
    ...(attachedNonce === undefined ? {} : { attachedNonce }),
  };
  t.put(prefixOf('node'), text(JSON.stringify(identity)));
  return identity;
}

export function readNodeIdentity(reader: Reader): NodeIdentity | undefined {
  const bytes = reader.get(prefixOf('node'));
  return bytes && (JSON.parse(asText(bytes)) as NodeIdentity);
}

/** The seconds since 1970 in the year 2242: whoever says such a counter, or more, has a clock that is wrong, or lies, and is not believed. */
export const bootCounterMax = 2 ** 33;

/** What a store, or the clock, says of a number that only grows. From the bound on it is passed over: no parent would take it. */
export function boundedCounter(said: number | undefined, bound: number): number {
  return said !== undefined && said < bound ? said : 0;
}

/**
 * The parent knows a higher boot counter of this node, and nobody has its place: the store was put back while the clock was behind, or the clock has
 * been. From there on this start counts as a newer one, as if it had been started often enough.
 */
export function passBootCounter(t: Transaction, known: number): void {
  const identity = readNodeIdentity(t);
  if (!identity || known < identity.bootCounter || known + 1 >= bootCounterMax) return;
  t.put(prefixOf('node'), text(JSON.stringify({ ...identity, bootCounter: known + 1 })));
}

/** A parent has welcomed this start. */
export function markAttached(t: Transaction): void {
  const identity = readNodeIdentity(t);
  if (!identity || identity.attachedNonce === identity.bootNonce) return;
  t.put(prefixOf('node'), text(JSON.stringify({ ...identity, attachedNonce: identity.bootNonce })));
}

export function markCaughtUp(t: Transaction): void {
  const identity = readNodeIdentity(t);
  if (identity && !identity.caughtUp) t.put(prefixOf('node'), text(JSON.stringify({ ...identity, caughtUp: true })));
}

/**
 * A start with this nonce was one of a former life of the store, and this life has caught up with a parent since: a sibling of that parent, which still knows
 * the node by that start, shows nothing that this store lacks. A store that was put back to a copy of a former life finds the starts of later ones newer.
 */
export function isFormerStoreIncarnation(reader: Reader, bootNonce: string): boolean {
  const identity = readNodeIdentity(reader);
  return identity?.caughtUp === true && bootOf(bootNonce) < identity.firstBoot;
}

function nonceOf(bootCounter: number, random: Random): string {
  const nonce = Buffer.from(random.bytes(16));
  nonce.writeBigUInt64BE(BigInt(bootCounter));
  return hex(nonce);
}

/** The boot counter of the start with this nonce, if it was a start of this node; whoever else made the 16 bytes may have put any number there. */
function bootOf(bootNonce: string): bigint {
  return Buffer.from(bootNonce, 'hex').readBigUInt64BE();
}
