/**
 * An established session as a pure state machine. Both sides use the same machine: each side produces one feed and consumes the other. Each input gives a list
 * of effects. "Store, then send" is one effect, so that no bug in the order of effects can send something that is not durable.
 *
 * The handshake is over when a session begins (handshake.ts). The runner carries the effects out (runner.ts).
 */
import { type Batch, bytesOfEntries, type ReconcileReply, type ReconcileRequest } from '../feed/feed.ts';
import type { Piece } from '../feed/pieces.ts';
import { BanyanError } from '../runtime/errors.ts';
import { type Flow, onAcknowledged, onAnswerTaken, onCredit, openFlow } from './flow.ts';
import {
  type Done,
  nextSend,
  type OutgoingFeed,
  onBeatSent,
  onCursor,
  onDone,
  openOutgoing,
  type Send,
} from './outgoing.ts';
import type { PiecesHeld } from './pieces-held.ts';
import { flawOfQuestion, noQuestions, type Questions, withQuestion } from './questions.ts';
import { SessionError } from './session-ends.ts';

/** A side sends a beat if its last beat was this long ago. The protocol requires at most 20 s. */
export const beatEveryMs = 15_000;
/** The peer counts as dead if no byte has arrived for this time, which is three missing beats. */
export const deathAfterMs = 3 * 20_000;
export type Input =
  /** The feed that this side produces is durable up to `head`. */
  | { readonly type: 'produced'; readonly head: number }
  /** The result of the message that the machine asked for. */
  | { readonly type: 'done'; readonly done: Done }
  /** The runner has sent a beat that the machine did not ask for. */
  | { readonly type: 'beatSent' }
  /** This side's readiness changed. */
  | { readonly type: 'ready'; readonly ready: boolean }
  | { readonly type: 'batch'; readonly batch: Batch }
  | { readonly type: 'piece'; readonly piece: Piece }
  | { readonly type: 'ack'; readonly cursor: number }
  | { readonly type: 'credit'; readonly bytes: number }
  | { readonly type: 'beat'; readonly head: number; readonly ready: boolean }
  | { readonly type: 'request'; readonly request: ReconcileRequest }
  | { readonly type: 'reply'; readonly reply: ReconcileReply }
  /** The reconciliation has nothing more to ask: the feed continues from `cursor`. */
  | { readonly type: 'reconciled'; readonly cursor: number }
  /** The peer's answer, whether its feed resumes at this side's cursor. This side waits for the answer. */
  | { readonly type: 'resume'; readonly resumes: boolean }
  /** The peer ends the session normally. `returnAfterMs`: the peer is back after this time; absent: unknown. */
  | { readonly type: 'goodbye'; readonly returnAfterMs?: number }
  /** Bytes of any kind have arrived. */
  | { readonly type: 'alive' }
  | { readonly type: 'tick' };

export type Effect =
  /** Read the rows, send the message, then report the result with the input `done`. */
  | { readonly type: 'send'; readonly send: Send }
  /** Apply the batch, flush, and only then acknowledge it. */
  | { readonly type: 'applyThenAck'; readonly batch: Batch }
  /** Apply the batch, flush, and only then return credit for its bytes. There is no acknowledgement, because the cursor does not move. */
  | { readonly type: 'applyAhead'; readonly batch: Batch; readonly bytes: number }
  | { readonly type: 'storePiece'; readonly piece: Piece }
  | { readonly type: 'acknowledged'; readonly cursor: number }
  | { readonly type: 'sendBeat'; readonly head: number; readonly ready: boolean }
  | { readonly type: 'startReconcile' }
  | { readonly type: 'absorb'; readonly reply: ReconcileReply }
  /** Drop the remaining pieces: everything has arrived, so no entry will name them. */
  | { readonly type: 'dropPieces' }
  | { readonly type: 'caughtUp' }
  /** Everything that the peer can report at the beginning of the session is stored. */
  | { readonly type: 'reportedAll' }
  | { readonly type: 'close'; readonly error?: BanyanError; readonly returnAfterMs?: number };

export interface SessionState {
  // Producing.
  readonly outgoing: OutgoingFeed;
  readonly flow: Flow;
  readonly questions: Questions;
  /** Whether this side is ready. Undefined: this side does not know yet, and has sent no beat. */
  readonly ready: boolean | undefined;
  // Consuming.
  readonly cursor: number;
  readonly mode: 'resumed' | 'waitsForReady' | 'reconciling';
  readonly peerHead: number | undefined;
  readonly peerReady: boolean;
  readonly caughtUp: boolean;
  readonly reportedAll: boolean;
  // Liveness.
  readonly receivedAtMs: number;
  readonly beatAtMs: number;
}

export interface SessionStart {
  readonly nowMs: number;
  /** Durable head of the produced feed. */
  readonly head: number;
  /** The cursor of the peer's consumer. Undefined: the consumer must reconcile. */
  readonly sentFrom: number | undefined;
  /** Undefined: this side does not know yet, and needs no message of the peer to know. The first beat waits for the answer, at most `beatEveryMs`. */
  readonly ready: boolean | undefined;
  /** The credit of the peer: the bytes that this side may have in flight. */
  readonly creditBytes: number;
  /** Contents that the peer has in part from an earlier session: the number of bytes, keyed by hash (hex). */
  readonly held: PiecesHeld;
  /** The cursor of this side's consumer. */
  readonly cursor: number;
  readonly resumes: boolean;
  readonly peerReady: boolean;
}

export type Stepped = { readonly state: SessionState; readonly effects: readonly Effect[] };

export function begin(start: SessionStart): Stepped {
  const outgoing = openOutgoing(start.head, start.sentFrom, start.held);
  const { ready } = start;
  const state: SessionState = {
    outgoing: ready === undefined ? outgoing : onBeatSent(outgoing),
    flow: openFlow(start.creditBytes, start.nowMs),
    questions: noQuestions,
    ready,
    cursor: start.cursor,
    mode: start.resumes ? 'resumed' : 'waitsForReady',
    peerHead: undefined,
    peerReady: start.peerReady,
    caughtUp: false,
    reportedAll: false,
    receivedAtMs: start.nowMs,
    beatAtMs: start.nowMs,
  };
  // The first beat contains the head, so that the peer knows when it has caught up. A side that is not ready sends nothing beyond this head for now.
  const beats: Effect[] = ready === undefined ? [] : [{ type: 'sendBeat', head: start.head, ready }];
  return chain(
    { state, effects: beats },
    (s) => reconcileIfReady(s),
    (s) => send(s),
  );
}

export function stepSession(state: SessionState, input: Input, nowMs: number): Stepped {
  switch (input.type) {
    case 'produced':
      return sendFrom(state, withHead(state.outgoing, input.head), state.flow);
    case 'done': {
      const { outgoing, flow } = onDone(state.outgoing, state.flow, input.done, nowMs);
      return sendFrom(state, outgoing, flow);
    }
    case 'ready':
      if (input.ready === state.ready) return idle(state);
      return sendBeat({ ...state, ready: input.ready }, nowMs);
    case 'beatSent':
      return idle({ ...state, outgoing: onBeatSent(state.outgoing) });
    case 'batch':
      return onBatch(state, input.batch);
    case 'piece':
      return withEffects(state, { type: 'storePiece', piece: input.piece });
    case 'ack':
      return onAck(state, input.cursor, nowMs);
    case 'credit': {
      const flow = onCredit(state.flow, input.bytes, nowMs);
      return flow
        ? sendFrom(state, state.outgoing, flow)
        : fail(state, `credit for ${input.bytes} bytes, more than were sent`);
    }
    case 'beat': {
      if (state.mode === 'reconciling' && !input.ready) return withdrawn(state);
      const next = { ...state, peerHead: input.head, peerReady: input.ready };
      return chain(idle(next), reconcileIfReady, (s) => dropPieces(s, input.head), noteCaughtUp);
    }
    case 'request':
      return onRequest(state, input.request, nowMs);
    case 'reply':
      if (state.mode !== 'reconciling') return fail(state, 'a reconcile reply that nobody asked for');
      return withEffects(state, { type: 'absorb', reply: input.reply });
    case 'reconciled':
      return chain(
        withEffects({ ...state, mode: 'resumed', cursor: input.cursor }, { type: 'dropPieces' }),
        noteCaughtUp,
      );
    case 'resume':
      if (state.mode !== 'waitsForReady') return fail(state, 'a second answer about how the feed resumes');
      if (input.resumes) return noteCaughtUp({ ...state, mode: 'resumed' });
      return reconcileIfReady(state);
    case 'goodbye':
      return withEffects(state, {
        type: 'close',
        ...(input.returnAfterMs === undefined ? {} : { returnAfterMs: input.returnAfterMs }),
      });
    case 'alive':
      return idle({ ...state, receivedAtMs: nowMs });
    case 'tick':
      return onTick(state, nowMs);
  }
}

/** The time until the machine needs its next tick. */
export function nextSessionTickMs(state: SessionState, nowMs: number): number {
  const dueMs = Math.min(state.receivedAtMs + deathAfterMs, state.beatAtMs + beatEveryMs);
  return Math.max(0, dueMs - nowMs);
}

function onBatch(state: SessionState, batch: Batch): Stepped {
  if (state.mode !== 'resumed') return fail(state, 'a batch before the feed was reconciled');
  if (batch.to < batch.from || batch.head < batch.to)
    return fail(state, `a batch from ${batch.from} to ${batch.to} with head ${batch.head}`);
  if (batch.ahead) {
    const bytes = bytesOfEntries(batch.entries);
    const next = { ...state, peerHead: Math.max(state.peerHead ?? 0, batch.head) };
    return withEffects(next, { type: 'applyAhead', batch, bytes });
  }
  const next = {
    ...state,
    cursor: Math.max(state.cursor, batch.to),
    peerHead: Math.max(state.peerHead ?? 0, batch.head),
  };
  return chain(withEffects(next, { type: 'applyThenAck', batch }), (s) => dropPieces(s, batch.head), noteCaughtUp);
}

function onAck(state: SessionState, cursor: number, nowMs: number): Stepped {
  const { outgoing } = state;
  // A consumer that has just reconciled acknowledges the head of the first reply. `sent` is undefined then.
  const most = outgoing.sent ?? outgoing.head;
  if (cursor > most) return fail(state, `an acknowledgement of ${cursor}, and nothing beyond ${most} was sent`);
  const flow = onAcknowledged(onAnswerTaken(state.flow, nowMs), cursor, nowMs);
  return sendFrom(state, onCursor(outgoing, cursor), flow, { type: 'acknowledged', cursor });
}

/**
 * Answers a request of a reconciling peer. Allows requests only for a feed that was not resumed, only one at a time, and only a limited number. Otherwise a
 * peer could make this side scan its table without end.
 */
function onRequest(state: SessionState, request: ReconcileRequest, nowMs: number): Stepped {
  const { outgoing } = state;
  if (outgoing.sent !== undefined)
    return fail(state, `a reconcile request for a feed that goes on, and was sent up to ${outgoing.sent}`);
  if (outgoing.answer) return fail(state, 'a reconcile request before the last one was answered');
  const questions = withQuestion(state.questions, request);
  const flaw = flawOfQuestion(state.questions, questions);
  if (flaw) return fail(state, flaw);
  return sendFrom({ ...state, questions }, { ...outgoing, answer: { request } }, onAnswerTaken(state.flow, nowMs));
}

function onTick(state: SessionState, nowMs: number): Stepped {
  if (nowMs - state.receivedAtMs >= deathAfterMs) {
    const silence = `no frame was received for ${Math.round((nowMs - state.receivedAtMs) / 1000)} s`;
    return withEffects(state, { type: 'close', error: new SessionError('Silence', 'Unavailable', silence) });
  }
  if (nowMs - state.beatAtMs < beatEveryMs) return idle(state);
  return sendBeat(state, nowMs);
}

function sendBeat(state: SessionState, nowMs: number): Stepped {
  const { outgoing, ready } = state;
  const next = { ...state, ready: ready === true, beatAtMs: nowMs, outgoing: onBeatSent(outgoing) };
  return withEffects(next, { type: 'sendBeat', head: outgoing.head, ready: next.ready });
}

function send(state: SessionState): Stepped {
  return sendFrom(state, state.outgoing, state.flow);
}

/** Runs for every frame, so it makes at most one new state object. */
function sendFrom(state: SessionState, before: OutgoingFeed, flow: Flow, first?: Effect): Stepped {
  const { outgoing, send: next } = nextSend(before, flow);
  const isSame = outgoing === state.outgoing && flow === state.flow;
  const after = isSame ? state : { ...state, outgoing, flow };
  const effects: Effect[] = first ? [first] : [];
  if (next) effects.push({ type: 'send', send: next });
  return { state: after, effects };
}

function withHead(outgoing: OutgoingFeed, head: number): OutgoingFeed {
  return head > outgoing.head ? { ...outgoing, head } : outgoing;
}

function reconcileIfReady(state: SessionState): Stepped {
  if (state.mode !== 'waitsForReady' || !state.peerReady) return idle(state);
  return withEffects({ ...state, mode: 'reconciling' }, { type: 'startReconcile' });
}

/** Drops the pieces if the cursor has reached the head that the peer announced. The peer sent that head, so the peer knows that the pieces are dropped. */
function dropPieces(state: SessionState, head: number): Stepped {
  return state.mode === 'resumed' && state.cursor >= head ? withEffects(state, { type: 'dropPieces' }) : idle(state);
}

function noteCaughtUp(state: SessionState): Stepped {
  const { caughtUp, mode, peerReady, peerHead, cursor } = state;
  if (caughtUp || mode !== 'resumed' || !peerReady || peerHead === undefined || cursor < peerHead)
    return noteReportedAll(state);
  return chain(withEffects({ ...state, caughtUp: true }, { type: 'caughtUp' }), noteReportedAll);
}

/**
 * Notes when the peer has reported everything that it can report now. A peer that is not ready counts too, as soon as this side has everything that the peer
 * sends before it is ready. Otherwise two nodes could wait for each other's report for ever.
 */
function noteReportedAll(state: SessionState): Stepped {
  const { reportedAll, mode, peerReady, peerHead, cursor } = state;
  const isOver = mode === 'resumed' ? cursor >= (peerHead ?? 0) : mode === 'waitsForReady' && !peerReady;
  if (reportedAll || peerHead === undefined || !isOver) return idle(state);
  return withEffects({ ...state, reportedAll: true }, { type: 'reportedAll' });
}

/**
 * Ends the session, because the peer has found out in the middle of a reconciliation that its store was restored from an older copy. Its answers so far are
 * of no use. The next session waits until the peer is ready again.
 */
function withdrawn(state: SessionState): Stepped {
  const message = 'the peer is not ready any more: what it lacks may be lost there, and is no deletion';
  return withEffects(state, { type: 'close', error: new SessionError('ReadyWithdrawn', 'Unavailable', message) });
}

function fail(state: SessionState, what: string): Stepped {
  return withEffects(state, { type: 'close', error: new BanyanError('Protocol', what) });
}

function idle(state: SessionState): Stepped {
  return { state, effects: [] };
}

function withEffects(state: SessionState, ...effects: Effect[]): Stepped {
  return { state, effects };
}

function chain(first: Stepped, ...steps: ((state: SessionState) => Stepped)[]): Stepped {
  let { state, effects } = first;
  for (const next of steps) {
    const stepped = next(state);
    state = stepped.state;
    if (stepped.effects.length > 0) effects = [...effects, ...stepped.effects];
  }
  return { state, effects };
}
