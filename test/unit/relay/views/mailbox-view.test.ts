import { beforeEach, describe, expect, it } from 'vitest';
import { formatKey, parseKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { MailboxContents } from '../../../../relay/views/mailbox-view.ts';
import { ReportedKinds } from '../../../../relay/views/view-kinds.ts';
import { associated, pod, ReportedBench, report, shownBy, source, state, upsynced } from '../support/reported-bench.ts';

const path = 'eu:paris';
const web = parseKey('wgpolicyk8s.io/policyreports/shop/web');

describe('the mailbox of an agent as a space', () => {
  let bench: ReportedBench;
  let kinds: ReportedKinds;
  let contents: MailboxContents;
  const get = (key: typeof web) => {
    const body = contents.get(key);
    return body && (JSON.parse(Buffer.from(body).toString()) as KubeObject);
  };

  beforeEach(() => {
    bench = new ReportedBench('eu');
    kinds = new ReportedKinds();
    bench.child('paris', 'agent');
    contents = new MailboxContents(bench.store, () => bench.mailboxes.get('paris'), path, kinds);
  });

  it('shows the objects that are sent down, with the reported status', () => {
    bench.send('paris', source, web);
    bench.report('paris', state(source, web, {}, { phase: 'Active' }));
    expect(shownBy(contents)).toMatchObject({
      [formatKey(web)]: { metadata: { uid: 'above' }, status: { phase: 'Active' } },
    });
    expect(get(web)).toMatchObject({ status: { phase: 'Active' } });
  });

  it('shows objects that placed objects own, and objects created at the edge, as they are at the edge', () => {
    bench.report('paris', associated(pod), upsynced(path, report));
    const shown = shownBy(contents);
    expect(Object.keys(shown).sort()).toEqual([formatKey(pod), formatKey(report)].sort());
    expect(shown[formatKey(pod)]).toEqual(get(pod));
    expect(get(report)).toMatchObject({ metadata: { uid: 'u' } });
    bench.report('paris', { key: associated(pod).key }, { key: upsynced(path, report).key });
    expect(shownBy(contents)).toEqual({});
    expect(get(pod)).toBeUndefined();
  });

  it('prefers an object created at the edge to the sent one of the same name, over which it wins', () => {
    bench.send('paris', source, web, { by: 'above' });
    bench.report('paris', upsynced(path, web, { object: { by: 'edge' } }));
    expect(shownBy(contents)).toMatchObject({ [formatKey(web)]: { by: 'edge' } });
    expect(get(web)).toMatchObject({ by: 'edge' });
  });

  it('shows of two sources with one object the object that the cluster has', () => {
    bench.send('paris', 'center.a', web, { by: 'a' });
    bench.send('paris', 'center.b', web, { by: 'b' });
    bench.report('paris', state('center.a', web, { applied: false, reason: 'Conflicted' }), state('center.b', web, {}));
    expect(shownBy(contents)).toMatchObject({ [formatKey(web)]: { by: 'b' } });
    expect(get(web)).toMatchObject({ by: 'b' });
  });

  it('learns the kinds that only the edge has', () => {
    bench.report('paris', upsynced(path, report));
    contents.list();
    expect(kinds.get(report)).toMatchObject({ kind: 'PolicyReport', namespaced: true, versions: ['v1alpha2'] });
  });

  it('is empty for a removed agent, and shows a new agent of that name', () => {
    bench.send('paris', source, web);
    expect(Object.keys(shownBy(contents))).toHaveLength(1);
    bench.store.write((t) => bench.mailboxes.drop(t, 'paris'));
    expect([shownBy(contents), get(web)]).toEqual([{}, undefined]);
    bench.child('paris', 'agent');
    bench.send('paris', source, pod);
    expect(Object.keys(shownBy(contents))).toEqual([formatKey(pod)]);
    expect(get(pod)).toBeDefined();
  });

  it('of a relay has nothing of the clusters below, which have views of their own', () => {
    bench.child('berlin', 'relay');
    const relay = new MailboxContents(bench.store, () => bench.mailboxes.get('berlin'), 'eu:berlin', kinds);
    bench.report('berlin', upsynced('eu:berlin:mitte', report));
    expect(shownBy(relay)).toEqual({});
  });
});
