import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { asText, text } from '../../../../core/store/bytes.ts';
import { clearFormat, currentFormat, openFormatted } from '../../../../core/store/format.ts';
import { prefixOf } from '../../../../core/store/keyspace.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';

const clock = new VirtualClock(Date.parse('2026-01-02T03:04:05Z'));

describe('the format of a store', () => {
  it('is written into a new one, with the time', () => {
    const store = new MemoryStore();
    const record = { format: clearFormat, createdAt: '2026-01-02T03:04:05.000Z' };
    expect(openFormatted(store, clock)).toEqual(record);
    expect(JSON.parse(asText(store.read((reader) => reader.get(prefixOf('format')))!))).toEqual(record);
  });

  it('stays the same when the store is opened again', () => {
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

  it.each(['', '{', 'null', '{"format":"1"}', '{"format":0}'])('is refused when its record is %j', (json) => {
    const store = storeWith(prefixOf('format'), json);
    expect(() => openFormatted(store, clock)).toThrow(expect.objectContaining({ code: 'StoreCorrupt' }));
  });

  it('is refused if there is data and no record', () => {
    const store = storeWith(prefixOf('tableRow'), 'row');
    expect(() => openFormatted(store, clock)).toThrow('the store has data and no format record');
  });
});

function storeWith(key: Uint8Array, value: string): MemoryStore {
  const store = new MemoryStore();
  store.write((t) => t.put(key, text(value)));
  return store;
}
