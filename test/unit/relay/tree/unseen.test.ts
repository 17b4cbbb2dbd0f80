import { beforeEach, describe, expect, it } from 'vitest';
import { raiseWatermarks } from '../../../../core/session/watermark.ts';
import { seenKey } from '../../../../core/wire/entries.ts';
import { unseen } from '../../../../relay/tree/unseen.ts';
import { ReportedBench, source } from '../support/reported-bench.ts';

const wallMs = 1_700_000_000_000;

describe('what a child has seen of the spaces above', () => {
  let bench: ReportedBench;
  const why = () => bench.store.read((reader) => unseen(reader, bench.mailboxes.get('paris')?.reported, wallMs));
  const sees = (of: string, revision: number) => bench.say('paris', { key: seenKey(of), attributes: { revision } });
  const told = (marks: Record<string, number>) => bench.store.write((t) => raiseWatermarks(t, { told: marks }, wallMs));

  beforeEach(() => {
    bench = new ReportedBench('eu');
    bench.child('paris', 'agent');
  });

  it('is waited for until the parent says that it has come here', () => {
    sees(source, 7);
    told({ [source]: 6 });
    expect(why()).toBe('center.retail is at revision 6 here, and the child has seen 7');
    told({ [source]: 7 });
    expect(why()).toBeUndefined();
  });

  it('is not waited for where the child has seen nothing, or where nobody says how far a source is', () => {
    told({ [source]: 6 });
    expect(why()).toBeUndefined();
    sees('center.gone', 9);
    expect(why()).toBeUndefined();
    expect(bench.store.read((reader) => unseen(reader, undefined, wallMs))).toBeUndefined();
  });

  it('is not believed when no space can have come to it by now', () => {
    told({ [source]: 6 });
    sees(source, wallMs * 2);
    expect(why()).toBeUndefined();
  });
});
