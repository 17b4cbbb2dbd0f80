/**
 * What a producing side sends next: batches in order of revision, and beside them the contents that are larger than a message, in pieces. While one
 * of those is on its way, what may overtake it goes ahead, so that small changes do not wait minutes for a large one on a thin line:
 *
 *     revisions   1 2 3 [4: large] 5 6 7 (8: must stay behind)
 *     sent        batch 0..3, piece, ahead 5 6 7, piece, piece, batch 3..7 with 4 alone, batch 7..8
 *
 * The cursor of the consumer goes over contiguous revisions only: it stands at 3 until the batch that names 4.
 *
 * One message is asked for at a time; the runner tells what became of it. Pure.
 */
import type { ReconcileRequest } from '../feed/feed.ts';
import { hex } from '../store/bytes.ts';
import { answerBytes, type Flow, messageBytes, onSent, roomBytes } from './flow.ts';
import { heldWithPieces, noPieces, type PiecesHeld, withoutPieces } from './pieces-held.ts';

/** Large contents that are skipped at once; the next one stops what goes ahead. */
const owedMax = 16;
/** Messages that go ahead for each piece: small changes first, and the large one gets its share. */
const aheadForPiece = 3;

/** An entry whose content goes in pieces. */
export interface Owed {
  readonly keyHash: Uint8Array;
  readonly revision: number;
  readonly contentHash: Uint8Array;
  /** Bytes of the record that the consumer has. */
  readonly offset: number;
  readonly total: number;
}

/** What the runner is to read and send. */
export type Send =
  | { readonly type: 'sendBatch'; readonly after: number; readonly head: number; readonly maxBytes: number }
  /** A batch of what may overtake `owed`; its entries must not be larger than `maxBytes`. */
  | {
      readonly type: 'sendAhead';
      readonly owed: Owed;
      readonly after: number;
      readonly head: number;
      readonly maxBytes: number;
    }
  | { readonly type: 'sendPiece'; readonly owed: Owed; readonly maxBytes: number }
  /** The batch from `from` to `to` that has nothing but the owed entry, if it is still that one. */
  | { readonly type: 'sendOwed'; readonly owed: Owed; readonly from: number; readonly to: number }
  /** `pieced`: what came in pieces for this answer. */
  | {
      readonly type: 'sendAnswer';
      readonly request: ReconcileRequest;
      readonly maxBytes: number;
      readonly pieced?: Owed;
    };

/** What became of it. */
export type Done =
  /** `all`: it reaches to the head that it says. `named`: what came in pieces was named by it. */
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
  /** An answer has a content that is. */
  | { readonly type: 'answerOwed'; readonly owed: Owed }
  /** Nothing that is next may overtake, until what is owed has gone. */
  | { readonly type: 'blocked' }
  /** The owed entry has changed or gone: its content is of no use any more. */
  | { readonly type: 'outdated' }
  | { readonly type: 'answered'; readonly bytes: number; readonly named: boolean };

export interface OutgoingFeed {
  readonly head: number;
  /** Everything up to here was sent in order; undefined while the consumer must reconcile first. */
  readonly sent: number | undefined;
  /** In order of revision, all above `sent`. */
  readonly owed: readonly Owed[];
  /** Up to here all was sent but what is owed. */
  readonly ahead: number;
  /** The head at which what came next might not overtake; undefined: it may be tried. */
  readonly blockedAt: number | undefined;
  readonly aheadSincePiece: number;
  /** Goes before everything else: the consumer waits for it. */
  readonly answer: { readonly request: ReconcileRequest; readonly owed?: Owed } | undefined;
  readonly asked: boolean;
  readonly held: PiecesHeld;
}

export function openOutgoing(head: number, sent: number | undefined, held: PiecesHeld): OutgoingFeed {
  const none = { owed: [], ahead: 0, blockedAt: undefined, aheadSincePiece: 0, answer: undefined, asked: false };
  return { head, sent, held, ...none };
}

/** A beat says the head: if all up to there was sent, the consumer drops what came in pieces. */
export function onBeatSent(outgoing: OutgoingFeed): OutgoingFeed {
  const { sent, head } = outgoing;
  return sent !== undefined && sent >= head ? { ...outgoing, held: noPieces } : outgoing;
}

/** The consumer is at `cursor`. One that says so after a reconciliation goes on from there, and has dropped what came in pieces. */
export function onCursor(outgoing: OutgoingFeed, cursor: number): OutgoingFeed {
  return outgoing.sent === undefined ? { ...outgoing, sent: cursor, held: noPieces } : outgoing;
}

/** The next message, if there is one and room for it. */
export function nextSend(outgoing: OutgoingFeed, flow: Flow): { outgoing: OutgoingFeed; send: Send | undefined } {
  const send = outgoing.asked || roomBytes(flow) === 0 ? undefined : choose(outgoing, flow);
  return send ? { outgoing: { ...outgoing, asked: true }, send } : { outgoing, send };
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

/** What was asked for was done: the state after it, and what it adds to what is in flight. */
export function onDone(
  outgoing: OutgoingFeed,
  flow: Flow,
  done: Done,
  nowMs: number,
): { outgoing: OutgoingFeed; flow: Flow } {
  const next = { ...outgoing, asked: false };
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

/** A batch in order covers the first of what is owed, or there is nothing owed. */
function afterBatch(outgoing: OutgoingFeed, { to, all, named }: Done & { readonly type: 'sent' }): OutgoingFeed {
  const [first, ...rest] = outgoing.owed;
  const held = all ? noPieces : afterNaming(outgoing.held, named, first);
  // What it shared its content with may have brought some of it, or all.
  const owed = rest.map((one, i) => (i === 0 ? withHeld(one, held) : one));
  return { ...outgoing, sent: to, owed, held, blockedAt: undefined, aheadSincePiece: 0 };
}

/**
 * What stood in the way may have been written anew meanwhile, and stand further behind: a placement's target moves with each object that it
 * covers. It is looked at again once for a piece, not for each change.
 */
function afterPiece(outgoing: OutgoingFeed, offset: number): OutgoingFeed {
  const { head, blockedAt } = outgoing;
  const stillBlocked = blockedAt === head ? blockedAt : undefined;
  const next = { ...withOffset(outgoing, () => offset), blockedAt: stillBlocked, aheadSincePiece: 0 };
  const piece = outgoing.answer ? outgoing.answer.owed : outgoing.owed[0];
  return piece ? { ...next, held: heldWithPieces(outgoing.held, hexOf(piece), offset) } : next;
}

/** Its batch goes all the same, without it, so that the cursor moves on. */
function withoutFirst(outgoing: OutgoingFeed): OutgoingFeed {
  return withOffset(outgoing, ({ total }) => total);
}

/** Of what goes in pieces just now. */
function withOffset(outgoing: OutgoingFeed, offsetOf: (owed: Owed) => number): OutgoingFeed {
  const { answer, owed } = outgoing;
  const moved = (one: Owed) => ({ ...one, offset: offsetOf(one) });
  if (answer) return answer.owed ? { ...outgoing, answer: { ...answer, owed: moved(answer.owed) } } : outgoing;
  return { ...outgoing, owed: owed.map((one, i) => (i === 0 ? moved(one) : one)) };
}

function withHeld(owed: Owed, held: PiecesHeld): Owed {
  return { ...owed, offset: Math.min(held?.get(hexOf(owed)) ?? 0, owed.total) };
}

/** The consumer has put together what was named, and keeps no pieces of it. */
function afterNaming(held: PiecesHeld, named: boolean, owed: Owed | undefined): PiecesHeld {
  return named && owed ? withoutPieces(held, hexOf(owed)) : held;
}

function hexOf({ contentHash }: Owed): string {
  return hex(contentHash);
}
