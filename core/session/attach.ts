/**
 * Attach sequences. A child counts how often it has changed the parent to which it attaches, and says the number in every hello: of two attachments the
 * one with the higher number is the present one, wherever in the tree they are compared.
 */
import type { PeerIdentity } from '../identity/peer-identity.ts';
import { withReplica } from '../identity/replica.ts';
import type { Clock } from '../runtime/clock.ts';
import { asText, text } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';
import { boundedCounter } from './node-identity.ts';

/** What a child remembers of its attachments. */
export interface Attachment {
  readonly sequence: number;
  /** The parent that it attached to last, with its number among siblings. */
  readonly parent: string;
}

/** What to say to this parent: no less than the milliseconds since 1970, which is beyond all that a store has said that was emptied or put back. */
export function attachTo(before: Attachment | undefined, parent: string, wallMs: number): Attachment {
  if (before?.parent === parent && before.sequence < attachSequenceMax) return before;
  const known = boundedCounter(before?.sequence, attachSequenceMax);
  return { sequence: Math.max(known + 1, boundedCounter(Math.floor(wallMs), attachSequenceMax)), parent };
}

/** The milliseconds since 1970 in the year 2248: whoever says such a sequence, or more, has a clock that is wrong, or lies, and is not believed. */
export const attachSequenceMax = 2 ** 43;

/**
 * Before the hello. `moved`: what it says has to be durable first, or a crash would have the child say the same number to two parents; the number that a
 * store begins with is of the time, which goes on without it.
 */
export function beginAttach(t: Transaction, peer: PeerIdentity, clock: Clock): { sequence: number; moved: boolean } {
  const before = readAttachment(t);
  const now = attachTo(before, withReplica(peer.path, peer.replica ?? 0), clock.wallMs());
  if (now !== before) t.put(prefixOf('attachment'), text(JSON.stringify(now)));
  return { sequence: now.sequence, moved: before !== undefined && now !== before };
}

/**
 * The parent knows a higher sequence of an attachment to itself that has been over for long: of a copy, or of this store before it was put back while the clock was
 * behind. From there on this attachment is the later one.
 */
export function passAttachSequence(t: Transaction, known: number): void {
  const before = readAttachment(t);
  if (!before || known < before.sequence || known + 1 >= attachSequenceMax) return;
  t.put(prefixOf('attachment'), text(JSON.stringify({ ...before, sequence: known + 1 })));
}

/** Another process with this identity may have attached since, to whatever parent: the next attachment is a later one. */
export function forgetAttachment(t: Transaction): void {
  t.remove(prefixOf('attachment'));
}

export function readAttachment(reader: Reader): Attachment | undefined {
  const bytes = reader.get(prefixOf('attachment'));
  return bytes && (JSON.parse(asText(bytes)) as Attachment);
}
