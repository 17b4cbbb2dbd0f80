/**
 * Attach sequences. A child counts how often it has changed its parent, and sends the number in every Hello. If two nodes of the tree know different
 * attachments of one child, the attachment with the higher number is the present one.
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
  /** The parent of the newest attachment: path and replica number. */
  readonly parent: string;
}

/**
 * Returns the attachment for the next Hello to this parent. A new sequence is at least the time in milliseconds since 1970. So even if the child's store was
 * emptied or restored from an older copy, the new sequence is higher than all sequences that the child has sent before.
 */
export function attachTo(before: Attachment | undefined, parent: string, wallMs: number): Attachment {
  if (before?.parent === parent && before.sequence < attachSequenceMax) return before;
  const last = boundedCounter(before?.sequence, attachSequenceMax);
  return { sequence: Math.max(last + 1, boundedCounter(Math.floor(wallMs), attachSequenceMax)), parent };
}

/**
 * Limit for sequences: the milliseconds since 1970 in the year 2248. The parent does not accept this sequence or a higher one: the child's clock must be
 * wrong, or the child is broken.
 */
export const attachSequenceMax = 2 ** 43;

/**
 * Begins an attachment, before the Hello. `moved`: the child has changed its parent, so the new sequence has to be durable before the child sends it.
 * Otherwise, after a crash, the child could send the same number to two parents. The first sequence of a store does not have to be durable: it comes from the
 * clock, so after a crash the child gets a higher number anyway.
 */
export function beginAttach(t: Transaction, peer: PeerIdentity, clock: Clock): { sequence: number; moved: boolean } {
  const before = readAttachment(t);
  const attachment = attachTo(before, withReplica(peer.path, peer.replica ?? 0), clock.wallMs());
  if (attachment !== before) t.put(prefixOf('attachment'), text(JSON.stringify(attachment)));
  return { sequence: attachment.sequence, moved: before !== undefined && attachment !== before };
}

/**
 * Raises the sequence of the present attachment above a sequence that the parent knows. The parent sends this number for an attachment to itself that ended
 * long ago. There are two causes: a copy of this store attached to the parent; or this store was restored from an older copy while the clock was behind.
 */
export function passAttachSequence(t: Transaction, parentSequence: number): void {
  const before = readAttachment(t);
  if (!before || parentSequence < before.sequence || parentSequence + 1 >= attachSequenceMax) return;
  t.put(prefixOf('attachment'), text(JSON.stringify({ ...before, sequence: parentSequence + 1 })));
}

/** Makes the next attachment get a new sequence. For use when another process with this identity may have attached meanwhile, to any parent. */
export function forgetAttachment(t: Transaction): void {
  t.remove(prefixOf('attachment'));
}

export function readAttachment(reader: Reader): Attachment | undefined {
  const bytes = reader.get(prefixOf('attachment'));
  return bytes && (JSON.parse(asText(bytes)) as Attachment);
}
