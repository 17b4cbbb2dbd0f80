/**
 * Decides what a producing side sends next: batches in order of revision, and beside them, in pieces, the contents that are larger than a message. While such
 * a content is on its way, entries that may overtake it go ahead, so that small changes do not wait minutes for a large one on a slow line:
 *
 *     revisions   1 2 3 [4: large] 5 6 7 (8: must stay behind)
 *     sent        batch 0..3, piece, ahead 5 6 7, piece, piece, batch 3..7 with 4 alone, batch 7..8
 *
 * The consumer's cursor advances over contiguous revisions only: it stays at 3 until the batch that names 4.
 *
 * The machine asks for one message at a time, and the runner reports the result. Pure.
 */
import type { ReconcileRequest } from '../feed/feed.ts';
import { hex } from '../store/bytes.ts';
import { answerBytes, type Flow, messageBytes, onSent, roomBytes } from './flow.ts';
import { heldWithPieces, noPieces, type PiecesHeld, withoutPieces } from './pieces-held.ts';

/** Large contents that may be skipped at the same time. At the next large content, nothing more goes ahead. */
const owedMax = 16;
/** Messages that go ahead for each piece: small changes go first, and the large content still gets its share. */
const aheadForPiece = 3;

export interface Owed {
  readonly keyHash: Uint8Array;
  readonly revision: number;
  readonly contentHash: Uint8Array;
  /** The number of bytes of the record that the consumer has. */
  readonly offset: number;
  readonly total: number;
}

/** The message that the runner has to make and send. */
export type Send =
  | { readonly type: 'sendBatch'; readonly after: number; readonly head: number; readonly maxBytes: number }
  /** A batch of entries that may overtake `owed`. None of them may be larger than `maxBytes`. */
  | {
      readonly type: 'sendAhead';
      readonly owed: Owed;
      readonly after: number;
      readonly head: number;
      readonly maxBytes: number;
    }
  | { readonly type: 'sendPiece'; readonly owed: Owed; readonly maxBytes: number }
  /** The batch from `from` to `to` that contains only the owed entry, if that entry has not changed. */
  | { readonly type: 'sendOwed'; readonly owed: Owed; readonly from: number; readonly to: number }
  /** `pieced`: the content that was sent in pieces for this answer. */
  | {
      readonly type: 'sendAnswer';
      readonly request: ReconcileRequest;
      readonly maxBytes: number;
      readonly pieced?: Owed;
    };

/** The result of a `Send`. */
export type Done =
  /** `all`: the batch reaches the head that it announces. `named`: the batch names the content that was sent in pieces. */
  | {
      readonly type: 'sent';
      readonly to: number;
      readonly bytes: number;
      readonly all: boolean;
      readonly named: boolean;
    }
  | { readonly type: 'sentAhead'; readonly to: number; readonly bytes: number }
  | { readonly type: 'sentPiece'; readonly offset: number; readonly bytes: number }
  /** The next entry is too large for a message. */
  | { readonly type: 'large'; readonly owed: Owed }
  /** An answer contains a content that is too large for a message. */
  | { readonly type: 'answerOwed'; readonly owed: Owed }
  /** The next entry may not overtake. It waits until the owed entry is sent. */
  | { readonly type: 'blocked' }
  /** The owed entry has changed or was removed: its pieces are of no use any more. */
  | { readonly type: 'outdated' }
  | { readonly type: 'answered'; readonly bytes: number; readonly named: boolean };

export interface OutgoingFeed {
  readonly head: number;
  /** Everything up to here was sent in order. Undefined while the consumer must reconcile first. */
  readonly sent: number | undefined;
  /** In order of revision, all above `sent`. */
  readonly owed: readonly Owed[];
  /** Everything up to here was sent, except the owed entries. */
  readonly ahead: number;
  /** The head at which the next entry was not allowed to overtake. Undefined: overtaking may be tried. */
  readonly blockedAt: number | undefined;
  readonly aheadSincePiece: number;
  /** An answer that goes before everything else, because the consumer waits for it. */
  readonly answer: { readonly request: ReconcileRequest; readonly owed?: Owed } | undefined;
  /** The runner is making a message and has not reported the result yet. */
  readonly awaitsResult: boolean;
  readonly held: PiecesHeld;
}

export function openOutgoing(head: number, sent: number | undefined, held: PiecesHeld): OutgoingFeed {
  const none = { owed: [], ahead: 0, blockedAt: undefined, aheadSincePiece: 0, answer: undefined, awaitsResult: false };
  return { head, sent, held, ...none };
}

/** A beat announces the head. If everything up to the head was sent, the consumer drops the pieces that it has. */
export function onBeatSent(outgoing: OutgoingFeed): OutgoingFeed {
  const { sent, head } = outgoing;
  return sent !== undefined && sent >= head ? { ...outgoing, held: noPieces } : outgoing;
}

/** The consumer is at `cursor`. A consumer that acknowledges this after a reconciliation continues from there, and has dropped its pieces. */
export function onCursor(outgoing: OutgoingFeed, cursor: number): OutgoingFeed {
  return outgoing.sent === undefined ? { ...outgoing, sent: cursor, held: noPieces } : outgoing;
}

/** The next message, if there is a message and room for it. */
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

/** Takes the result of the requested message: gives the state afterwards, and adds the message to those in flight. */
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

/** A batch in order covers the first owed entry, or no entry is owed. */
function afterBatch(outgoing: OutgoingFeed, { to, all, named }: Done & { readonly type: 'sent' }): OutgoingFeed {
  const [first, ...rest] = outgoing.owed;
  const held = all ? noPieces : afterNaming(outgoing.held, named, first);
  // The next owed entry may have the same content as the entry of this batch. Then some or all of its pieces have been sent already.
  const owed = rest.map((one, i) => (i === 0 ? withHeld(one, held) : one));
  return { ...outgoing, sent: to, owed, held, blockedAt: undefined, aheadSincePiece: 0 };
}

/**
 * The entry that was not allowed to overtake may have been written again meanwhile, and have a later revision: the target of a placement moves with each
 * object that it covers. The machine looks again once for each piece, not for each change.
 */
function afterPiece(outgoing: OutgoingFeed, offset: number): OutgoingFeed {
  const { head, blockedAt } = outgoing;
  const stillBlocked = blockedAt === head ? blockedAt : undefined;
  const next = { ...withOffset(outgoing, () => offset), blockedAt: stillBlocked, aheadSincePiece: 0 };
  const piece = outgoing.answer ? outgoing.answer.owed : outgoing.owed[0];
  return piece ? { ...next, held: heldWithPieces(outgoing.held, hexOf(piece), offset) } : next;
}

/** The batch of the owed entry goes out all the same, without the entry, so that the cursor moves on. */
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

/** The consumer has put the named content together, and keeps no pieces of it. */
function afterNaming(held: PiecesHeld, named: boolean, owed: Owed | undefined): PiecesHeld {
  return named && owed ? withoutPieces(held, hexOf(owed)) : held;
}

function hexOf({ contentHash }: Owed): string {
  return hex(contentHash);
}
