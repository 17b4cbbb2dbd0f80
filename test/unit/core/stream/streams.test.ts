import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { censusEveryMs } from '../../../../core/stream/census.ts';
import { bulkWindowBytes, type Offer, resetCodes, streamWindowBytes } from '../../../../core/stream/stream.ts';
import { StreamCounts } from '../../../../core/stream/stream-counts.ts';
import { openFrame } from '../../../../core/stream/stream-frames.ts';
import { SessionStreams, windowBytesTotal } from '../../../../core/stream/streams.ts';
import { encodeFrame } from '../../../../core/wire/codec/frames.ts';
import { streamsMax } from '../../../../core/wire/codec/part-limits.ts';
import type { Frame } from '../../../../core/wire/generated/mesh.ts';
import type { Link } from '../../../../core/wire/link.ts';
import { memoryDialer } from '../../../../core/wire/memory/memory-link.ts';
import { beat } from '../../../support/link-log.ts';
import { requestOf, StreamLog } from '../../../support/stream-tree.ts';

const request = requestOf({ path: 'eu:kid' });

/** The stream parts of both ends of a session, on memory links; `delay` gives the delay of each frame. */
class Pair {
  readonly clock = new VirtualClock();
  readonly frames: { from: 'child' | 'parent'; frame: Frame }[] = [];
  readonly counts = { parent: new StreamCounts(), child: new StreamCounts() };
  readonly offers = { parent: [] as Offer[], child: [] as Offer[] };
  readonly links = {} as { parent: Link; child: Link };
  parent!: SessionStreams;
  child!: SessionStreams;
  /** Frames to the child's end are lost. */
  deaf = false;
  bufferBytes = 100_000;

  async connect(): Promise<this> {
    const { clock } = this;
    const network = {
      clock,
      delayMs: 1,
      bufferBytes: this.bufferBytes,
      isCut: () => false,
      passes: (frame: Frame, from: 'child' | 'parent') => {
        this.frames.push({ from, frame });
        return true;
      },
    };
    const dialer = memoryDialer(network, { path: 'eu:kid', role: 'agent' }, { path: 'eu', role: 'relay' }, (link) => {
      this.links.parent = link;
      return {
        onFrame: (frame) => this.parent.receive(frame),
        onBytes() {},
        onDrain() {},
        onClose: () => this.parent.end('the line broke'),
        onStream: (id, stream) => this.parent.accept(id, stream),
      };
    });
    this.links.child = await dialer.dial(
      {
        onFrame: (frame) => {
          if (!this.deaf) this.child.receive(frame);
        },
        onBytes() {},
        onDrain() {},
        onClose: () => this.child.end('the line broke'),
      },
      100,
    );
    for (const side of ['parent', 'child'] as const) {
      this[side] = new SessionStreams({
        side,
        clock,
        link: this.links[side],
        at: side === 'parent' ? 'eu' : 'eu:kid',
        observer: this.counts[side],
        offered: (offer) => this.offers[side].push(offer),
      });
    }
    return this;
  }

  async run(ms: number): Promise<void> {
    for (let done = 0; done < ms; done++) {
      this.clock.advance(1);
      for (let i = 0; i < 4; i++) await Promise.resolve();
    }
  }

  open(side: 'parent' | 'child' = 'parent', part: Partial<typeof request> = {}): StreamLog {
    return new StreamLog((handler) => this[side].open({ ...request, ...part }, handler));
  }

  /** A stream that `side` asked for and that is open at both ends. */
  async joined(side: 'parent' | 'child', part: Partial<typeof request> = {}) {
    const other = side === 'parent' ? 'child' : 'parent';
    const asked = this.open(side, part);
    await this.run(5);
    const taken = new StreamLog((handler) => this.offers[other].at(-1)!.accept(handler));
    await this.run(5);
    return { asked, taken };
  }

  kinds(from: 'child' | 'parent'): string[] {
    return this.frames.filter((sent) => sent.from === from).map(({ frame }) => frame.frame?.$case ?? 'sign of life');
  }
}

let pair: Pair;
beforeEach(async () => {
  pair = await new Pair().connect();
});

describe.each(['parent', 'child'] as const)('a stream that the %s asks for', (side) => {
  it('carries any bytes in any pieces both ways, whole and in order, with half-closes of their own', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 90_000 }), { maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 90_000 }), { maxLength: 12 }),
        fc.integer({ min: 1, max: 1_000_000 }),
        async (there, back, seed) => {
          pair = await new Pair().connect();
          const random = new SeededRandom(seed);
          const { asked, taken } = await pair.joined(side);
          const jobs = [
            { log: asked, other: taken, sizes: [...there], sent: [] as Buffer[], done: false },
            { log: taken, other: asked, sizes: [...back], sent: [] as Buffer[], done: false },
          ];
          asked.stalled = true;
          taken.stalled = true;
          const held = new Map([asked, taken].map((log) => [log, 0]));
          for (let round = 0; round < 400 && !(asked.closed && taken.closed); round++) {
            for (const job of jobs) {
              if (random.fraction() < 0.4 && job.sizes.length > 0) {
                const piece = Buffer.from(random.bytes(job.sizes.shift()!));
                job.sent.push(piece);
                job.log.stream.write(piece);
              } else if (job.sizes.length === 0 && !job.done && random.fraction() < 0.3) {
                job.done = true;
                job.log.stream.end();
              }
              const unread = job.log.receivedBytes - held.get(job.log)!;
              expect(unread).toBeLessThanOrEqual(streamWindowBytes);
              const read = Math.ceil(unread * random.fraction());
              held.set(job.log, held.get(job.log)! + read);
              job.log.stream.consumed(read);
            }
            await pair.run(Math.floor(random.fraction() * 4));
          }
          for (const { other, sent } of jobs)
            expect(Buffer.concat(other.chunks).equals(Buffer.concat(sent))).toBe(true);
          expect([asked.events, taken.events]).toEqual([
            ['accepted', 'end', 'closed'],
            ['end', 'closed'],
          ]);
          expect([pair.counts.parent.open, pair.counts.child.open]).toEqual([0, 0]);
        },
      ),
      { seed: 11, numRuns: 40 },
    );
  });

  it('reports a reset to the other end, once, and both ends are gone', async () => {
    const { asked, taken } = await pair.joined(side);
    taken.stream.reset({ code: 'Internal', message: 'it broke', at: 'eu:kid' });
    taken.stream.reset({ code: 'Internal', message: 'again', at: 'eu:kid' });
    await pair.run(5);
    expect(asked.reset).toEqual({ code: 'Internal', message: 'it broke', at: 'eu:kid' });
    expect([pair.parent.size, pair.child.size]).toEqual([0, 0]);
  });

  it('ends with the session, at both ends', async () => {
    const { asked, taken } = await pair.joined(side);
    pair.links.child.close('enough');
    await pair.run(5);
    for (const log of [asked, taken]) expect(log.reset?.code).toBe('Unavailable');
    expect(pair.open().events).toEqual([]);
    await pair.run(1);
    expect([pair.parent.size, pair.child.size]).toEqual([0, 0]);
  });

  it('is refused when too many are open, and accepted again when one has ended', async () => {
    const logs = Array.from({ length: streamsMax + 1 }, () => pair.open(side, { deadlineMs: 60_000 }));
    await pair.run(3);
    const refused = logs.filter((log) => log.closed);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.every((log) => log.reset?.code === 'TooMany')).toBe(true);
    logs.find((log) => !log.closed)!.stream.reset({ code: 'Cancelled', message: 'enough', at: 'eu' });
    await pair.run(30);
    const other = side === 'parent' ? 'child' : 'parent';
    const offers = pair.offers[other].length;
    pair.open(side);
    await pair.run(3);
    expect(pair.offers[other].length).toBe(offers + 1);
  });
});

describe('the windows of a session', () => {
  it('never exceed their total, whatever is asked for first, and every stream gets one', async () => {
    const logs = Array.from({ length: streamsMax }, (_, i) => pair.open('parent', { bulk: i % 3 === 0 }));
    await pair.run(3);
    expect(logs.some((log) => log.closed)).toBe(false);
    const credits = pair.frames.flatMap(({ frame: { frame } }) =>
      frame?.$case === 'open' ? [frame.value.creditBytes] : [],
    );
    expect(credits.length).toBe(streamsMax);
    expect(credits.slice(0, 2)).toEqual([bulkWindowBytes, streamWindowBytes]);
    expect(Math.min(...credits)).toBeGreaterThanOrEqual(32 * 1024);
    expect(credits.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(windowBytesTotal);
  });
});

describe('the parent', () => {
  it('refuses a call for a stream that it did not ask for, has withdrawn, or already has', async () => {
    const { asked } = await pair.joined('parent');
    const late = pair.open('parent');
    late.stream.reset({ code: 'Cancelled', message: 'never mind', at: 'eu' });
    await pair.run(3);
    for (const id of [2, 4, 6, 2 ** 40]) {
      const errors: (Error | undefined)[] = [];
      const events = { onFrame() {}, onBytes() {}, onDrain() {}, onClose: (error?: Error) => errors.push(error) };
      await pair.links.child.openStream!(id, false, events);
      await pair.run(5);
      expect(errors[0]).toMatchObject({ code: 'NotFound', message: expect.stringContaining(`stream ${id}`) });
    }
    expect(asked.closed).toBe(false);
    expect(pair.counts.parent.refusedBy.get('Unknown')).toBe(4);
  });

  it('closes a call that the child opens by itself without an open on it', async () => {
    const seen: Frame[] = [];
    const events = { onFrame: (frame: Frame) => seen.push(frame), onBytes() {}, onDrain() {}, onClose() {} };
    const call = await pair.links.child.openStream!(1, false, events);
    call.send(beat(1));
    await pair.run(5);
    expect(seen.map(({ frame }) => frame)).toEqual([
      { $case: 'reset', value: expect.objectContaining({ code: resetCodes.Protocol, at: 'eu' }) },
    ]);
    expect(pair.parent.size).toBe(0);
  });

  it('sends nothing more to a child that withdraws, and refuses a call that comes then', async () => {
    const asked = pair.open('parent');
    await pair.run(3);
    asked.stream.reset({ code: 'Cancelled', message: 'never mind', at: 'eu' });
    const taken = new StreamLog((handler) => pair.offers.child[0]!.accept(handler));
    await pair.run(10);
    expect(taken.reset?.code).toMatch(/Cancelled|Unavailable/);
    expect([pair.parent.size, pair.child.size]).toEqual([0, 0]);
  });
});

describe('calls of the child without an open on them', () => {
  const errors: (Error | undefined)[] = [];
  const events = {
    onFrame() {},
    onBytes() {},
    onDrain() {},
    onClose: (error?: Error) => void errors.push(error),
  };
  const call = (number: number) => pair.links.child.openStream!(2 * number + 1, false, events);
  const refusals = () => pair.counts.parent.refusedBy.get('TooMany') ?? 0;
  beforeEach(() => {
    errors.length = 0;
  });

  it('have a limit, the others are refused with a message, and all end in time', async () => {
    await Promise.all(Array.from({ length: 1_000 }, (_, i) => call(i)));
    await pair.run(5);
    expect(refusals()).toBe(1_000 - streamsMax);
    expect(errors.length).toBe(refusals());
    expect(errors[0]).toMatchObject({ code: 'TooManyRequests', message: expect.stringMatching(/^the call of stream/) });
    // As fast as opens may come: the first ones still wait.
    for (let i = 0; i < 500; i++) {
      await call(1_000 + i);
      await pair.run(10);
    }
    expect(refusals()).toBe(1_500 - streamsMax);
    expect(errors.at(-1)?.message).toMatch(/256 calls wait for the open/);
    expect(pair.parent.size).toBe(0);
    await pair.run(6_000);
    expect(errors.filter((error) => error === undefined).length).toBe(streamsMax);
  });

  it('are refused when they come too fast, even if each is ended at once, and so is a call with an open', async () => {
    for (let i = 0; i < streamsMax; i++) {
      const one = await call(i);
      if (i % 2 === 0) one.close('enough');
    }
    await pair.run(5);
    const asked = pair.open('child');
    await pair.run(5);
    expect(asked.reset).toMatchObject({ code: 'TooMany', message: expect.stringMatching(/more than 100 streams/) });
    await pair.run(20);
    const next = pair.open('child');
    await pair.run(5);
    expect([next.closed, pair.offers.parent.length]).toEqual([false, 1]);
  });

  it('may carry their opens in another order than their ids, since each may have a connection of its own', async () => {
    const calls = [await call(0), await call(1), await call(2)];
    for (const i of [2, 0, 1]) calls[i]!.send(openFrame(2 * i + 1, request, 1_000));
    await pair.run(5);
    expect([pair.offers.parent.length, pair.parent.size, errors]).toEqual([3, 3, []]);
    // Each of them once.
    const again = await call(0);
    again.send(openFrame(1, request, 1_000));
    await pair.run(5);
    expect(pair.counts.parent.refusedBy.get('Protocol')).toBe(1);
    expect(pair.parent.size).toBe(2);
  });

  it('do not stay with a refused open, however many were answered before', async () => {
    const streams = Array.from({ length: streamsMax }, (_, i) => 2 * i + 1);
    for (let i = 0; i < 4; i++) pair.parent.receive({ frame: { $case: 'census', value: { streams } } });
    const one = await call(0);
    one.send(openFrame(1, { ...request, user: '' }, 1_000));
    one.send(openFrame(1, request, 1_000));
    await pair.run(5);
    expect([errors.length, pair.offers.parent.length]).toEqual([1, 0]);
    expect(pair.counts.parent.refusedBy.get('BadRequest')).toBe(1);
  });

  it('take nothing from a child that sends the opens of its calls at once', async () => {
    const logs = Array.from({ length: streamsMax }, () => pair.open('child'));
    await pair.run(5);
    expect([refusals(), pair.offers.parent.length]).toEqual([0, streamsMax]);
    expect(logs.some((log) => log.closed)).toBe(false);
  });
});

describe('an offer that is accepted too late', () => {
  it('reports the reason to the caller', async () => {
    const asked = pair.open('parent');
    const late = pair.open('parent', { deadlineMs: 20 });
    await pair.run(3);
    asked.stream.reset({ code: 'Cancelled', message: 'never mind', at: 'eu' });
    await pair.run(30);
    const taken = pair.offers.child.map((offer) => new StreamLog((handler) => offer.accept(handler)));
    await pair.run(3);
    expect(taken.map(({ reset }) => reset?.code)).toEqual(['Cancelled', 'DeadlineExceeded']);
    expect(late.reset?.code).toBe('DeadlineExceeded');
    expect([pair.parent.size, pair.child.size]).toEqual([0, 0]);
  });
});

describe('an end whose peer lies', () => {
  it.each<[string, (id: number) => Frame, string]>([
    [
      'sends more than it may',
      (stream) => ({ frame: { $case: 'data', value: { stream, data: Buffer.alloc(streamWindowBytes + 1) } } }),
      'FlowControl',
    ],
    ['speaks of another stream', () => ({ frame: { $case: 'fin', value: { stream: 99 } } }), 'Protocol'],
    ['sends a frame of the session', () => beat(1), 'Protocol'],
    [
      'gives credit without end',
      (stream) => ({ frame: { $case: 'credit', value: { stream, feed: 0, bytes: 2 ** 52 } } }),
      'FlowControl',
    ],
  ])('that %s resets the stream, and no other', async (_, frame, code) => {
    const bystander = await pair.joined('parent');
    const victim = pair.open('parent');
    await pair.run(5);
    const events = { onFrame() {}, onBytes() {}, onDrain() {}, onClose() {} };
    const call = await pair.links.child.openStream!(4, false, events);
    call.send({ frame: { $case: 'credit', value: { stream: 4, feed: 0, bytes: 10 } } });
    call.send(frame(4));
    await pair.run(5);
    expect(victim.reset).toMatchObject({ code, at: 'eu' });
    bystander.asked.stream.write(Buffer.from('still here'));
    await pair.run(5);
    expect(bystander.taken.text).toBe('still here');
    expect(pair.counts.parent.closedBy.get(code as 'Protocol')).toBe(1);
  });
});

describe('a side that is asked', () => {
  it.each<[string, Partial<Parameters<typeof openFrame>[1]> & { stream?: number; credit?: number }, string]>([
    ['a path that is none', { path: 'a::b' }, 'BadRequest'],
    ['a path that is too long', { path: 'a:'.repeat(600) }, 'BadRequest'],
    ['a kind that is no word', { kind: '../x' }, 'BadRequest'],
    ['no user', { user: '' }, 'BadRequest'],
    ['more groups than anybody has', { groups: Array.from({ length: 300 }, () => 'g') }, 'BadRequest'],
    ['a header of a megabyte', { header: Buffer.alloc(1024 * 1024) }, 'BadRequest'],
    ['no time', { deadlineMs: 0 }, 'BadRequest'],
    ['all time', { deadlineMs: Number.MAX_SAFE_INTEGER }, 'BadRequest'],
    ['no credit', { credit: 0 }, 'BadRequest'],
    ['more credit than there may be', { credit: 2 ** 40 }, 'BadRequest'],
    ['an id of the wrong side', { stream: 7 }, 'Protocol'],
    ['the id nought', { stream: 0 }, 'Protocol'],
  ])(
    'for a stream with %s names the error, and continues',
    async (_, { stream = 2, credit = 1_000, ...part }, code) => {
      pair.child.receive(openFrame(stream, { ...request, ...part }, credit));
      await pair.run(3);
      expect(pair.offers.child).toEqual([]);
      expect(pair.frames.at(-1)!.frame.frame).toMatchObject({
        $case: 'reset',
        value: { stream, code: resetCodes[code as 'Protocol'], at: 'eu:kid' },
      });
      // The parent's own stream 2 comes too late now.
      pair.open('parent');
      expect((await pair.joined('parent')).asked.events).toEqual(['accepted']);
    },
  );

  it('for the same id twice ends the stream that has it', async () => {
    pair.child.receive(openFrame(2, request, 1_000));
    const taken = new StreamLog((handler) => pair.offers.child[0]!.accept(handler));
    pair.child.receive(openFrame(2, request, 1_000));
    await pair.run(3);
    expect(taken.closed).toBe(true);
    expect(pair.offers.child.length).toBe(1);
    expect(pair.child.size).toBe(0);
  });

  it('a million times at once does little work, sends few answers, and serves the next request that comes in time', async () => {
    const many = 1_000_000;
    const frame = openFrame(2, request, 1_000);
    const open = frame.frame!.$case === 'open' ? frame.frame.value : undefined;
    for (let i = 1; i <= many; i++)
      pair.child.receive({ frame: { $case: 'open', value: { ...open!, stream: 2 * i } } });
    expect(pair.offers.child.length).toBe(streamsMax);
    expect(pair.child.size).toBe(streamsMax);
    expect(pair.kinds('child').length).toBeLessThan(1_000);
    expect(pair.counts.child.refusedBy.get('TooMany')).toBe(many - streamsMax);
    await pair.run(request.deadlineMs + 10);
    expect(pair.child.size).toBe(0);
    pair.child.receive({ frame: { $case: 'open', value: { ...open!, stream: 2 * many + 2 } } });
    expect(pair.offers.child.length).toBe(streamsMax + 1);
  });
});

describe('the census', () => {
  it('ends a stream that the other side does not know, at the second list and not at the first', async () => {
    const { asked, taken } = await pair.joined('parent');
    pair.deaf = true;
    const lost = pair.open('parent', { deadlineMs: 3_600_000 });
    await pair.run(3);
    pair.deaf = false;
    await pair.run(censusEveryMs + 5);
    expect(lost.closed).toBe(false);
    await pair.run(censusEveryMs);
    expect(lost.reset).toMatchObject({ code: 'Unknown', at: 'eu:kid' });
    expect([asked.closed, taken.closed]).toEqual([false, false]);
  });

  it('is not sent while there are no streams', async () => {
    const { asked, taken } = await pair.joined('parent');
    asked.stream.end();
    taken.stream.end();
    await pair.run(3 * censusEveryMs);
    expect([...pair.kinds('parent'), ...pair.kinds('child')]).not.toContain('census');
  });

  it('reads no more of a list than there can be streams', () => {
    const streams = Array.from({ length: 100_000 }, (_, i) => 2 * i + 2);
    const list: Frame = { frame: { $case: 'census', value: { streams } } };
    pair.child.receive(list);
    pair.child.receive(list);
    expect(pair.kinds('child').filter((kind) => kind === 'reset').length).toBe(streamsMax);
  });

  it('a thousand times at once gets no more answers than opens do, and full answers again at its time', async () => {
    const streams = Array.from({ length: streamsMax }, (_, i) => 2 * i + 2);
    const list: Frame = { frame: { $case: 'census', value: { streams } } };
    const resets = () => pair.kinds('child').filter((kind) => kind === 'reset').length;
    for (let i = 0; i < 1_000; i++) pair.child.receive(list);
    expect(resets()).toBe(2 * streamsMax);
    expect(pair.counts.child.refusedBy.get('Unknown')).toBe(999 * streamsMax);
    for (let round = 3; round < 6; round++) {
      await pair.run(censusEveryMs);
      pair.child.receive(list);
      expect(resets()).toBe(round * streamsMax);
    }
  });
});

describe('frames in any order', () => {
  it('end at most the streams that they concern', () => {
    const id = fc.constantFrom(0, 1, 2, 3, 4, 5, 6, 2 ** 53 - 1);
    const frame: fc.Arbitrary<Frame> = fc.oneof(
      fc
        .record({ stream: id, credit: fc.constantFrom(0, 1, 1_000, 2 ** 50), path: fc.constantFrom('eu:kid', '', ':') })
        .map(({ stream, credit, path }) => openFrame(stream, { ...request, path }, credit)),
      fc
        .record({ stream: id, code: fc.nat(300), message: fc.string(), at: fc.string(), sinceMs: fc.nat() })
        .map((value) => ({
          frame: { $case: 'reset' as const, value },
        })),
      fc.array(id).map((streams) => ({ frame: { $case: 'census' as const, value: { streams } } })),
    );
    fc.assert(
      fc.property(
        fc.array(frame, { maxLength: 80 }),
        fc.constantFrom('child' as const, 'parent' as const),
        (frames, side) => {
          for (const one of frames) {
            encodeFrame(one);
            pair[side].receive(one);
          }
          expect(pair[side].size).toBeLessThanOrEqual(streamsMax);
        },
      ),
      { seed: 3, numRuns: 500 },
    );
  });
});
