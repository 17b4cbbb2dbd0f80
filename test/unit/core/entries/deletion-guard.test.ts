import { describe, expect, it } from 'vitest';
import { deletionGuard } from '../../../../core/entries/deletion-guard.ts';
import { entryKey } from '../../../../core/entries/entry-keys.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';

describe('the guard of a down feed', () => {
  it('lets the owner rows of a parent go that has lost them, and nothing else', () => {
    const guard = deletionGuard(new VirtualClock(), undefined);
    const keys = [
      entryKey.owner('till'),
      entryKey.replicas(),
      'o/center.retail//configmaps/shop/till',
      't/center.retail/shop',
    ];
    expect(keys.filter((key) => guard.mayGo(key))).toEqual([entryKey.owner('till')]);
  });
});
