import { beforeEach, describe, expect, it } from 'vitest';
import { entryKey } from '../../../../core/entries/entry-keys.ts';
import { noteSeen } from '../../../../core/entries/source-incarnations.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { parseKey } from '../../../../core/object/key.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { raiseWatermarks } from '../../../../core/session/watermark.ts';
import { childAhead } from '../../../../relay/catch-up/child-ahead.ts';
import { ReportedBench, source } from '../support/reported-bench.ts';

const wallMs = 1_700_000_000_000;

describe('the revisions that a child has received of the spaces above', () => {
  let bench: ReportedBench;
  const why = () => bench.store.read((reader) => childAhead(reader, bench.mailboxes.get('paris')?.reported, wallMs));
  const sees = (of: string, revision: number) =>
    bench.say('paris', { key: entryKey.seen(of), attributes: { revision } });
  const told = (marks: Record<string, number>) => bench.store.write((t) => raiseWatermarks(t, { told: marks }, wallMs));

  beforeEach(() => {
    bench = new ReportedBench('eu');
    bench.child('paris', 'agent');
    bench.store.write((t) => {
      const key = entryKey.object(source, parseKey('/configmaps/shop/a'));
      noteSeen(t, [{ key, keyHash: hash128(key), originRevision: 3 }], {
        clock: new VirtualClock(wallMs),
        log: silentLogger,
      });
    });
  });

  it('are awaited until the parent states that they have arrived here', () => {
    sees(source, 7);
    told({ [source]: 6 });
    expect(why()).toBe('center.retail is at revision 6 on this node; the child has revision 7');
    told({ [source]: 7 });
    expect(why()).toBeUndefined();
  });

  it('are awaited while the parent has not stated how far the source is', () => {
    sees(source, 7);
    expect(why()).toBe('center.retail is at revision 0 on this node; the child has revision 7');
  });

  it('are not awaited if the child has received nothing, or if the source is not above', () => {
    told({ [source]: 6 });
    expect(why()).toBeUndefined();
    sees('center.gone', 9);
    expect(why()).toBeUndefined();
    expect(bench.store.read((reader) => childAhead(reader, undefined, wallMs))).toBeUndefined();
  });

  it('are ignored if no space can have given them by now', () => {
    told({ [source]: 6 });
    sees(source, wallMs * 2);
    expect(why()).toBeUndefined();
  });
});
