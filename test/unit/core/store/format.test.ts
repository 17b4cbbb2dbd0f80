import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { asText, text } from '../../../../core/store/bytes.ts';
import { currentFormat, openFormatted } from '../../../../core/store/format.ts';
import { prefixOf } from '../../../../core/store/keyspace.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';

const clock = new VirtualClock(Date.parse('2026-01-02T03:04:05Z'));

describe('the format of a store', () => {
  it('is written into a new one, with the time', () => {
    const store = new MemoryStore();
    const record = { format: currentFormat, createdAt: '2026-01-02T03:04:05.000Z' };
    expect(openFormatted(store, clock)).toEqual(record);
    expect(JSON.parse(asText(store.read((reader) => reader.get(prefixOf('format')))!))).toEqual(record);
  });

  it('stays as it is when the store is opened again', () => {
    const store = new MemoryStore();
    const first = openFormatted(store, clock);
    expect(openFormatted(store, new VirtualClock(0))).toEqual(first);
  });

  it('is refused when a newer program made it, with both numbers and the remedy', () => {
    const store = storeWith(prefixOf('format'), JSON.stringify({ format: currentFormat + 1, createdAt: '' }));
    expect(() => openFormatted(store, clock)).toThrow(
      expect.objectContaining({
        code: 'StoreVersion',
        message: `the store has format ${currentFormat + 1}, this program knows formats up to ${currentFormat}; start the newer program, or restore a backup from before the upgrade`,
      }),
    );
  });

  it('is refused when a much older program made it, with both numbers and the remedy', () => {
    const store = storeWith(prefixOf('format'), JSON.stringify({ format: 1, createdAt: '' }));
    expect(() => openFormatted(store, clock)).toThrow(
      expect.objectContaining({
        code: 'StoreVersion',
        message:
          "the store has format 1, this program knows formats from 2; begin with an empty directory, which is filled from the node's parent and children, or start the older program",
      }),
    );
  });

  it.each(['', '{', 'null', '{"format":"1"}'])('is refused when its record is %j', (json) => {
    const store = storeWith(prefixOf('format'), json);
    expect(() => openFormatted(store, clock)).toThrow(expect.objectContaining({ code: 'StoreCorrupt' }));
  });

  it('is refused when there is data and no record', () => {
    const store = storeWith(prefixOf('tableRow'), 'row');
    expect(() => openFormatted(store, clock)).toThrow('the store has data and no format record');
  });

  it('gets its record once where its data are known to be of programs that wrote none', () => {
    const store = storeWith(prefixOf('tableRow'), 'row');
    const adopted = openFormatted(store, clock, 'adopted');
    expect(adopted.format).toBe(currentFormat);
    expect(openFormatted(store, new VirtualClock(0))).toEqual(adopted);
    expect(asText(store.read((reader) => reader.get(prefixOf('tableRow')))!)).toBe('row');
  });

  it('is refused of another format also there', () => {
    const store = storeWith(prefixOf('format'), '{"format":3}');
    expect(() => openFormatted(store, clock, 'adopted')).toThrow(expect.objectContaining({ code: 'StoreVersion' }));
  });
});

function storeWith(key: Uint8Array, value: string): MemoryStore {
  const store = new MemoryStore();
  store.write((t) => t.put(key, text(value)));
  return store;
}
