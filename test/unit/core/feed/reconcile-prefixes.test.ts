import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PrefixAnswer, ReconcileReply, ReconcileRequest, WireEntry } from '../../../../core/feed/feed.ts';
import { answer, Reconciliation } from '../../../../core/feed/reconcile.ts';
import { checkPrefixes, digitsMax, fingerprintBytes, seedBytes } from '../../../../core/feed/reconcile-prefixes.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import {
  reconcileRequestFromWire,
  replyFrame,
  replyFromWire,
  requestFrame,
} from '../../../../core/session/wire-frames.ts';
import { decodeFrame, encodeFrame } from '../../../../core/wire/codec/frames.ts';
import { ConsumerEnd, content, held, ProducerEnd } from './feed-support.ts';

const seed = Buffer.alloc(seedBytes, 9);
const begin = ({ store, feed }: ConsumerEnd, by = seed) => store.read((reader) => new Reconciliation(reader, feed, by));

/** A reply as it arrives over the wire, with its size there. */
function asked(request: ReconcileRequest): { request: ReconcileRequest; bytes: number } {
  const bytes = encodeFrame(requestFrame('down', request));
  const { frame } = decodeFrame(bytes);
  if (frame?.$case !== 'reconcileRequest') throw new Error('another frame');
  return { request: reconcileRequestFromWire(frame.value), bytes: bytes.length };
}

function answered(reply: ReconcileReply): { reply: ReconcileReply; bytes: number } {
  const bytes = encodeFrame(replyFrame('down', reply));
  const { frame } = decodeFrame(bytes);
  if (frame?.$case !== 'reconcileReply') throw new Error('another frame');
  return { reply: replyFromWire(frame.value), bytes: bytes.length };
}

function rowsOf(end: ProducerEnd | ConsumerEnd, rows: ReadonlyMap<number, number>): void {
  const entries = Array.from(
    rows,
    ([key, value]): WireEntry => ({
      keyHash: hash128(`k${key}`),
      revision: 0,
      originRevision: 0,
      content: content(`k${key}`, String(value)),
    }),
  );
  if (end instanceof ConsumerEnd) end.store.write((t) => end.feed.applyEntries(t, entries));
  else end.store.write((t) => entries.map((entry) => end.feed.put(t, entry.content!, 0)));
}

/** Over the wire; counts the bytes of all frames without the entries. */
function reconcile(producer: ProducerEnd, consumer: ConsumerEnd) {
  const reconciliation = begin(consumer);
  let bytes = 0;
  const replies: ReconcileReply[] = [];
  for (let next = reconciliation.next(); next; next = reconciliation.next()) {
    const { request, bytes: up } = asked(next);
    const whole = producer.store.read((reader) =>
      answer(reader, producer.feed, request, producer.feed.head(reader), { maxBytes: 256 * 1024 }),
    );
    const { reply } = answered(whole);
    bytes += up + answered({ ...whole, entries: [] }).bytes;
    replies.push(reply);
    consumer.store.write((t) => reconciliation.absorb(t, reply));
  }
  consumer.store.write((t) => reconciliation.finish(t));
  return { bytes, replies, entries: replies.reduce((sum, { entries }) => sum + entries.length, 0) };
}

const ends = (ours: ReadonlyMap<number, number>, theirs: ReadonlyMap<number, number>) => {
  const [producer, consumer] = [new ProducerEnd(), new ConsumerEnd()];
  rowsOf(producer, ours);
  rowsOf(consumer, theirs);
  return { producer, consumer };
};

const numbered = (count: number, value = 0) => new Map(Array.from({ length: count }, (_, i) => [i, value]));

describe('a reconciliation by prefixes', () => {
  it('finds one different row of a thousand with less than 700 bytes', () => {
    const { producer, consumer } = ends(numbered(1_000), new Map([...numbered(1_000), [7, 1]]));
    const { bytes, entries } = reconcile(producer, consumer);
    expect(held(consumer)).toEqual(held(producer));
    expect(entries).toBe(1);
    expect(bytes).toBeLessThan(700);
  });

  it('makes any two sets of rows equal, with bytes proportional to the difference and the logarithm of the rows', () => {
    const rows = fc
      .array(fc.tuple(fc.nat(600), fc.nat(2)), { maxLength: 60 })
      .map((list): ReadonlyMap<number, number> => new Map(list));
    fc.assert(
      fc.property(fc.nat(300), rows, rows, (common, one, other) => {
        const [ours, theirs] = [new Map([...numbered(common), ...one]), new Map([...numbered(common), ...other])];
        const { producer, consumer } = ends(ours, theirs);
        const { bytes, entries } = reconcile(producer, consumer);
        expect(held(consumer)).toEqual(held(producer));
        const keys = new Set([...ours.keys(), ...theirs.keys()]);
        const differ = [...keys].filter((key) => ours.get(key) !== theirs.get(key));
        expect(entries).toBe(differ.filter((key) => ours.has(key)).length);
        // Each difference has a split at each depth that its neighbours need, and a short list below it, or is in a list of a prefix where the consumer has
        // no row.
        const depth = Math.log(Math.max(2, keys.size)) / Math.log(16) + 1;
        expect(bytes).toBeLessThanOrEqual(160 + differ.length * 240 * depth);
      }),
      { numRuns: 25 },
    );
  });

  it('of an empty consumer lists rows without splitting to the last row', () => {
    const { producer, consumer } = ends(numbered(600), new Map());
    const { replies, bytes } = reconcile(producer, consumer);
    expect(held(consumer)).toEqual(held(producer));
    const kinds = replies.flatMap(({ answers }) => answers.map(({ kind }) => kind));
    expect(kinds.filter((kind) => kind === 'split')).toHaveLength(1);
    expect(bytes).toBeLessThan(600 * 60);
  });

  it('names the producer’s epoch only in the first reply, and continues with the feed', () => {
    const { producer, consumer } = ends(numbered(100, 1), numbered(100));
    const { replies } = reconcile(producer, consumer);
    expect(replies.length).toBeGreaterThan(2);
    expect(replies.map(({ epoch, incarnation }) => epoch + incarnation)).toEqual([
      producer.feed.epoch + producer.feed.incarnation,
      ...replies.slice(1).map(() => ''),
    ]);
    expect(consumer.tuple).toMatchObject({ epoch: producer.feed.epoch, cursor: producer.head });
  });

  it('has other fingerprints with another seed: nobody can make rows that pass as others', () => {
    const { consumer } = ends(new Map(), numbered(3));
    const first = [seed, Buffer.alloc(seedBytes, 8)].map((by) => begin(consumer, by).next()!.prefixes[0]!);
    expect(first[0]!.fingerprint).toHaveLength(fingerprintBytes);
    expect(first[0]!.fingerprint).not.toEqual(first[1]!.fingerprint);
  });

  it('asks for wanted keys before further prefixes, so that few keys wait', () => {
    const { producer, consumer } = ends(numbered(2_000, 1), numbered(2_000));
    const reconciliation = begin(consumer);
    for (let request = reconciliation.next(); request; request = reconciliation.next()) {
      expect(request.wanted.length === 256 && request.prefixes.length > 0).toBe(false);
      const reply = producer.store.read((reader) =>
        answer(reader, producer.feed, request!, producer.head, { maxBytes: 256 * 1024 }),
      );
      consumer.store.write((t) => reconciliation.absorb(t, reply));
    }
    consumer.store.write((t) => reconciliation.finish(t));
    expect(held(consumer)).toEqual(held(producer));
  });
});

describe('a producer that answers prefixes wrongly', () => {
  const honest: ReconcileReply = {
    round: 1,
    answers: [{ kind: 'same' }],
    entries: [],
    head: 5,
    epoch: 'e'.repeat(32),
    incarnation: 'f'.repeat(32),
  };
  const item = { keyHash: Buffer.alloc(16, 0xab), fingerprint: Buffer.alloc(8), originRevision: 0 };
  const unwanted: WireEntry = { keyHash: hash128('x'), revision: 1, originRevision: 0, content: content('x', '1') };
  const everything: PrefixAnswer = { kind: 'split', parts: Array.from({ length: 16 }, () => Buffer.alloc(8, 1)) };

  function started() {
    const { consumer } = ends(new Map(), numbered(1));
    const reconciliation = begin(consumer);
    reconciliation.next();
    return {
      consumer,
      reconciliation,
      take: (reply: ReconcileReply) => consumer.store.write((t) => reconciliation.absorb(t, reply)),
    };
  }

  it.each<[string, Partial<ReconcileReply>, string]>([
    ['answers another round', { round: 9 }, 'to round 9, asked was 1'],
    ['gives no answer', { answers: [] }, 'with 0 answers to 1 prefixes'],
    ['gives two', { answers: [{ kind: 'same' }, { kind: 'same' }] }, 'with 2 answers to 1 prefixes'],
    ['leaves out a part', { answers: [{ kind: 'split', parts: [Buffer.alloc(8)] }] }, 'not about the prefix'],
    ['sends what nobody wanted', { entries: [unwanted] }, 'that was not wanted'],
    ['does not say who it is', { epoch: '', incarnation: '' }, 'without an epoch'],
  ])('and %s is refused', (_what, falseFields, message) => {
    const { consumer, take } = started();
    expect(() => take({ ...honest, ...falseFields })).toThrow(message);
    expect(held(consumer)).toEqual({ k0: '0' });
  });

  it('and lists rows that it never sends is refused after one more request', () => {
    const { reconciliation, take } = started();
    take({ ...honest, answers: [{ kind: 'list', items: [item] }] });
    const { round, wanted } = reconciliation.next()!;
    expect(wanted).toEqual([item.keyHash]);
    expect(() => take({ ...honest, round, answers: [] })).toThrow('none of 1 entries');
  });

  it('and lists rows of another prefix is refused', () => {
    const { reconciliation, take } = started();
    take({ ...honest, answers: [everything] });
    const { round, prefixes } = reconciliation.next()!;
    const list: PrefixAnswer = { kind: 'list', items: [item] };
    const answers = prefixes.map(({ prefix }) => (prefix[0] === 3 ? list : { kind: 'same' as const }));
    expect(() => take({ ...honest, round, answers })).toThrow('not about the prefix');
  });

  it('and always reports a difference is abandoned', () => {
    const { reconciliation, take } = started();
    let rounds = 0;
    const reconcileFalsely = () => {
      take({ ...honest, answers: [everything] });
      for (let request = reconciliation.next(); request; request = reconciliation.next()) {
        take({ ...honest, round: request.round, answers: request.prefixes.map(() => everything) });
        if (++rounds > 100) throw new Error('it goes on');
      }
    };
    expect(reconcileFalsely).toThrow('prefixes left; at most 65536');
  });

  it('and splits beyond the last digit is refused', () => {
    const { reconciliation, take } = started();
    const one: PrefixAnswer = {
      kind: 'split',
      parts: Array.from({ length: 16 }, (_, i) => Buffer.alloc(8, i === 0 ? 1 : 0)),
    };
    // At the consumer's own row, the rows differ too.
    const narrow = () => {
      take({ ...honest, answers: [one] });
      for (let request = reconciliation.next(); request; request = reconciliation.next()) {
        const answers = request.prefixes.map(({ prefix }) =>
          prefix.every((digit) => digit === 0) ? one : { kind: 'same' as const },
        );
        take({ ...honest, round: request.round, answers });
        expect(request.round).toBeLessThanOrEqual(digitsMax + 1);
      }
    };
    expect(narrow).toThrow('not about the prefix');
  });
});

describe('a consumer that asks for prefixes', () => {
  const prefixes = (...list: string[]) =>
    list.map((one) => ({ prefix: Buffer.from([...one].map((digit) => Number.parseInt(digit, 16))) }));

  it('is refused if they overlap: all of them together are one scan', () => {
    expect(() => checkPrefixes(prefixes('12', '1', '3'))).toThrow('overlap at 12');
    expect(() => checkPrefixes(prefixes('', 'a'))).toThrow('overlap');
    expect(() => checkPrefixes(prefixes('f', 'f'))).toThrow('overlap');
  });

  it('is answered if they are adjacent', () => {
    expect(() => checkPrefixes(prefixes('13', '2', '12', '1ff', '0'))).not.toThrow();
  });

  it.each<[string, Partial<ReconcileRequest>, string]>([
    ['without a seed', { seed: Buffer.alloc(0) }, 'a seed of 0 bytes, expected 8'],
    [
      'for a digit that there is not',
      { prefixes: [{ prefix: Buffer.of(16), fingerprint: Buffer.alloc(8) }] },
      'below 16',
    ],
    [
      'for more digits than a hash has',
      { prefixes: [{ prefix: Buffer.alloc(33), fingerprint: Buffer.alloc(8) }] },
      'at most 32',
    ],
    [
      'with half a fingerprint',
      { prefixes: [{ prefix: Buffer.alloc(1), fingerprint: Buffer.alloc(4) }] },
      'expected 8 or none',
    ],
  ])('%s is refused', (_what, change, message) => {
    const prefixes = [{ prefix: Buffer.alloc(0), fingerprint: Buffer.alloc(8) }];
    expect(() => asked({ round: 1, seed, prefixes, wanted: [], ...change })).toThrow(message);
  });
});
