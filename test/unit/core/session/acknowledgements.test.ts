import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import {
  Acknowledgements,
  type AcknowledgingSession,
  acknowledgedWithinMs,
} from '../../../../core/session/acknowledgements.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';

class CountingStore extends MemoryStore {
  writes = 0;

  override write: MemoryStore['write'] = (fn) => {
    this.writes++;
    return super.write(fn);
  };
}

class Session implements AcknowledgingSession {
  /** The state of the store at the callback. */
  readonly stored: number[] = [];
  failure: BanyanError | undefined;
  readonly #refusal: BanyanError | undefined;
  #cursor = 0;

  constructor(refusal?: BanyanError) {
    this.#refusal = refusal;
  }

  write(_t: unknown, cursor: number): void {
    if (this.#refusal) throw this.#refusal;
    this.#cursor = cursor;
  }

  written(): void {
    this.stored.push(this.#cursor);
  }

  failed(error: BanyanError): void {
    this.failure = error;
  }
}

function bench() {
  const clock = new VirtualClock();
  const store = new CountingStore();
  return { clock, store, acknowledgements: new Acknowledgements(store, clock) };
}

describe('acknowledgements', () => {
  it('are written together, the last one for all of them, after the bound from the first one', () => {
    const { clock, acknowledgements } = bench();
    const session = new Session();
    for (const cursor of [1, 2, 5]) {
      acknowledgements.note(session, cursor);
      clock.advance(acknowledgedWithinMs / 5);
    }
    expect(session.stored).toEqual([]);
    clock.advance(acknowledgedWithinMs);
    expect(session.stored).toEqual([5]);
    acknowledgements.note(session, 6);
    clock.advance(acknowledgedWithinMs);
    expect(session.stored).toEqual([5, 6]);
  });

  it('are the highest ones received, in any order', () => {
    const { clock, acknowledgements } = bench();
    const session = new Session();
    for (const cursor of [8, 5]) acknowledgements.note(session, cursor);
    clock.advance(acknowledgedWithinMs);
    expect(session.stored).toEqual([8]);
  });

  it('of many sessions are written in one transaction, and of very many in several', () => {
    const { clock, store, acknowledgements } = bench();
    const sessions = Array.from({ length: 1_200 }, () => new Session());
    for (const session of sessions.slice(0, 400)) acknowledgements.note(session, 1);
    clock.advance(acknowledgedWithinMs);
    expect(store.writes).toBe(1);
    for (const session of sessions) acknowledgements.note(session, 2);
    clock.advance(acknowledgedWithinMs);
    expect(store.writes).toBe(4);
    expect(sessions.map(({ stored }) => stored.at(-1))).toEqual(sessions.map(() => 2));
  });

  it('are written at once on request, and not again', () => {
    const { clock, acknowledgements } = bench();
    const [one, other] = [new Session(), new Session()];
    acknowledgements.note(one, 3);
    acknowledgements.note(other, 4);
    acknowledgements.settle(one);
    acknowledgements.settle(one);
    expect([one.stored, other.stored]).toEqual([[3], []]);
    clock.advance(1_000);
    expect([one.stored, other.stored]).toEqual([[3], [4]]);
  });

  it('that are refused are reported to their session, and the others are written', () => {
    const { clock, acknowledgements } = bench();
    const refusal = new BanyanError('Conflict', 'another session has taken over');
    const [old, other] = [new Session(refusal), new Session()];
    acknowledgements.note(old, 1);
    acknowledgements.note(other, 1);
    clock.advance(acknowledgedWithinMs);
    expect([old.failure, other.failure]).toEqual([refusal, undefined]);
    expect(old.stored).toEqual([]);
    expect(other.stored).toEqual([1]);
  });

  it('that the store does not accept are reported to every session', () => {
    const { clock, store, acknowledgements } = bench();
    const sessions = [new Session(), new Session()];
    for (const session of sessions) acknowledgements.note(session, 1);
    const full = new BanyanError('StoreFull', 'the disk is full');
    store.failFlush(full);
    clock.advance(acknowledgedWithinMs);
    expect(sessions.map(({ failure }) => failure)).toEqual([full, full]);
    expect(sessions.map(({ stored }) => stored)).toEqual([[], []]);
  });
});
