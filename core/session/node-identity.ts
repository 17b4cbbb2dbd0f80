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
  /** 16 random bytes, hex, of this start. */
  readonly bootNonce: string;
  /** The node has once caught up with its parent: what is missing in its feeds is meant to be missing. */
  readonly caughtUp: boolean;
  /** The boot nonce under which a parent welcomed this store last; a copy of an older state of the store has an older one. */
  readonly attachedNonce?: string;
  /**
   * Epochs of the up feed in former lives of the store, oldest first: a parent that knew the node by one of them was ready, and this life has caught up with it.
   * A sibling of that parent that still knows the node by such a life shows nothing that this one lacks.
   */
  readonly formerEpochs?: readonly string[];
}

/** A store that is lost more often than this, and whose parent has a sibling that saw none of it since, waits once more. */
const formerMax = 16;

/** What the last process with this identity, which had another store, was to the parent; its lawful successor is to be taken for it. */
export interface Forebear {
  readonly bootCounter: number;
  readonly attachedNonce?: string;
}

export function beginBoot(t: Transaction, clock: Clock, random: Random, forebear?: Forebear): NodeIdentity {
  const before = readNodeIdentity(t);
  const own = before?.bootCounter ?? 0;
  const theirs = forebear && forebear.bootCounter < bootCounterMax ? forebear.bootCounter : 0;
  const attachedNonce = theirs > own ? (forebear?.attachedNonce ?? before?.attachedNonce) : before?.attachedNonce;
  const identity: NodeIdentity = {
    bootCounter: Math.max(own + 1, theirs + 1, Math.floor(clock.wallMs() / 1000)),
    bootNonce: hex(random.bytes(16)),
    caughtUp: before?.caughtUp ?? false,
    ...(attachedNonce === undefined ? {} : { attachedNonce }),
    ...(before?.formerEpochs ? { formerEpochs: before.formerEpochs } : {}),
  };
  t.put(prefixOf('node'), text(JSON.stringify(identity)));
  return identity;
}

export function readNodeIdentity(reader: Reader): NodeIdentity | undefined {
  const bytes = reader.get(prefixOf('node'));
  return bytes && (JSON.parse(asText(bytes)) as NodeIdentity);
}

/** The seconds since 1970 in the year 2242: no honest counter is beyond it, and one that a liar has raised so far has room for more starts. */
const bootCounterMax = 2 ** 33;

/**
 * The parent knows a higher boot counter of this node, and nobody has its place: the store was put back while the clock was behind, or the clock has
 * been. From there on this start counts as a newer one, as if it had been started often enough.
 */
export function passBootCounter(t: Transaction, known: number): void {
  const identity = readNodeIdentity(t);
  if (!identity || known < identity.bootCounter || known >= bootCounterMax) return;
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

/** All that a ready parent had is here, and by this epoch it knew the node before. */
export function noteFormerEpoch(t: Transaction, epoch: string): void {
  const identity = readNodeIdentity(t);
  if (!identity || isFormerEpoch(t, epoch)) return;
  const formerEpochs = [...(identity.formerEpochs ?? []), epoch].slice(-formerMax);
  t.put(prefixOf('node'), text(JSON.stringify({ ...identity, formerEpochs })));
}

export function isFormerEpoch(reader: Reader, epoch: string): boolean {
  return readNodeIdentity(reader)?.formerEpochs?.includes(epoch) === true;
}
