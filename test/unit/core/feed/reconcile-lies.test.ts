import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RangeAnswer, ReconcileReply, ReconcileRequest } from '../../../../core/feed/feed.ts';
import { answer, Reconciliation } from '../../../../core/feed/reconcile.ts';
import { checkRanges } from '../../../../core/feed/reconcile-ranges.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { ConsumerEnd, content, held, ProducerEnd, sync } from './feed-support.ts';

/** A producer with many rows, and a consumer that has none of its contents right. */
function asked(): {
  consumer: ConsumerEnd;
  reconciliation: Reconciliation;
  request: ReconcileRequest;
  honest: ReconcileReply;
} {
  const producer = new ProducerEnd();
  producer.store.write((t) => {
    for (let i = 0; i < 100; i++) producer.feed.put(t, content(`k${i}`, 'right'), 0);
  });
  const consumer = new ConsumerEnd();
  const other = new ProducerEnd();
  other.store.write((t) => other.feed.put(t, content('k1', 'wrong'), 0));
  sync(other, consumer);
  const reconciliation = consumer.store.read((reader) => new Reconciliation(reader, consumer.feed));
  const request = reconciliation.next()!;
  const honest = producer.store.read((reader) =>
    answer(reader, producer.feed, request, producer.feed.head(reader), { maxBytes: 1000 }),
  );
  return { consumer, reconciliation, request, honest };
}

const splitOf = ({ answers: [one] }: ReconcileReply) => {
  if (one?.kind !== 'split') throw new Error('a hundred rows are listed');
  return one.parts;
};
const low = Buffer.alloc(16);
const high = Buffer.concat([Buffer.alloc(16, 0xff), Buffer.of(0)]);
const item = { contentHash: Buffer.alloc(16), originRevision: 0 };

describe('a producer that does not answer what was asked', () => {
  const lies: [string, (honest: ReconcileReply) => Partial<ReconcileReply>, string][] = [
    ['answers another round', () => ({ round: 9 }), 'to round 9, asked was 1'],
    ['gives no answer', () => ({ answers: [] }), 'with 0 answers to 1 ranges'],
    ['gives two', ({ answers }) => ({ answers: [...answers, ...answers] }), 'with 2 answers to 1 ranges'],
    [
      'leaves out a part',
      (honest) => ({ answers: [{ kind: 'split', parts: splitOf(honest).slice(1) }] }),
      'not about the range',
    ],
    [
      'cuts a range into itself',
      () => ({ answers: [{ kind: 'split', parts: [{ from: low, to: high, count: 1, fingerprint: low }] }] }),
      'not about the range',
    ],
    [
      'cuts elsewhere',
      (honest) => ({ answers: [{ kind: 'split', parts: splitOf(honest).map((part) => ({ ...part, to: high })) }] }),
      'not about the range',
    ],
    [
      'lists another range',
      () => ({ answers: [{ kind: 'list', from: Buffer.alloc(16, 1), to: high, items: [] }] }),
      'not about the range',
    ],
    [
      'says that another range is the same',
      () => ({
        answers: [{ kind: 'same', range: { from: low, to: Buffer.alloc(16, 1), count: 0, fingerprint: low } }],
      }),
      'not about the range',
    ],
    [
      'sends what nobody wanted',
      () => ({ entries: [{ keyHash: hash128('x'), revision: 1, originRevision: 0, content: content('x', '1') }] }),
      'that was not wanted',
    ],
  ];
  it.each(lies)('and %s is refused, and changes nothing', (_what, lie, words) => {
    const { consumer, reconciliation, honest } = asked();
    const reply = { ...honest, ...lie(honest) };
    expect(() => consumer.store.write((t) => reconciliation.absorb(t, reply))).toThrow(words);
    expect(held(consumer)).toEqual({ k1: 'wrong' });
  });

  it('and lists rows that it never sends is asked once more and then refused', () => {
    const { consumer, reconciliation, honest } = asked();
    const list: RangeAnswer = { kind: 'list', from: low, to: high, items: [{ keyHash: hash128('z'), ...item }] };
    consumer.store.write((t) => reconciliation.absorb(t, { ...honest, answers: [list] }));
    const { round, wanted } = reconciliation.next()!;
    expect(wanted).toEqual([hash128('z')]);
    const nothing = { ...honest, round, answers: [] };
    expect(() => consumer.store.write((t) => reconciliation.absorb(t, nothing))).toThrow('none of 1 entries');
  });

  it('can be asked for 32 rounds of ranges at most, however it answers', () => {
    const { consumer, reconciliation, honest } = asked();
    let reply: ReconcileReply = { ...honest, answers: [honest.answers[0]!] };
    let rounds = 0;
    // It says of the first part alone that it differs, in ever narrower ranges.
    const next = () => {
      consumer.store.write((t) => reconciliation.absorb(t, reply));
      rounds++;
      return reconciliation.next();
    };
    for (let request = next(); request; request = next()) {
      const answers = request.ranges.map((range, i): RangeAnswer => {
        const parts = i === 0 ? narrower(range.from, range.to) : [];
        if (parts.length < 2) return { kind: 'same', range };
        const claim = (at: number) => (at === 0 ? { count: 9, fingerprint: Buffer.alloc(16, 9) } : empty);
        return { kind: 'split', parts: parts.map(([from, to], at) => ({ from, to, ...claim(at) })) };
      });
      reply = { ...honest, round: request.round, answers, entries: [] };
      expect(rounds).toBeLessThan(40);
    }
    expect(rounds).toBeLessThanOrEqual(33);
  });
});

const empty = { count: 0, fingerprint: Buffer.alloc(16) };

function narrower(from: Uint8Array, to: Uint8Array): [Uint8Array, Uint8Array][] {
  const value = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  const [start, end] = [value(from), to.length > 16 ? 1n << 128n : value(to)];
  const bytes = (at: bigint) => Buffer.from(at.toString(16).padStart(32, '0'), 'hex');
  const bounds = Array.from({ length: 17 }, (_, i) =>
    i === 0 ? from : i === 16 ? to : bytes(start + ((end - start) * BigInt(i)) / 16n),
  );
  const cuts = bounds.slice(0, 16).map((bound, i): [Uint8Array, Uint8Array] => [bound, bounds[i + 1]!]);
  return cuts.filter(([a, b]) => Buffer.compare(a, b) < 0);
}

describe('a consumer that asks', () => {
  const range = (from: number, to: number) => ({ from: Buffer.alloc(16, from), to: Buffer.alloc(16, to) });

  it('for ranges that overlap is refused: all of them together are one scan', () => {
    expect(() => checkRanges([range(0, 5), range(4, 9)])).toThrow('overlap');
    expect(() => checkRanges(Array.from({ length: 256 }, () => ({ from: low, to: high })))).toThrow('overlap');
  });

  it('for ranges one beside the other, in any order, is answered', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(255), { minLength: 2 }), fc.nat(), (bounds, turn) => {
        const sorted = [...bounds].sort((a, b) => a - b);
        const ranges = sorted.slice(1).map((bound, i) => range(sorted[i]!, bound));
        const at = turn % ranges.length;
        expect(() => checkRanges([...ranges.slice(at), ...ranges.slice(0, at)])).not.toThrow();
      }),
    );
  });
});
