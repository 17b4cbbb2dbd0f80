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

describe('a child that has received more of the spaces above than its parent', () => {
  let bench: ReportedBench;
  const why = () => bench.store.read((reader) => childAhead(reader, bench.mailboxes.get('paris')?.reported, wallMs));
  const reportsSeen = (of: string, revision: number) =>
    bench.report('paris', { key: entryKey.seen(of), attributes: { revision } });
  const receivesWatermarks = (marks: Record<string, number>) =>
    bench.store.write((t) => raiseWatermarks(t, { complete: marks }, wallMs));

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

  it('makes the node wait until the parent reports the source as complete up to there', () => {
    reportsSeen(source, 7);
    receivesWatermarks({ [source]: 6 });
    expect(why()).toBe('center.retail is at revision 6 on this node; the child has revision 7');
    receivesWatermarks({ [source]: 7 });
    expect(why()).toBeUndefined();
  });

  it('makes the node wait while the parent has sent no watermark of the source', () => {
    reportsSeen(source, 7);
    expect(why()).toBe('center.retail is at revision 0 on this node; the child has revision 7');
  });

  it('makes nothing wait if the child has seen nothing, or the source is not above', () => {
    receivesWatermarks({ [source]: 6 });
    expect(why()).toBeUndefined();
    reportsSeen('center.gone', 9);
    expect(why()).toBeUndefined();
    expect(bench.store.read((reader) => childAhead(reader, undefined, wallMs))).toBeUndefined();
  });

  it('is not believed if no space can have reached the revision yet', () => {
    receivesWatermarks({ [source]: 6 });
    reportsSeen(source, wallMs * 2);
    expect(why()).toBeUndefined();
  });
});
