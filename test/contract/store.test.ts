/** The promises of core/store/store.ts, on every implementation. */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { asText, text } from '../../core/store/bytes.ts';
import { countIn, type KeyRange, type Reader, type Store, type Transaction } from '../../core/store/store.ts';
import { Topic } from '../../core/store/topics.ts';
import { announced } from '../support/schedule-steps.ts';
import { stores, type TestStore } from './support/stores.ts';

const everything: KeyRange = { from: Buffer.alloc(0), to: Buffer.alloc(8, 0xff) };

describe.each(stores)('$name', ({ open }) => {
  let opened: TestStore;
  let store: Store;

  beforeEach(() => {
    opened = open();
    store = opened.store;
  });
  afterEach(() => opened[Symbol.asyncDispose]());

  const put = (key: string, value: string) => store.write((t) => t.put(text(key), text(value)));
  const get = (key: string) => store.read((reader) => textOr(reader.get(text(key))));
  const keys = (reader: Reader, range: KeyRange = everything) => [...reader.scan(range)].map(([key]) => asText(key));

  describe('write', () => {
    it('is visible to every later read', () => {
      put('a', '1');
      expect(get('a')).toBe('1');
      put('a', '2');
      expect(get('a')).toBe('2');
      expect(store.write((t) => t.remove(text('a')))).toBe(true);
      expect(get('a')).toBeUndefined();
    });

    it('is read back as it was put, whatever its size and whatever is read or written afterwards', () => {
      const sizes = [0, 1, 22, 63, 64, 65, 1_000, 4_096, 40_000, 300_000, 3, 70_000];
      const value = (size: number, i: number) => Buffer.alloc(size, i + 1);
      store.write((t) => {
        for (const [i, size] of sizes.entries()) t.put(text(`k${i}`), value(size, i));
      });
      const all = (reader: Reader) => sizes.map((_, i) => reader.get(text(`k${i}`))!);
      const inside = store.write((t) => {
        const found = all(t);
        t.put(text('k0'), Buffer.alloc(400_000, 9));
        return found;
      });
      const behind = store.read((reader) => all(reader)).slice(1);
      put('k1', 'another');
      for (const found of [inside, [inside[0]!, ...behind]])
        expect(found.map((bytes, i) => Buffer.compare(bytes, value(sizes[i]!, i)))).toEqual(sizes.map(() => 0));
    });

    it('counts: a counter has its value after each change, is absent at 0, and is restored when the function throws', () => {
      const read = () => store.read((reader) => countIn(reader.get(text('n'))));
      expect(store.write((t) => [t.count(text('n'), 1), t.count(text('m'), 5), t.count(text('n'), 2)])).toEqual([
        1, 5, 3,
      ]);
      expect(read()).toBe(3);
      expect(() =>
        store.write((t) => {
          t.count(text('n'), 4);
          throw new Error('changed my mind');
        }),
      ).toThrow('changed my mind');
      expect(store.write((t) => [t.count(text('n'), 0), t.count(text('n'), -1), t.count(text('n'), 1)])).toEqual([
        3, 2, 3,
      ]);
      store.write((t) => t.put(text('other'), text('1')));
      expect(() =>
        store.write((t) => {
          t.put(text('other'), text('2'));
          t.count(text('n'), -3);
          throw new Error('again');
        }),
      ).toThrow('again');
      expect([read(), get('other')]).toEqual([3, '1']);
      store.write((t) => {
        t.count(text('n'), -3);
        t.count(text('never'), 1);
        t.count(text('never'), -1);
      });
      expect(store.read((reader) => keys(reader))).toEqual(['m', 'other']);
    });

    it('returns what its function returns', () => {
      expect(store.write(() => 7)).toBe(7);
    });

    it('leaves nothing behind when its function throws, and passes the error on', () => {
      put('a', '1');
      put('b', '1');
      const error = new Error('changed my mind');
      expect(() =>
        store.write((t) => {
          t.put(text('a'), text('2'));
          t.put(text('a'), text('3'));
          t.remove(text('b'));
          t.remove(text('b'));
          t.put(text('b'), text('4'));
          t.put(text('c'), text('5'));
          throw error;
        }),
      ).toThrow(error);
      expect(store.read((reader) => [...reader.scan(everything)].map(([k, v]) => [asText(k), asText(v)]))).toEqual([
        ['a', '1'],
        ['b', '1'],
      ]);
    });

    it('keeps the other writes of the same turn when one of them throws', async () => {
      put('a', '1');
      expect(() => store.write((t) => fail(t, 'a'))).toThrow();
      put('b', '2');
      await store.flushed();
      expect([get('a'), get('b')]).toEqual(['1', '2']);
    });

    it('leaves nothing behind when the first write of a turn throws, and executes the writes after it', async () => {
      put('a', '1');
      await store.flushed();
      expect(() => store.write((t) => fail(t, 'a'))).toThrow();
      expect(get('a')).toBe('1');
      put('b', '2');
      expect(() => store.write((t) => fail(t, 'b'))).toThrow();
      await store.flushed();
      expect([get('a'), get('b')]).toEqual(['1', '2']);
    });

    it('sees its own writes, in gets and in scans', () => {
      put('b', '1');
      store.write((t) => {
        t.put(text('a'), text('1'));
        t.put(text('c'), text('1'));
        t.remove(text('b'));
        expect(textOr(t.get(text('a')))).toBe('1');
        expect(t.get(text('b'))).toBeUndefined();
        expect(keys(t)).toEqual(['a', 'c']);
        expect(store.read((reader) => keys(reader))).toEqual(['a', 'c']);
      });
    });

    it('reports whether a removed key existed', () => {
      put('a', '');
      expect(store.write((t) => [t.remove(text('a')), t.remove(text('a'))])).toEqual([true, false]);
    });

    it('may remove keys during a scan', () => {
      store.write((t) => {
        for (let i = 0; i < 1_000; i++) t.put(text(`k${i}`), text('v'));
      });
      const seen = store.write((t) => {
        let count = 0;
        for (const [key] of t.scan(everything)) {
          t.remove(key);
          count++;
        }
        return count;
      });
      expect(seen).toBe(1_000);
      expect(store.read((reader) => keys(reader))).toEqual([]);
    });

    it('is refused inside another transaction, without harm to that transaction', () => {
      store.write((t) => {
        t.put(text('a'), text('1'));
        expect(() => store.write(() => undefined)).toThrow('a write inside another transaction');
      });
      store.read(() => expect(() => store.write(() => undefined)).toThrow('a write inside another transaction'));
      expect(get('a')).toBe('1');
    });

    it('refuses a function that is not finished when it returns', () => {
      expect(() => store.write(async (t) => t.put(text('a'), text('1')))).toThrow('cannot be async');
      expect(get('a')).toBeUndefined();
    });
  });

  describe('afterCommit', () => {
    it('is called after the commit, in order, before write returns', () => {
      const order: string[] = [];
      store.write((t) => {
        t.afterCommit(() => order.push(`first ${get('a')}`));
        t.put(text('a'), text('1'));
        t.afterCommit(() => order.push('second'));
        expect(order).toEqual([]);
      });
      expect(order).toEqual(['first 1', 'second']);
    });

    it('is not called when the transaction fails', () => {
      const order: string[] = [];
      expect(() =>
        store.write((t) => {
          t.afterCommit(() => order.push('called'));
          throw new Error('undo');
        }),
      ).toThrow('undo');
      put('a', '1');
      expect(order).toEqual([]);
    });

    it('may write, and an error that it throws does not undo the transaction', () => {
      expect(() =>
        store.write((t) => {
          t.put(text('a'), text('1'));
          t.afterCommit(() => put('b', '1'));
          t.afterCommit(() => {
            throw new Error('late');
          });
        }),
      ).toThrow('late');
      expect([get('a'), get('b')]).toEqual(['1', '1']);
    });
  });

  describe('announcements', () => {
    const topic = new Topic<string>('things');
    const other = new Topic<number>('numbers');

    it('reach each subscriber once a commit, with each key once, behind the callbacks and in the order of the subscriptions', () => {
      const order: string[] = [];
      store.subscribe(other, (keys) => order.push(`numbers ${[...keys].join()}`));
      store.subscribe(topic, (keys) => order.push(`things ${[...keys].join()} ${get('a')}`));
      store.write((t) => {
        for (const key of ['x', 'y', 'x']) t.announce(topic, key);
        t.announce(other, 1);
        t.put(text('a'), text('1'));
        t.afterCommit(() => order.push('callback'));
        expect(order).toEqual([]);
      });
      expect(order).toEqual(['callback', 'numbers 1', 'things x,y 1']);
    });

    it('of a transaction that did not happen reach nobody, then or later', () => {
      const announcedKeys = announced(store, topic);
      const failing = () =>
        store.write((t) => {
          t.announce(topic, 'x');
          throw new Error('undo');
        });
      expect(failing).toThrow('undo');
      put('a', '1');
      expect(announcedKeys()).toEqual([]);
    });

    it('of a subscriber, and of its writes, come in the next round, before write returns', () => {
      const order: string[] = [];
      store.subscribe(topic, (keys) => {
        if (keys.has('x')) store.write((t) => t.announce(topic, 'y'));
        store.announce(other, [keys.size]);
        order.push(`first ${[...keys].join()}`);
      });
      store.subscribe(topic, (keys) => order.push(`second ${[...keys].join()}`));
      store.subscribe(other, (keys) => order.push(`numbers ${[...keys].join()}`));
      store.write((t) => t.announce(topic, 'x'));
      expect(order).toEqual(['first x', 'second x', 'first y', 'second y', 'numbers 1', 'numbers 1']);
    });

    it('reach the other subscribers where a callback or a subscriber throws, and the first error comes out', () => {
      const announcedKeys = announced(store, topic);
      const stop = store.subscribe(other, () => {
        throw new Error('the disk is full');
      });
      const late = announced(store, other);
      const write = (fails: boolean) => () =>
        store.write((t) => {
          t.put(text('a'), text('1'));
          t.announce(other, 7);
          t.announce(topic, 'x');
          t.afterCommit(() => {
            if (fails) throw new Error('a callback');
          });
        });
      expect(write(false)).toThrow('the disk is full');
      expect([get('a'), announcedKeys(), late()]).toEqual(['1', ['x'], [7]]);
      stop();
      expect(write(true)).toThrow('a callback');
      expect([announcedKeys(), late()]).toEqual([['x'], [7]]);
    });

    it('of state that is not in the store are delivered at once, and to nobody whose subscription has ended', () => {
      const order: string[] = [];
      const stop = store.subscribe(topic, (keys) => order.push([...keys].join()));
      store.announce(topic, []);
      store.announce(topic, ['x', 'y']);
      stop();
      store.announce(topic, ['z']);
      expect(order).toEqual(['x,y']);
    });

    it('that answer each other for ever end with an error', () => {
      store.subscribe(topic, (keys) => store.announce(topic, [`${[...keys].join()}.`]));
      expect(() => store.announce(topic, ['x'])).toThrow('announcements of things go on after 1000 rounds');
    });
  });

  describe('keys and values', () => {
    it('accepts keys of up to 1,978 bytes, and refuses longer and empty keys with their length', () => {
      const longest = Buffer.alloc(1_978, 'x');
      store.write((t) => t.put(longest, text('v')));
      expect(store.read((reader) => textOr(reader.get(longest)))).toBe('v');
      expect(store.read((reader) => keys(reader))).toEqual([longest.toString()]);
      for (const key of [Buffer.alloc(1_979), Buffer.alloc(0)]) {
        const refused = `a key of ${key.length} bytes`;
        expect(() => store.write((t) => t.put(key, text('v')))).toThrow(refused);
        expect(() => store.write((t) => t.remove(key))).toThrow(refused);
        expect(() => store.read((reader) => reader.get(key))).toThrow(refused);
      }
    });

    it('keeps an empty value, which is different from a missing value', () => {
      put('a', '');
      expect(get('a')).toBe('');
      expect(store.read((reader) => [...reader.scan(everything)])[0]![1]).toHaveLength(0);
    });

    it('keeps values of a megabyte', async () => {
      const values = [1, 2, 3].map((fill) => Buffer.alloc(1024 * 1024, fill));
      for (const value of values) store.write((t) => t.put(value.subarray(0, 1), value));
      await store.flushed();
      store.read((reader) => {
        for (const value of values) expect(Buffer.compare(reader.get(value.subarray(0, 1))!, value)).toBe(0);
        expect([...reader.scan(everything)].map(([, value]) => value.length)).toEqual(values.map((v) => v.length));
      });
    });

    it('keeps no reference to the caller’s bytes, and hands out none to its own', () => {
      const key = Buffer.from('key');
      const value = Buffer.from('value');
      store.write((t) => t.put(key, value));
      key.fill('x');
      value.fill('x');
      const [got, scanned] = store.read((reader) => [reader.get(text('key'))!, [...reader.scan(everything)][0]!]);
      expect(asText(got)).toBe('value');
      got.fill(0);
      scanned[0].fill(0);
      scanned[1].fill(0);
      put('other', 'v');
      expect(get('key')).toBe('value');
    });
  });

  describe('scan', () => {
    beforeEach(() => {
      for (const key of ['a', 'ab', 'b', 'c', 'd']) put(key, key);
    });

    it.each<[string, KeyRange, string[]]>([
      ['takes the beginning and leaves out the end', { from: text('ab'), to: text('d') }, ['ab', 'b', 'c']],
      ['goes backwards with the same bounds', { from: text('ab'), to: text('d'), reverse: true }, ['c', 'b', 'ab']],
      ['stops at the limit', { from: text('a'), to: text('z'), limit: 2 }, ['a', 'ab']],
      ['stops at the limit backwards', { from: text('a'), to: text('z'), limit: 2, reverse: true }, ['d', 'c']],
      ['skips entries', { from: text('a'), to: text('d'), offset: 1 }, ['ab', 'b', 'c']],
      ['skips entries before the limit', { from: text('a'), to: text('d'), offset: 1, limit: 2 }, ['ab', 'b']],
      ['skips entries backwards', { from: text('a'), to: text('d'), offset: 1, reverse: true }, ['b', 'ab', 'a']],
      ['gives nothing if all are skipped', { from: text('a'), to: text('d'), offset: 4 }, []],
      ['gives nothing if more than 2^32 are skipped', { from: text('a'), to: text('d'), offset: 2 ** 32 + 1 }, []],
      ['gives nothing for a limit of 0', { from: text('a'), to: text('z'), limit: 0 }, []],
      ['gives nothing when the bounds are equal', { from: text('a'), to: text('a') }, []],
      ['gives nothing when the bounds are the wrong way round', { from: text('c'), to: text('a') }, []],
      ['may begin at the very beginning', { from: text(''), to: text('b') }, ['a', 'ab']],
      ['may begin at the very beginning, backwards', { from: text(''), to: text('b'), reverse: true }, ['ab', 'a']],
      ['needs no entry at its bounds', { from: text('aa'), to: text('bb'), reverse: true }, ['b', 'ab']],
    ])('%s', (_title, range, expected) => {
      expect(store.read((reader) => keys(reader, range))).toEqual(expected);
    });

    it('has a count of its keys, also within a write', () => {
      const range = { from: text('ab'), to: text('d') };
      expect(store.read((reader) => reader.countKeys(range))).toBe(3);
      expect(store.read((reader) => reader.countKeys({ from: text('d'), to: text('ab') }))).toBe(0);
      expect(store.read((reader) => reader.countKeys({ from: text(''), to: text('z') }))).toBe(5);
      store.write((t) => {
        t.put(text('bb'), text('new'));
        expect(t.countKeys(range)).toBe(4);
      });
    });

    it('may stop early', () => {
      store.read((reader) => {
        for (const [key] of reader.scan(everything)) {
          expect(asText(key)).toBe('a');
          break;
        }
        expect(keys(reader)).toHaveLength(5);
      });
    });

    it('cannot be used after its transaction', () => {
      const leaked = store.read((reader) => ({ reader, scan: reader.scan(everything)[Symbol.iterator]() }));
      expect(() => leaked.scan.next()).toThrow('a read outside its transaction');
      expect(() => leaked.reader.get(text('a'))).toThrow('a read outside its transaction');
    });
  });

  describe('flushed', () => {
    it('resolves for everybody who waits, in the order of the requests', async () => {
      const order: number[] = [];
      await Promise.all(
        Array.from({ length: 300 }, async (_, i) => {
          put(`k${i}`, 'v');
          await store.flushed();
          order.push(i);
        }),
      );
      expect(order).toEqual(Array.from({ length: 300 }, (_, i) => i));
    });

    it('resolves when there is nothing to flush', async () => {
      await store.flushed();
      put('a', '1');
      await store.flushed();
      await store.flushed();
    });
  });

  it('reports its size in bytes, which grows with each value', () => {
    const before = store.size();
    store.write((t) => {
      for (let i = 0; i < 100; i++) t.put(text(`k${i}`), Buffer.alloc(100_000));
    });
    return store.flushed().then(() => {
      expect(store.size().usedBytes).toBeGreaterThanOrEqual(before.usedBytes + 10_000_000);
      expect(store.size().freeBytes).toBeGreaterThanOrEqual(0);
    });
  });

  it('behaves as a sorted map under any sequence of operations', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        await using fresh = open();
        const model = new Map<string, string>();
        for (const operation of steps) await operation(fresh.store, model);
        compare(fresh.store, model, everything);
      }),
      { numRuns: 60 },
    );
  });
});

// ------------------------------------------------------------------------------------------------ the model

type Step = (store: Store, model: Map<string, string>) => void | Promise<void>;

/** Few and short keys, so that they collide; latin1, so that the order of characters is the order of bytes. */
const keyText = fc
  .array(fc.constantFrom(0x00, 0x01, 0x61, 0x62, 0xff), { minLength: 1, maxLength: 3 })
  .map((bytes) => Buffer.from(bytes).toString('latin1'));
const valueText = fc.string({ maxLength: 3_000, size: 'max' });
const change = fc.tuple(keyText, fc.option(valueText, { nil: undefined }));
const range = fc.record({
  from: fc.option(keyText, { nil: '' }),
  to: keyText,
  reverse: fc.boolean(),
  limit: fc.option(fc.nat(5)),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(fc.array(change, { maxLength: 8 }), fc.boolean()).map(
    ([changes, fails]): Step =>
      (store, model) => {
        const next = new Map(model);
        const write = () =>
          store.write((t) => {
            for (const [key, value] of changes) {
              if (value === undefined) expect(t.remove(bytesOf(key))).toBe(next.delete(key));
              else {
                t.put(bytesOf(key), text(value));
                next.set(key, value);
              }
            }
            compareReader(t, next, everything);
            if (fails) throw new Error('undo');
          });
        if (fails) return expect(write).toThrow('undo');
        write();
        model.clear();
        for (const [key, value] of next) model.set(key, value);
      },
  ),
  range.map(
    ({ from, to, reverse, limit }): Step =>
      (store, model) => {
        compare(store, model, { from: bytesOf(from), to: bytesOf(to), reverse, ...(limit === null ? {} : { limit }) });
      },
  ),
  fc.constant<Step>((store) => store.flushed()),
);

function compare(store: Store, model: ReadonlyMap<string, string>, within: KeyRange): void {
  store.read((reader) => compareReader(reader, model, within));
}

function compareReader(reader: Reader, model: ReadonlyMap<string, string>, within: KeyRange): void {
  const expected = [...model]
    .filter(([key]) => Buffer.compare(bytesOf(key), within.from) >= 0 && Buffer.compare(bytesOf(key), within.to) < 0)
    .sort(([a], [b]) => Buffer.compare(bytesOf(a), bytesOf(b)));
  if (within.reverse) expected.reverse();
  const found = [...reader.scan(within)].map(([key, value]) => [Buffer.from(key).toString('latin1'), asText(value)]);
  expect(found).toEqual(expected.slice(0, within.limit));
  for (const [key, value] of model) expect(textOr(reader.get(bytesOf(key)))).toBe(value);
}

function bytesOf(key: string): Buffer {
  return Buffer.from(key, 'latin1');
}

function textOr(bytes: Uint8Array | undefined): string | undefined {
  return bytes && asText(bytes);
}

function fail(t: Transaction, key: string): never {
  t.put(text(key), text('wrong'));
  throw new Error('undo');
}
