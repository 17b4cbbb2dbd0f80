import { beforeEach, describe, expect, it } from 'vitest';
import { formatKey } from '../../../../core/object/key.ts';
import { ReportedContents } from '../../../../relay/views/reported-view.ts';
import { ReportedKinds } from '../../../../relay/views/view-kinds.ts';
import { ReportedBench, report, shownBy, upsynced } from '../support/reported-bench.ts';

const [near, far] = ['eu:paris', 'eu:berlin:mitte'];
const key = formatKey(report);
const center = { returnTo: 'Center' };

describe('objects created at the edge, at a relay on their way', () => {
  let bench: ReportedBench;
  const view = (path: string) =>
    new ReportedContents(
      bench.store,
      path,
      () => [bench.mailboxes.get(path.split(':')[1]!)?.reported].filter((table) => table !== undefined),
      new ReportedKinds(),
    );
  const shown = (path: string) => Object.keys(shownBy(view(path)));

  beforeEach(() => {
    bench = new ReportedBench('eu');
    bench.child('paris', 'agent');
    bench.child('berlin', 'relay');
  });

  it('are passed on if their rule says so, and stay otherwise', () => {
    bench.report('paris', upsynced(near, report));
    expect(bench.passed()).toEqual([]);
    bench.report('berlin', upsynced(far, report, center));
    expect(bench.passed()).toEqual([`up/center.retail/${far}/${key}`]);
    expect([shown(near), shown(far)]).toEqual([[key], [key]]);
  });

  it('follow a changed rule', () => {
    bench.report('paris', upsynced(near, report, center));
    bench.report('paris', upsynced(near, report));
    expect(bench.passed()).toEqual([]);
    bench.report('paris', upsynced(near, report, center));
    expect(bench.passed()).toHaveLength(1);
  });

  it('are passed on without the revision that a child claims', () => {
    bench.report('paris', { ...upsynced(near, report, center), claims: 2 ** 48 - 1 });
    const rows = bench.store.read((reader) => [...bench.outbox.rows(reader)]);
    expect(rows.map(({ originRevision }) => originRevision)).toEqual([0]);
  });

  it('have arrived at the node with the space of their placement', () => {
    bench.report('paris', upsynced(near, report, { ...center, source: 'eu.ops' }));
    expect(bench.passed()).toEqual([]);
    expect(shown(near)).toEqual([key]);
  });

  it('are removed with their source, and may come again', () => {
    const policyReport = upsynced(near, report, center);
    bench.report('paris', policyReport);
    bench.report('paris', { key: policyReport.key });
    expect(bench.passed()).toEqual([]);
    expect(shown(near)).toEqual([]);
    bench.report('paris', policyReport);
    expect(bench.passed()).toEqual([policyReport.key]);
  });

  it('are removed with a child that leaves for good, including those from deeper below, and no others', () => {
    bench.report('paris', upsynced(near, report, center));
    bench.report('berlin', upsynced(far, report, center));
    bench.leave('berlin');
    expect(bench.passed()).toEqual([`up/center.retail/${near}/${key}`]);
    expect(shown(far)).toEqual([]);
    expect(shown(near)).toEqual([key]);
  });

  it('are shown once if two sources want them, the same on every read', () => {
    bench.report('paris', upsynced(near, report, { source: 'eu.ops', object: { by: 'ops' } }));
    bench.report('paris', upsynced(near, report, { object: { by: 'retail' } }));
    const contents = view(near);
    expect(shownBy(contents)).toMatchObject({ [key]: { by: 'retail' } });
    expect(JSON.parse(Buffer.from(contents.get(report)!).toString())).toMatchObject({ by: 'retail' });
  });

  it('are found by name once their source is known', () => {
    const contents = view(near);
    expect(contents.get(report)).toBeUndefined();
    bench.report('paris', upsynced(near, report));
    contents.note('center.retail');
    expect(contents.get(report)).toBeDefined();
  });
});
