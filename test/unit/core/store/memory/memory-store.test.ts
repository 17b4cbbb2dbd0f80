/** Properties of the memory store beyond the port, for tests of crash rules. The port itself has a contract suite. */
import { describe, expect, it } from 'vitest';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { asText, text } from '../../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';

describe('a transaction of the memory store, which changes its own new parts in place', () => {
  const names = Array.from({ length: 40 }, (_, i) => `k${String(i * 10).padStart(4, '0')}`);
  const filled = () => {
    const store = new MemoryStore({ manualFlush: true });
    store.write((t) => {
      for (const name of names) t.put(text(name), text('old'));
    });
    store.completeFlush();
    return store;
  };

  it('finds each key once that existed when a scan began, whatever is written during the scan', () => {
    filled().write((t) => {
      t.put(text('k0000'), text('own'));
      const found: string[] = [];
      for (const [key] of t.scan({ from: text('k'), to: text('l') })) {
        found.push(asText(key));
        t.put(text(`j${found.length}`), text('before all of them'));
        t.put(text(`${asText(key)}5`), text('behind this one'));
      }
      expect(found.filter((name) => names.includes(name))).toEqual(names);
    });
  });

  it('does not change data that a read inside of it has begun with', () => {
    const store = filled();
    store.write((t) => {
      t.put(text('k0000'), text('own'));
      store.read((reader) => {
        t.put(text('k0000'), text('later'));
        expect(asText(reader.get(text('k0000'))!)).toBe('own');
      });
      expect(asText(t.get(text('k0000'))!)).toBe('later');
    });
  });

  it('does not change flushed data, nor former data if it is undone', () => {
    const store = filled();
    const over = new Error('undone');
    const change = (value: string, then: () => void) =>
      store.write((t) => {
        for (const name of names) t.put(text(name), text(value));
        t.remove(text(names[3]!));
        then();
      });
    expect(() =>
      change('undone', () => {
        throw over;
      }),
    ).toThrow(over);
    expect(names.map((name) => get(store, name))).toEqual(names.map(() => 'old'));
    change('not flushed', () => {});
    store.crash();
    expect(names.map((name) => get(store, name))).toEqual(names.map(() => 'old'));
  });
});

describe('a crash of the memory store', () => {
  it('removes everything that no finished flush covers', async () => {
    const store = new MemoryStore({ manualFlush: true });
    put(store, 'a', '1');
    const flushed = store.flushed();
    store.completeFlush();
    await flushed;
    put(store, 'a', '2');
    put(store, 'b', '1');
    store.crash();
    expect([get(store, 'a'), get(store, 'b')]).toEqual(['1', undefined]);
  });

  it('removes everything if nothing was ever flushed', () => {
    const store = new MemoryStore({ manualFlush: true });
    put(store, 'a', '1');
    store.crash();
    expect(get(store, 'a')).toBeUndefined();
  });

  it('resolves nobody who waited for the flush', async () => {
    const store = new MemoryStore({ manualFlush: true });
    put(store, 'a', '1');
    let resolved = false;
    const flushed = store.flushed().then(() => {
      resolved = true;
    });
    store.crash();
    store.completeFlush();
    await Promise.race([flushed, Promise.resolve()]);
    expect(resolved).toBe(false);
  });
});

it('a failed flush reaches those who wait, and every later flush and write', async () => {
  const store = new MemoryStore({ manualFlush: true });
  put(store, 'a', '1');
  const flushed = store.flushed();
  const error = new BanyanError('StoreFull', 'full');
  store.failFlush(error);
  await expect(flushed).rejects.toBe(error);
  await expect(store.flushed()).rejects.toBe(error);
  expect(() => put(store, 'b', '1')).toThrow(error);
});

it('a copy keeps the contents of the store, whatever happens to the store later', () => {
  const store = new MemoryStore();
  put(store, 'a', '1');
  const copy = store.copy();
  put(store, 'a', '2');
  expect(get(copy, 'a')).toBe('1');
});

function put(store: MemoryStore, key: string, value: string): void {
  store.write((t) => t.put(text(key), text(value)));
}

function get(store: MemoryStore, key: string): string | undefined {
  const value = store.read((reader) => reader.get(text(key)));
  return value && asText(value);
}
