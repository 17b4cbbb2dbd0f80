import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import {
  aheadBytesMax,
  connectionBytesMax,
  OutgoingAnswers,
  serverBytesMax,
  stallMs,
  watchBytesMax,
  writePieces,
} from '../../../../../core/apiserver/http/outgoing.ts';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { refusal } from '../kinds/space-support.ts';

/** A response as its writer uses it. The test decides how much the client reads. */
class Response extends EventEmitter {
  writableLength = 0;
  destroyed = false;
  ended = false;

  write(bytes: Buffer): void {
    this.writableLength += bytes.length;
  }

  end(): void {
    this.ended = true;
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }

  take(bytes = this.writableLength): void {
    this.writableLength -= bytes;
    if (this.writableLength === 0) this.emit('drain');
  }
}

function bench() {
  const clock = new VirtualClock();
  const answers = new OutgoingAnswers(clock);
  const begin = (connection: object) => {
    const response = new Response();
    const failures: unknown[] = [];
    const turns: (() => void)[] = [];
    const outgoing = answers.begin(response as unknown as ServerResponse, {
      connection,
      failed: (error) => failures.push(error),
      nextTurn: (act) => turns.push(act),
    });
    return { response, outgoing, failures, turns };
  };
  return { clock, answers, begin };
}

const bytes = (length: number) => Buffer.alloc(length);

describe('an answer in pieces', () => {
  function* many(made: { pieces: number; closed: boolean }, count: number, fails = false): Generator<Buffer, void> {
    try {
      for (; made.pieces < count; made.pieces++) yield bytes(10_000);
      if (fails) throw new Error('too much has changed');
    } finally {
      made.closed = true;
    }
  }

  it('goes on after a pause in its next turn, and sends nothing while it has too little', () => {
    const { begin } = bench();
    const { response, outgoing, turns } = begin({});
    const heads: unknown[] = [];
    function* pieces(): Generator<Buffer, void> {
      yield bytes(0);
      yield bytes(10);
      yield bytes(0);
      yield bytes(20);
    }
    writePieces(pieces(), outgoing, (length) => heads.push(length));
    expect([response.writableLength, heads, turns.length]).toEqual([0, [], 1]);
    turns.shift()!();
    expect([response.writableLength, heads, turns.length]).toEqual([0, [], 1]);
    turns.shift()!();
    expect([response.writableLength, heads, response.ended]).toEqual([30, [30], true]);
  });

  it('reports an error after a pause, and does no more work for a client that is gone', () => {
    const { begin } = bench();
    const failing = begin({});
    function* pieces(then: () => void): Generator<Buffer, void> {
      yield bytes(0);
      then();
    }
    const fails = () => {
      throw new Error('too much has changed');
    };
    writePieces(pieces(fails), failing.outgoing, () => {});
    failing.turns.shift()!();
    expect(failing.failures.map(String)).toEqual(['Error: too much has changed']);
    const gone = begin({});
    let worked = false;
    writePieces(
      pieces(() => {
        worked = true;
      }),
      gone.outgoing,
      () => {},
    );
    gone.response.destroy();
    gone.turns.shift()!();
    expect([worked, gone.failures]).toEqual([false, []]);
  });

  it('is produced only a little further than its client has read', () => {
    const { begin } = bench();
    const { response, outgoing } = begin({});
    const made = { pieces: 0, closed: false };
    const heads: unknown[] = [];
    writePieces(many(made, 1_000), outgoing, (length) => heads.push(length));
    let taken = 0;
    while (!response.ended) {
      expect(response.writableLength).toBeLessThan(2 * aheadBytesMax);
      taken += response.writableLength;
      response.take();
    }
    expect([taken + response.writableLength, made, heads]).toEqual([
      10_000_000,
      { pieces: 1_000, closed: true },
      [undefined],
    ]);
  });

  it('that is small has its length in its head', () => {
    const { begin } = bench();
    const { response, outgoing } = begin({});
    const heads: unknown[] = [];
    writePieces(many({ pieces: 0, closed: false }, 3), outgoing, (length) => heads.push(length));
    expect([heads, response.ended, response.writableLength]).toEqual([[30_000], true, 30_000]);
  });

  it('keeps nothing when its client has disconnected', () => {
    const { begin } = bench();
    const { response, outgoing } = begin({});
    const made = { pieces: 0, closed: false };
    writePieces(many(made, 1_000), outgoing, () => {});
    expect(made.closed).toBe(false);
    response.emit('close');
    expect(made.closed).toBe(true);
  });

  it('that cannot be continued reports this after the client has read the previous piece', () => {
    const { begin } = bench();
    const { response, outgoing, failures } = begin({});
    writePieces(many({ pieces: 0, closed: false }, 30, true), outgoing, () => {});
    response.take();
    expect(failures).toMatchObject([{ message: 'too much has changed' }]);
  });
});

describe('answers that wait', () => {
  it('are checked for each request, except those whose clients have read everything', () => {
    const { answers, begin } = bench();
    let looks = 0;
    for (let i = 0; i < 1_000; i++) {
      const { response } = begin({});
      const look = () => {
        looks++;
        return 0;
      };
      Object.defineProperty(response, 'writableLength', { get: look });
    }
    answers.admit({});
    looks = 0;
    for (let i = 0; i < 100; i++) answers.admit({});
    expect(looks).toBe(0);
  });

  it('start their waiting time again after their client has read everything', () => {
    const { clock, answers, begin } = bench();
    const { response, outgoing } = begin({});
    outgoing.write(bytes(10));
    response.take();
    expect(answers.unreadBytes()).toBe(0);
    clock.advance(2 * stallMs);
    outgoing.write(bytes(10));
    clock.advance(stallMs / 2);
    expect([response.destroyed, answers.unreadBytes()]).toEqual([false, 10]);
    clock.advance(stallMs);
    expect(response.destroyed).toBe(true);
  });

  it('of one connection share one bound, and other connections are served', () => {
    const { answers, begin } = bench();
    const connection = {};
    const waiting = [begin(connection), begin(connection)];
    waiting[0]!.outgoing.write(bytes(connectionBytesMax));
    answers.admit(connection);
    waiting[1]!.outgoing.write(bytes(1));
    const { code, details } = refusal(() => answers.admit(connection));
    expect({ code, details }).toEqual({ code: 'TooManyRequests', details: { retryAfterSeconds: 1 } });
    answers.admit({});
    waiting[1]!.response.take();
    answers.admit(connection);
  });

  it('of all connections share one bound', () => {
    const { answers, begin } = bench();
    const waiting = Array.from({ length: serverBytesMax / connectionBytesMax }, () => begin({}));
    for (const { outgoing } of waiting) outgoing.write(bytes(connectionBytesMax));
    answers.admit({});
    begin({}).outgoing.write(bytes(1));
    expect(refusal(() => answers.admit({})).message).toMatch(/wait for clients on all connections: read them/);
    waiting[0]!.response.destroy();
    answers.admit({});
    expect(answers.unreadBytes()).toBe(serverBytesMax - connectionBytesMax + 1);
  });

  it('leave no room for answers that cannot be produced later, except a little for each', () => {
    const { begin } = bench();
    const connection = {};
    const { outgoing } = begin(connection);
    outgoing.write(bytes(watchBytesMax));
    expect(outgoing.hasRoom()).toBe(true);
    const other = begin(connection).outgoing;
    other.write(bytes(aheadBytesMax));
    expect([outgoing.hasRoom(), other.hasRoom()]).toEqual([false, true]);
    other.write(bytes(1));
    expect(other.hasRoom()).toBe(false);
  });

  it('are aborted when their client reads nothing for a minute', () => {
    const { clock, begin } = bench();
    const [idle, stalled, slow] = [begin({}), begin({}), begin({})];
    for (const { outgoing } of [stalled, slow]) outgoing.write(bytes(100_000));
    for (let ms = 0; ms < 3 * stallMs; ms += 30_000) {
      clock.advance(30_000);
      slow.response.take(1_000);
    }
    expect([idle, stalled, slow].map(({ response }) => response.destroyed)).toEqual([false, true, false]);
  });

  it('do not count as read because more data is written to them', () => {
    const { clock, begin } = bench();
    const { response, outgoing } = begin({});
    for (let ms = 0; ms < 2 * stallMs; ms += 10_000) {
      outgoing.write(bytes(1_000));
      clock.advance(10_000);
    }
    expect(response.destroyed).toBe(true);
  });
});
