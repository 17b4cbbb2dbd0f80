/** The identity of a node in every Hello: a counter of the starts of its store, and a nonce for the present start. */

import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import { asText, hex, text } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';

export interface NodeIdentity {
  /**
   * Grows with each start, and is at least the time in seconds since 1970. So if a node lost its store, or restored an older copy of it, its counter is still
   * higher than before, and the parent does not refuse it as a copy of the node.
   */
  readonly bootCounter: number;
  /** Identifies this start. 16 bytes, in hex: the boot counter at the start, and 8 random bytes. */
  readonly bootNonce: string;
  /** True: the node has caught up with its parent at least once. Since then, an entry that is missing in its feeds is missing on purpose. */
  readonly caughtUp: boolean;
  /** The boot nonce of the newest start of this store that a parent has welcomed. An older copy of the store has an older nonce. */
  readonly attachedNonce?: string;
  /** The boot counter of the first start with this store. */
  readonly firstBoot: number;
}

/**
 * The identity of the previous process of this node, which had another store. A legitimate successor begins with these values, so that the parent accepts it
 * as the same node.
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
 * Limit for boot counters: the seconds since 1970 in the year 2242. The parent does not accept this counter or a higher one: the node's clock must be wrong,
 * or the node is broken.
 */
export const bootCounterMax = 2 ** 33;

/** Returns the counter, or 0 if it is not below the bound: no parent would accept such a counter. The counter comes from a store or the clock. */
export function boundedCounter(counter: number | undefined, bound: number): number {
  return counter !== undefined && counter < bound ? counter : 0;
}

/**
 * Raises the boot counter above the counter that the parent knows of this node, so that the parent accepts this start. The parent sends its counter only if no
 * other process has a session as this node. There are two causes: the store was restored from an older copy while the clock was behind; or the clock was
 * ahead before.
 */
export function passBootCounter(t: Transaction, parentCounter: number): void {
  const identity = readNodeIdentity(t);
  if (!identity || parentCounter < identity.bootCounter || parentCounter + 1 >= bootCounterMax) return;
  t.put(prefixOf('node'), text(JSON.stringify({ ...identity, bootCounter: parentCounter + 1 })));
}

/** Records that a parent has welcomed this start. */
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
 * True: the start with this nonce used an earlier store of this node, and the present store has caught up with a parent since. A replica of that parent may
 * still name the old start; this does not mean that the present store lacks rows. If the present store is a restored copy of an earlier store, the starts of
 * the later stores do not count as earlier.
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

/** The boot counter in a nonce that this node made. For the nonce of another node, the result may be any number. */
function bootOf(bootNonce: string): bigint {
  return Buffer.from(bootNonce, 'hex').readBigUInt64BE();
}
