/**
 * Attach sequences. A child counts how often it has changed the parent to which it attaches, and sends the number in every Hello. Of two attachments, the one
 * with the higher number is the present one, wherever in the tree the two are compared.
 */
import type { PeerIdentity } from '../identity/peer-identity.ts';
import { withReplica } from '../identity/replica.ts';
import type { Clock } from '../runtime/clock.ts';
import { asText, text } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';
import { boundedCounter } from './node-identity.ts';

/** The stored record of a child's newest attachment. */
export interface Attachment {
  readonly sequence: number;
  /** The parent to which the child attached last: path and replica number. */
  readonly parent: string;
}

/**
 * The attachment for the next Hello to this parent. A new sequence is at least the milliseconds since 1970. So it is above every sequence that a store sent
 * before it was emptied or restored from an older copy.
 */
export function attachTo(before: Attachment | undefined, parent: string, wallMs: number): Attachment {
  if (before?.parent === parent && before.sequence < attachSequenceMax) return before;
  const last = boundedCounter(before?.sequence, attachSequenceMax);
  return { sequence: Math.max(last + 1, boundedCounter(Math.floor(wallMs), attachSequenceMax)), parent };
}

/**
 * The milliseconds since 1970 in the year 2248. A peer that sends this sequence or a higher one has a wrong clock, or lies; the node does not accept the
 * sequence.
 */
export const attachSequenceMax = 2 ** 43;

/**
 * Called before the Hello. `moved`: the new sequence has to be durable before the child sends it; otherwise, after a crash, the child would send the same
 * number to two parents. The first sequence of a store need not be durable, because it comes from the time, and the time goes on without the store.
 */
export function beginAttach(t: Transaction, peer: PeerIdentity, clock: Clock): { sequence: number; moved: boolean } {
  const before = readAttachment(t);
  const attachment = attachTo(before, withReplica(peer.path, peer.replica ?? 0), clock.wallMs());
  if (attachment !== before) t.put(prefixOf('attachment'), text(JSON.stringify(attachment)));
  return { sequence: attachment.sequence, moved: before !== undefined && attachment !== before };
}

/**
 * The parent knows a higher sequence of an attachment to itself that ended long ago. Either a copy of this store attached, or this store did before it was
 * restored from an older copy while the clock was behind. From now on this attachment has a higher sequence than that one.
 */
export function passAttachSequence(t: Transaction, parentSequence: number): void {
  const before = readAttachment(t);
  if (!before || parentSequence < before.sequence || parentSequence + 1 >= attachSequenceMax) return;
  t.put(prefixOf('attachment'), text(JSON.stringify({ ...before, sequence: parentSequence + 1 })));
}

/** Another process with this identity may have attached since, to any parent. So the next attachment gets a new sequence. */
export function forgetAttachment(t: Transaction): void {
  t.remove(prefixOf('attachment'));
}

export function readAttachment(reader: Reader): Attachment | undefined {
  const bytes = reader.get(prefixOf('attachment'));
  return bytes && (JSON.parse(asText(bytes)) as Attachment);
}
