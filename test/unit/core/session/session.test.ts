import { describe, expect, it } from 'vitest';
import type { Batch } from '../../../../core/feed/feed.ts';
import { windowMinBytes } from '../../../../core/session/flow.ts';
import {
  beatEveryMs,
  begin,
  deathAfterMs,
  type Effect,
  type Input,
  type SessionState,
  stepSession,
} from '../../../../core/session/session.ts';

const start = {
  nowMs: 0,
  head: 0,
  sentFrom: 0,
  ready: true,
  creditBytes: 1 << 20,
  held: new Map<string, number>(),
  cursor: 0,
  resumes: true,
  peerReady: true,
};
const types = (effects: readonly Effect[]) => effects.map(({ type }) => type);
const batch = (from: number, to: number, head = to): Batch => ({
  entries: [],
  from,
  to,
  head,
  epoch: 'e',
  incarnation: 'i',
});

function play(state: SessionState, inputs: readonly Input[], nowMs = 0) {
  let effects: Effect[] = [];
  for (const input of inputs) {
    const stepped = stepSession(state, input, nowMs);
    state = stepped.state;
    effects = [...effects, ...stepped.effects];
  }
  return { state, effects };
}

describe('an established session', () => {
  it('begins with a beat that has the head', () => {
    expect(begin({ ...start, head: 5 }).effects[0]).toEqual({ type: 'sendBeat', head: 5, ready: true });
  });

  it('sends one batch at a time and stops at the window', () => {
    let { state } = begin(start);
    const first = stepSession(state, { type: 'produced', head: 100 }, 0);
    expect(first.effects).toEqual([
      { type: 'send', send: expect.objectContaining({ type: 'sendBatch', after: 0, head: 100 }) },
    ]);
    state = first.state;
    const full = stepSession(
      state,
      { type: 'done', done: { type: 'sent', to: 50, bytes: windowMinBytes, all: false, named: false } },
      0,
    );
    expect(full.effects).toEqual([]);
    expect(types(stepSession(full.state, { type: 'ack', cursor: 50 }, 0).effects)).toEqual(['acknowledged', 'send']);
  });

  it('acknowledges a batch only by the effect that flushes first', () => {
    const { effects } = play(begin(start).state, [{ type: 'batch', batch: batch(0, 3) }]);
    expect(types(effects)).toContain('applyThenAck');
  });

  it('has caught up when it has the head that a ready peer announced', () => {
    const { state, effects } = play(begin(start).state, [{ type: 'beat', head: 3, ready: true }]);
    expect(types(effects)).not.toContain('caughtUp');
    expect(types(play(state, [{ type: 'batch', batch: batch(0, 3) }]).effects)).toEqual([
      'applyThenAck',
      'dropPieces',
      'caughtUp',
      'reportedAll',
    ]);
  });

  it('has received all reports of a peer that is not ready when it has the peer’s head, or has to wait to reconcile', () => {
    const goesOn = play(begin({ ...start, peerReady: false }).state, [{ type: 'beat', head: 3, ready: false }]);
    expect(types(goesOn.effects)).not.toContain('reportedAll');
    const there = play(goesOn.state, [{ type: 'batch', batch: batch(0, 3) }]);
    expect(types(there.effects)).toEqual(['applyThenAck', 'dropPieces', 'reportedAll']);
    const waits = begin({ ...start, resumes: false, peerReady: false }).state;
    expect(types(play(waits, [{ type: 'beat', head: 3, ready: false }]).effects)).toEqual(['reportedAll']);
    expect(types(play(waits, [{ type: 'beat', head: 3, ready: true }]).effects)).toEqual(['startReconcile']);
  });

  it('ends if the peer is no longer ready during a reconciliation', () => {
    const { state } = begin({ ...start, resumes: false });
    expect(state.mode).toBe('reconciling');
    const stays = stepSession(state, { type: 'beat', head: 3, ready: true }, 0);
    expect(types(stays.effects)).toEqual([]);
    expect(stepSession(stays.state, { type: 'beat', head: 3, ready: false }, 0).effects).toMatchObject([
      { type: 'close', error: { end: 'ReadyWithdrawn', code: 'Unavailable' } },
    ]);
  });

  it('does not reconcile before the peer is ready', () => {
    const waiting = begin({ ...start, resumes: false, peerReady: false });
    expect(types(waiting.effects)).not.toContain('startReconcile');
    expect(types(stepSession(waiting.state, { type: 'beat', head: 9, ready: true }, 0).effects)).toContain(
      'startReconcile',
    );
  });

  it.each<[string, Input]>([
    ['an acknowledgement beyond the head', { type: 'ack', cursor: 99 }],
    ['a batch that ends before it begins', { type: 'batch', batch: batch(5, 4) }],
    ['a batch beyond its own head', { type: 'batch', batch: batch(0, 5, 4) }],
    [
      'a reconcile reply that nobody asked for',
      { type: 'reply', reply: { round: 1, answers: [], entries: [], head: 0, epoch: '', incarnation: '' } },
    ],
    [
      'a reconcile request for a feed that goes on',
      { type: 'request', request: { round: 1, seed: new Uint8Array(0), prefixes: [], wanted: [new Uint8Array(16)] } },
    ],
    ['a second answer about how the feed resumes', { type: 'resume', resumes: true }],
  ])('ends at %s', (_what, input) => {
    const { effects } = stepSession(begin(start).state, input, 0);
    expect(effects).toEqual([
      expect.objectContaining({ type: 'close', error: expect.objectContaining({ code: 'Protocol' }) }),
    ]);
  });

  it('sends a beat when nothing else was sent, and ends after silence', () => {
    const { state } = begin(start);
    expect(types(stepSession(state, { type: 'tick' }, beatEveryMs).effects)).toEqual(['sendBeat']);
    expect(stepSession(state, { type: 'tick' }, deathAfterMs).effects).toEqual([
      expect.objectContaining({ type: 'close', error: expect.objectContaining({ code: 'Unavailable' }) }),
    ]);
    const alive = stepSession(state, { type: 'alive' }, deathAfterMs - 1).state;
    expect(types(stepSession(alive, { type: 'tick' }, deathAfterMs).effects)).toEqual(['sendBeat']);
  });
});
