import { describe, expect, it } from 'vitest';
import type { ReconcileRequest } from '../../../../core/feed/feed.ts';
import { noQuestions, withQuestion } from '../../../../core/session/questions.ts';
import { begin, type Effect, type SessionState, stepSession } from '../../../../core/session/session.ts';
import { reconcileRequestFromWire } from '../../../../core/session/wire-frames.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { content, SessionPair } from '../../../support/session-pair.ts';

const unresumed = (): SessionState =>
  begin({
    nowMs: 0,
    head: 9,
    sentFrom: undefined,
    ready: true,
    creditBytes: 1 << 20,
    held: new Map(),
    cursor: 0,
    resumes: true,
    peerReady: true,
  }).state;

const seed = new Uint8Array(8);
type Asks = Omit<ReconcileRequest, 'round' | 'wanted'>;
const whole: Asks = { seed, prefixes: [{ prefix: new Uint8Array(0), fingerprint: new Uint8Array(0) }] };
const wholes: Readonly<Record<string, Asks>> = {
  'the prefix of no digits': whole,
  'all prefixes of one digit': {
    seed,
    prefixes: Array.from({ length: 16 }, (_, i) => ({ prefix: Uint8Array.of(i), fingerprint: new Uint8Array(0) })),
  },
};

/** A request and its answer. */
function ask(state: SessionState, round: number, asks = whole) {
  const asked = stepSession(state, { type: 'request', request: { round, wanted: [], ...asks } }, 0);
  const done = stepSession(asked.state, { type: 'done', done: { type: 'answered', bytes: 0, named: false } }, 0);
  return { state: done.state, isAnswered: asked.effects[0]?.type === 'send', error: errorOf(asked.effects) };
}

function errorOf(effects: readonly Effect[]): string | undefined {
  return effects.flatMap((effect) => (effect.type === 'close' && effect.error ? [effect.error.message] : []))[0];
}

describe('a producer that a consumer queries in a reconciliation', () => {
  it('answers in the order of rounds, and none of them twice', () => {
    const first = ask(unresumed(), 1);
    expect(first.isAnswered).toBe(true);
    expect(ask(first.state, 2).isAnswered).toBe(true);
    for (const round of [0, 1, 3]) expect(ask(first.state, round).error).toContain(`of round ${round} behind round 1`);
    expect(ask(unresumed(), 2).error).toContain('of round 2 behind round 0');
  });

  it('answers nothing more when the consumer resumes from a cursor', () => {
    const { state } = stepSession(ask(unresumed(), 1).state, { type: 'ack', cursor: 9 }, 0);
    expect(ask(state, 2).error).toContain('for a feed that goes on, and was sent up to 9');
  });

  it.each(Object.entries(wholes))('reads its whole table at most 33 times for %s', (_form, asks) => {
    let state = unresumed();
    for (let round = 1; round <= 33; round++) {
      const asked = ask(state, round, asks);
      expect(asked.isAnswered).toBe(true);
      state = asked.state;
    }
    expect(ask(state, 34, asks).error).toContain('34 times the whole table; at most 33');
  });

  it('gets far fewer requests from a consumer whose rows all differ', async () => {
    const [rows, pair] = [2_000, new SessionPair(new MemoryStore(), new MemoryStore())];
    pair.child.store.write((t) => {
      pair.child.consumer.setResume(t, {
        epoch: 'aa'.repeat(16),
        incarnation: 'bb'.repeat(16),
        cursor: 1,
        seenHead: 1,
      });
    });
    for (let i = 0; i < rows; i++)
      pair.parent.store.write((t) => pair.parent.producer.put(t, content(`k${i}`, 'x'), 0));
    pair.child.session.start();
    await pair.run(2_000);
    expect(Object.keys(pair.held())).toHaveLength(rows);
    const requests = pair.frames.flatMap(({ frame: { frame } }) =>
      frame?.$case === 'reconcileRequest' ? [reconcileRequestFromWire(frame.value)] : [],
    );
    const asked = requests.reduce(withQuestion, noQuestions);
    expect(asked.round).toBe(requests.length);
    expect(asked.wholes).toBeGreaterThan(1);
    expect(asked.wholes).toBeLessThan(6);
  });
});
