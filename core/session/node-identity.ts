/** Identifies a node in every Hello: how often its store was started, and which start this is. */

import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import { asText, hex, text } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';

export interface NodeIdentity {
  /**
   * Grows with each start, and is at least the seconds since 1970. So a parent does not take a node that lost its store, or restored an older copy of it, for
   * a copy of the node.
   */
  readonly bootCounter: number;
  /** 16 bytes of this start, in hex: the boot counter at the time of the start, and 8 random bytes. */
  readonly bootNonce: string;
  /** The node has caught up with its parent once: an entry that is missing in its feeds is missing on purpose. */
  readonly caughtUp: boolean;
  /** The boot nonce of the newest start of this store that a parent welcomed. A copy of an older state of the store has an older nonce. */
  readonly attachedNonce?: string;
  /** The boot counter of the first start with this store. */
  readonly firstBoot: number;
}

/**
 * The identity by which the parent knows the last process of this node, which had another store. The lawful successor of that process begins with these
 * values, so that the parent takes the successor for the same node.
 */
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

/**
 * The seconds since 1970 in the year 2242. A node that sends this counter or a higher one has a wrong clock, or lies; the parent does not accept the counter.
 */
export const bootCounterMax = 2 ** 33;

/** A growing number, as a store or the clock gives it. A number at or above the bound is ignored, because no parent would accept it. */
export function boundedCounter(counter: number | undefined, bound: number): number {
  return counter !== undefined && counter < bound ? counter : 0;
}

/**
 * The parent knows a higher boot counter of this node, and no other process has the node's place. Either the store was restored from an older copy while the
 * clock was behind, or the clock was ahead before. From now on this start counts as newer, as if the store had been started often enough.
 */
export function passBootCounter(t: Transaction, parentCounter: number): void {
  const identity = readNodeIdentity(t);
  if (!identity || parentCounter < identity.bootCounter || parentCounter + 1 >= bootCounterMax) return;
  t.put(prefixOf('node'), text(JSON.stringify({ ...identity, bootCounter: parentCounter + 1 })));
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
 * A start with this nonce belonged to a former incarnation of the store, and the present incarnation has caught up with a parent since. A replica of that
 * parent may still know the node by that start; this does not show that the present store lacks anything. In a store that was restored to a copy of a former
 * incarnation, the starts of later incarnations count as newer.
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

/** The boot counter of the start with this nonce, if the nonce comes from this node. The 16 bytes of another sender may contain any number. */
function bootOf(bootNonce: string): bigint {
  return Buffer.from(bootNonce, 'hex').readBigUInt64BE();
}
