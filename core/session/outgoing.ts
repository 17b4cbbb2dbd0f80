/**
 * Decides what a producing side sends next. Batches are sent in the order of revisions. A content that is larger than a message is sent in pieces, between
 * the batches. Meanwhile, entries that may overtake the large entry go ahead of it, so that small changes do not wait minutes for it on a slow line:
 *
 *     revisions   1 2 3 [4: large] 5 6 7 (8: must stay behind)
 *     sent        batch 0..3, piece, ahead 5 6 7, piece, piece, batch 3..7 with 4 alone, batch 7..8
 *
 * The consumer's cursor advances over contiguous revisions only: it stays at 3 until the batch with entry 4 arrives.
 *
 * The machine asks for one message at a time, and the runner reports the result. Pure functions.
 */
import type { ReconcileRequest } from '../feed/feed.ts';
import { hex } from '../store/bytes.ts';
import { answerBytes, type Flow, messageBytes, onSent, roomBytes } from './flow.ts';
import { heldWithPieces, noPieces, type PiecesHeld, withoutPieces } from './pieces-held.ts';

/** Limit for large entries that wait at the same time while others go ahead of them. With this number of large entries, nothing more goes ahead. */
const owedMax = 16;
/** Messages that go ahead for each piece. So small changes go first, and the large content still advances. */
const aheadForPiece = 3;

/** A large entry whose content is being sent in pieces, or waits for this. */
export interface Owed {
  readonly keyHash: Uint8Array;
  readonly revision: number;
  readonly contentHash: Uint8Array;
  /** The number of bytes of the content's record that the consumer has. */
  readonly offset: number;
  readonly total: number;
}

/** The message that the runner has to make and send. */
export type Send =
  | { readonly type: 'sendBatch'; readonly after: number; readonly head: number; readonly maxBytes: number }
  /** A batch of entries that may overtake `owed`. No entry of the batch is larger than `maxBytes`. */
  | {
      readonly type: 'sendAhead';
      readonly owed: Owed;
      readonly after: number;
      readonly head: number;
      readonly maxBytes: number;
    }
  | { readonly type: 'sendPiece'; readonly owed: Owed; readonly maxBytes: number }
  /** The batch from `from` to `to`. It contains only the owed entry; if this entry has changed meanwhile, the batch is empty. */
  | { readonly type: 'sendOwed'; readonly owed: Owed; readonly from: number; readonly to: number }
  /** An answer to a request. `pieced`: the content that was sent in pieces for this answer. */
  | {
      readonly type: 'sendAnswer';
      readonly request: ReconcileRequest;
      readonly maxBytes: number;
      readonly pieced?: Owed;
    };

/** The result of a `Send`. */
export type Done =
  /** `all`: the batch reaches its announced head. `named`: the batch names the content that was sent in pieces. */
  | {
      readonly type: 'sent';
      readonly to: number;
      readonly bytes: number;
      readonly all: boolean;
      readonly named: boolean;
    }
  | { readonly type: 'sentAhead'; readonly to: number; readonly bytes: number }
  | { readonly type: 'sentPiece'; readonly offset: number; readonly bytes: number }
  /** The next entry is too large for one message. */
  | { readonly type: 'large'; readonly owed: Owed }
  /** An answer contains a content that is too large for one message. */
  | { readonly type: 'answerOwed'; readonly owed: Owed }
  /** The next entry is not allowed to overtake. It waits until the owed entry is sent. */
  | { readonly type: 'blocked' }
  /** The owed entry has changed or was removed: its pieces are of no use any more. */
  | { readonly type: 'outdated' }
  | { readonly type: 'answered'; readonly bytes: number; readonly named: boolean };

export interface OutgoingFeed {
  readonly head: number;
  /** The revision up to which everything was sent. Undefined while the consumer has to reconcile first. */
  readonly sent: number | undefined;
  /** Large entries, in the order of their revisions, all after `sent`. */
  readonly owed: readonly Owed[];
  /** The revision up to which everything was sent, except for the owed entries. */
  readonly ahead: number;
  /** The head at which the next entry was not allowed to overtake. Undefined: overtaking may be tried. */
  readonly blockedAt: number | undefined;
  readonly aheadSincePiece: number;
  /** The request that has to be answered. Its answer goes before everything else, because the consumer waits for it. */
  readonly answer: { readonly request: ReconcileRequest; readonly owed?: Owed } | undefined;
  /** The runner is making a message and has not reported the result yet. */
  readonly awaitsResult: boolean;
  readonly held: PiecesHeld;
}

export function openOutgoing(head: number, sent: number | undefined, held: PiecesHeld): OutgoingFeed {
  const none = { owed: [], ahead: 0, blockedAt: undefined, aheadSincePiece: 0, answer: undefined, awaitsResult: false };
  return { head, sent, held, ...none };
}

/** Runs when a beat, which announces the head, was sent. If everything up to the head was sent, the consumer drops its pieces at this beat. */
export function onBeatSent(outgoing: OutgoingFeed): OutgoingFeed {
  const { sent, head } = outgoing;
  return sent !== undefined && sent >= head ? { ...outgoing, held: noPieces } : outgoing;
}

/** Runs when the consumer acknowledges `cursor`. After a reconciliation, the feed continues from this cursor, and the consumer has dropped its pieces. */
export function onCursor(outgoing: OutgoingFeed, cursor: number): OutgoingFeed {
  return outgoing.sent === undefined ? { ...outgoing, sent: cursor, held: noPieces } : outgoing;
}

/** Returns the next message to send. Undefined: there is no message, or no room for it, or the runner still makes the message before. */
export function nextSend(outgoing: OutgoingFeed, flow: Flow): { outgoing: OutgoingFeed; send: Send | undefined } {
  const send = outgoing.awaitsResult || roomBytes(flow) === 0 ? undefined : choose(outgoing, flow);
  return send ? { outgoing: { ...outgoing, awaitsResult: true }, send } : { outgoing, send };
}

function choose(outgoing: OutgoingFeed, flow: Flow): Send | undefined {
  const { head, sent, owed, ahead, answer } = outgoing;
  const maxBytes = messageBytes(flow);
  if (answer) {
    const { request, owed: pieced } = answer;
    if (pieced && pieced.offset < pieced.total) return { type: 'sendPiece', owed: pieced, maxBytes };
    return { type: 'sendAnswer', request, maxBytes: answerBytes(flow), ...(pieced ? { pieced } : {}) };
  }
  if (sent === undefined) return undefined;
  const [first, second] = owed;
  if (!first) return sent < head ? { type: 'sendBatch', after: sent, head, maxBytes } : undefined;
  if (mayGoAhead(outgoing)) return { type: 'sendAhead', owed: first, after: ahead, head, maxBytes };
  if (first.offset < first.total) return { type: 'sendPiece', owed: first, maxBytes };
  return { type: 'sendOwed', owed: first, from: sent, to: second ? second.revision - 1 : ahead };
}

function mayGoAhead({ head, ahead, owed, blockedAt, aheadSincePiece }: OutgoingFeed): boolean {
  return ahead < head && blockedAt === undefined && owed.length < owedMax && aheadSincePiece < aheadForPiece;
}

/** Processes the result of the requested message. Returns the new state, and the flow with the message in flight. */
export function onDone(
  outgoing: OutgoingFeed,
  flow: Flow,
  done: Done,
  nowMs: number,
): { outgoing: OutgoingFeed; flow: Flow } {
  const next = { ...outgoing, awaitsResult: false };
  switch (done.type) {
    case 'sent':
      return { outgoing: afterBatch(next, done), flow: onSent(flow, done.to, done.bytes, nowMs) };
    case 'sentAhead': {
      const state = { ...next, ahead: done.to, aheadSincePiece: next.aheadSincePiece + 1 };
      return { outgoing: state, flow: onSent(flow, 'credit', done.bytes, nowMs) };
    }
    case 'sentPiece':
      return { outgoing: afterPiece(next, done.offset), flow: onSent(flow, 'credit', done.bytes, nowMs) };
    case 'answered':
      return {
        outgoing: { ...next, answer: undefined, held: afterNaming(next.held, done.named, next.answer?.owed) },
        flow: onSent(flow, 'answer', done.bytes, nowMs),
      };
    case 'large': {
      const owed = [...next.owed, withHeld(done.owed, next.held)];
      return { outgoing: { ...next, owed, ahead: done.owed.revision, aheadSincePiece: 0 }, flow };
    }
    case 'answerOwed': {
      const answer = next.answer && { ...next.answer, owed: withHeld(done.owed, next.held) };
      return { outgoing: { ...next, answer }, flow };
    }
    case 'blocked':
      return { outgoing: { ...next, blockedAt: next.head }, flow };
    case 'outdated':
      return { outgoing: withoutFirst(next), flow };
  }
}

/** The state after a normal batch. If entries are owed, the batch was that of the first owed entry. */
function afterBatch(outgoing: OutgoingFeed, { to, all, named }: Done & { readonly type: 'sent' }): OutgoingFeed {
  const [first, ...rest] = outgoing.owed;
  const held = all ? noPieces : afterNaming(outgoing.held, named, first);
  // The next owed entry may have the same content as the entry of this batch. So its offset is read from `held`, which knows the sent pieces.
  const owed = rest.map((one, i) => (i === 0 ? withHeld(one, held) : one));
  return { ...outgoing, sent: to, owed, held, blockedAt: undefined, aheadSincePiece: 0 };
}

/**
 * The state after a piece. If the head has risen, the machine tries again whether entries may overtake: the entry that was not allowed to may have a newer
 * revision now, because the target of a placement is written again with each changed object. One try for each piece is enough.
 */
function afterPiece(outgoing: OutgoingFeed, offset: number): OutgoingFeed {
  const { head, blockedAt } = outgoing;
  const stillBlocked = blockedAt === head ? blockedAt : undefined;
  const next = { ...withOffset(outgoing, () => offset), blockedAt: stillBlocked, aheadSincePiece: 0 };
  const piece = outgoing.answer ? outgoing.answer.owed : outgoing.owed[0];
  return piece ? { ...next, held: heldWithPieces(outgoing.held, hexOf(piece), offset) } : next;
}

/** Ends the sending of pieces of an outdated entry. Its batch is still sent, without the entry, so that the cursor moves on. */
function withoutFirst(outgoing: OutgoingFeed): OutgoingFeed {
  return withOffset(outgoing, ({ total }) => total);
}

/** Sets the offset of the content that is being sent in pieces. */
function withOffset(outgoing: OutgoingFeed, offsetOf: (owed: Owed) => number): OutgoingFeed {
  const { answer, owed } = outgoing;
  const moved = (one: Owed) => ({ ...one, offset: offsetOf(one) });
  if (answer) return answer.owed ? { ...outgoing, answer: { ...answer, owed: moved(answer.owed) } } : outgoing;
  return { ...outgoing, owed: owed.map((one, i) => (i === 0 ? moved(one) : one)) };
}

function withHeld(owed: Owed, held: PiecesHeld): Owed {
  return { ...owed, offset: Math.min(held?.get(hexOf(owed)) ?? 0, owed.total) };
}

/** Runs when a message names a content: the consumer then puts the content together, and keeps no pieces of it. */
function afterNaming(held: PiecesHeld, named: boolean, owed: Owed | undefined): PiecesHeld {
  return named && owed ? withoutPieces(held, hexOf(owed)) : held;
}

function hexOf({ contentHash }: Owed): string {
  return hex(contentHash);
}
