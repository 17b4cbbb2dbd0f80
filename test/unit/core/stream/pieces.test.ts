/** The small parts of streams, each alone. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteQueue } from '../../../../core/stream/byte-queue.ts';
import { noSuspects, takeCensus } from '../../../../core/stream/census.ts';
import { nextHop } from '../../../../core/stream/route.ts';
import { errorOfReset, resetCodes, streamWindowBytes } from '../../../../core/stream/stream.ts';
import { resetFrame, resetFromWire } from '../../../../core/stream/stream-frames.ts';

describe('a queue of bytes', () => {
  it('returns its contents in order, in pieces of any size', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 30 });
    fc.assert(
      fc.property(sizes, sizes, (put, take) => {
        const queue = new ByteQueue();
        const all = Buffer.concat(put.map((size, i) => Buffer.alloc(size, i + 1)));
        let from = 0;
        for (const [i, size] of put.entries()) queue.put(Buffer.alloc(size, i + 1));
        for (const size of take) {
          const bytes = Math.min(size, all.length - from);
          expect(queue.take(bytes).equals(all.subarray(from, from + bytes))).toBe(true);
          from += bytes;
        }
      }),
      { seed: 1, numRuns: 300 },
    );
  });

  it('returns them in order, whatever is copied, passed through, removed in between or cleared', () => {
    const size = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 3_000, max: 9_000 }));
    const step = fc.record({ put: size, shared: fc.boolean(), take: fc.nat(8_000), all: fc.boolean() });
    const numbered = Buffer.from(Array.from({ length: 40 * 9_000 }, (_, i) => i % 251));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const queue = new ByteQueue();
        let [written, taken] = [0, 0];
        for (const { put, shared, take, all } of steps) {
          const memory = new Uint8Array(shared ? 10 * put : put);
          const chunk = memory.subarray(0, put);
          chunk.set(numbered.subarray(written, written + put));
          written += put;
          queue.put(chunk);
          const out = all ? queue.takeSome()! : queue.take(Math.min(take, written - taken));
          expect(out.equals(numbered.subarray(taken, taken + out.length))).toBe(true);
          taken += out.length;
          expect(queue.isEmpty).toBe(written === taken);
        }
        queue.clear();
        expect([queue.isEmpty, queue.takeSome()]).toEqual([true, undefined]);
        queue.put(Buffer.from('anew'));
        expect(queue.take(4).toString()).toBe('anew');
      }),
      { seed: 1, numRuns: 200 },
    );
  });

  it.each([
    ['of a byte each', 1, 1],
    ['of a kilobyte each', 1_024, 1_024],
    ['that are the small part of a frame', 8_192, 2 ** 20],
    ['that are all of a frame but some bytes', 32 * 1024, 32 * 1024 + 12],
  ])('keeps little more than the window, of chunks %s', (_what, bytes, frameBytes) => {
    const queue = new ByteQueue();
    for (let i = 0; i < streamWindowBytes / bytes; i++)
      queue.put(new Uint8Array(frameBytes).subarray(frameBytes - bytes));
    const kept = keptOf(queue);
    expect(kept.bytes).toBe(streamWindowBytes);
    expect(kept.pieces).toBeLessThanOrEqual(streamWindowBytes / 4096);
    expect(kept.memoryBytes).toBeLessThanOrEqual(1.5 * streamWindowBytes);
  });

  it('passes large chunks through without a copy', () => {
    const queue = new ByteQueue();
    const large = new Uint8Array(32 * 1024);
    queue.put(large);
    expect(queue.take(large.length).buffer).toBe(large.buffer);
  });
});

/** Takes all bytes out. `memoryBytes`: the memory that the pieces keep alive. */
function keptOf(queue: ByteQueue): { pieces: number; bytes: number; memoryBytes: number } {
  const memory = new Set<ArrayBufferLike>();
  let [pieces, bytes] = [0, 0];
  for (let piece = queue.takeSome(); piece; piece = queue.takeSome()) {
    pieces++;
    bytes += piece.length;
    memory.add(piece.buffer);
  }
  return { pieces, bytes, memoryBytes: [...memory].reduce((sum, { byteLength }) => sum + byteLength, 0) };
}

describe('the next hop', () => {
  it.each([
    ['', '', 'here', undefined, { to: 'here' }],
    ['a:b', 'a:b', 'above', undefined, { to: 'here' }],
    ['', 'a', 'here', undefined, { to: 'child', name: 'a' }],
    ['', 'a:b:c', 'here', undefined, { to: 'child', name: 'a', below: 'b' }],
    ['a', 'a:b:c', 'above', undefined, { to: 'child', name: 'b', below: 'c' }],
    ['a', 'ab:c', 'here', undefined, { to: 'parent' }],
    ['a', 'b', 'below', 'x', { to: 'parent' }],
    ['a', '', 'below', 'x', { to: 'parent' }],
    ['a', 'a:y:z', 'below', 'x', { to: 'child', name: 'y', below: 'z' }],
    ['a', 'b', 'above', undefined, { to: 'nowhere', why: 'b is not below this node' }],
    ['', 'x:y', 'below', 'x', { to: 'nowhere', why: 'x:y lies below x, which asks for it here' }],
  ] as const)('from %j to %j, asked from %s (%s), is %j', (own, target, origin, from, hop) => {
    expect(nextHop(own, target, origin, from)).toEqual(hop);
  });
});

describe('a census', () => {
  it('finds ids that are unknown twice in a row, and forgets ids that were known in between', () => {
    const known = new Set([2]);
    const list = [2, 4, 6];
    const first = takeCensus(noSuspects, list, (id) => known.has(id), 10);
    expect(first.unknown).toEqual([]);
    known.add(4);
    const second = takeCensus(first.state, list, (id) => known.has(id), 10);
    expect(second.unknown).toEqual([6]);
    known.delete(4);
    const third = takeCensus(second.state, list, (id) => known.has(id), 10);
    expect(third.unknown).toEqual([6]);
    expect(takeCensus(third.state, list, (id) => known.has(id), 10).unknown).toEqual([4, 6]);
  });
});

describe('a reset', () => {
  it('arrives with its code, message, node and time, as far as they are valid', () => {
    const reset = { code: 'Disconnected', message: 'gone', at: 'a:b', sinceMs: 5_000 } as const;
    const { frame } = resetFrame(4, reset);
    expect(frame).toMatchObject({ $case: 'reset', value: { stream: 4, code: resetCodes.Disconnected } });
    expect(frame?.$case === 'reset' && resetFromWire(frame.value)).toEqual(reset);
    const odd = resetFromWire({
      stream: 4,
      code: 4_000,
      message: 'x'.repeat(9_999),
      at: 'y'.repeat(9_999),
      sinceMs: 0,
    });
    expect([odd.code, odd.message.length, odd.at.length, odd.sinceMs]).toEqual(['Internal', 1024, 1024, undefined]);
  });

  it('is reported to a client with the node that found the reason', () => {
    const error = errorOfReset({
      code: 'Disconnected',
      message: 'the child a:b is not connected',
      at: '',
      sinceMs: 61_000,
    });
    expect([error.code, error.message]).toEqual([
      'Unavailable',
      'center: the child a:b is not connected, for 61 s (Disconnected)',
    ]);
  });
});
