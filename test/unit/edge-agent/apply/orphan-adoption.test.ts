import { expect, test } from 'vitest';
import { formatKey, parseKey } from '../../../../core/object/key.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { OrphanAdoption } from '../../../../edge-agent/apply/orphan-adoption.ts';
import { OwnerRecords } from '../../../../edge-agent/apply/owner-records.ts';

const names = ['a', 'b', 'c', 'd'];
const found = names.map((name) => ({
  key: parseKey(`/configmaps/shop/${name}`),
  uid: name,
  agent: 'eu:shop',
  source: 'center.retail',
  created: true,
}));

class BoundedRecords extends OwnerRecords {
  /** The number of writes that still fit on the disk. */
  room = Number.POSITIVE_INFINITY;

  override set(...[key, record]: Parameters<OwnerRecords['set']>): void {
    if (this.room-- <= 0) throw new BanyanError('StoreFull', 'no room');
    super.set(key, record);
  }
}

/** No placement wants any of these objects. */
function bench() {
  const clock = new VirtualClock();
  const disk = new BoundedRecords(new MemoryStore());
  const recorded: string[] = [];
  const stock = new OrphanAdoption({
    clock,
    records: disk,
    isWanted: () => false,
    recorded: (keys) => void recorded.push(...keys),
    heldChanged: () => {},
  });
  return { clock, stock, disk, recorded };
}

const keys = found.map(({ key }) => formatKey(key));

test('approved objects go once there is room, and the full disk is not reported', () => {
  const { clock, stock, disk, recorded } = bench();
  stock.adopt(found, { entries: 0, fraction: 0 });
  const { token } = stock.held!;
  disk.room = 0;
  stock.approve(token);
  expect([recorded, stock.held?.token]).toEqual([[], token]);
  disk.room = 2;
  clock.advance(5_000);
  disk.room = 10;
  clock.advance(5_000);
  expect([new Set(recorded), stock.held]).toEqual([new Set(keys), undefined]);
});

test('an approval is not retried after the agent has ended', () => {
  const { clock, stock, disk, recorded } = bench();
  stock.adopt(found, { entries: 0, fraction: 0 });
  disk.room = 0;
  stock.approve(stock.held!.token);
  stock.stop();
  disk.room = 10;
  clock.advance(60_000);
  expect(recorded).toEqual([]);
});

test('the objects that were recorded before the disk was full are reported and counted', () => {
  const { stock, disk, recorded } = bench();
  const limits = { entries: 4, fraction: 0 };
  disk.room = 2;
  expect(() => stock.adopt(found, limits)).toThrow('no room');
  disk.room = 10;
  stock.adopt(found, limits);
  expect(recorded).toEqual(keys);
  stock.adopt([{ ...found[0]!, key: parseKey('/configmaps/shop/e'), uid: 'e' }], limits);
  expect(stock.held?.entries).toBe(1);
});
