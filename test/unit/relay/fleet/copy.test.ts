import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { text } from '../../../../core/store/bytes.ts';
import { AgentCopies } from '../../../../relay/fleet/agent-copies.ts';
import {
  type CopyRows,
  facetOf,
  pathOfValue,
  pathValue,
  readCopy,
  shownObject,
  uidAt,
} from '../../../../relay/fleet/copy.ts';
import { ReportedKinds } from '../../../../relay/views/view-kinds.ts';
import { associated, pod, ReportedBench, report, source, state, upsynced } from '../support/reported-bench.ts';

const path = 'eu:shop';
const of = { source, path };

function benchWith(send = true): ReportedBench {
  const bench = new ReportedBench('eu');
  bench.child('shop', 'agent');
  if (send) bench.send('shop', source, pod, { spec: { nodeName: 'n1' } });
  return bench;
}

function copyIn(bench: ReportedBench, key = pod): CopyRows | undefined {
  return bench.store.read((reader) => readCopy(reader, bench.mailboxes.get('shop')!, of, key));
}

function shownIn(bench: ReportedBench, key = pod): KubeObject | undefined {
  const rows = copyIn(bench, key);
  return rows && shownObject(rows, path, undefined);
}

describe('a copy of a placed object', () => {
  it('is the delivered object with the reported status, in generations of its origin', () => {
    const bench = benchWith();
    const status = { phase: 'Running', observedGeneration: 7 };
    bench.report('shop', state(source, pod, { generation: 1, local: 7 }, status));
    expect(shownIn(bench)).toMatchObject({
      metadata: { name: 'web-1', generation: 1, labels: { 'banyan.io/path': 'eu.shop' }, uid: uidAt(path, 'above') },
      spec: { nodeName: 'n1' },
      status: { phase: 'Running', observedGeneration: 1 },
    });
  });

  it('changes its revision with the object and with its status', () => {
    const bench = benchWith();
    const revisions = [copyIn(bench)!.revision];
    bench.report('shop', state(source, pod, {}, { phase: 'Pending' }));
    revisions.push(copyIn(bench)!.revision);
    bench.send('shop', source, pod, { spec: { nodeName: 'n2' } });
    revisions.push(copyIn(bench)!.revision);
    expect(new Set(revisions).size).toBe(3);
  });

  it('is none if the cluster has the object of another source', () => {
    const bench = benchWith();
    bench.report('shop', state(source, pod, { reason: 'Conflicted', applied: false, available: false }));
    expect(copyIn(bench)).toBeUndefined();
  });

  it('loses to an object that the cluster made and reported, and wins over an associated one', () => {
    const bench = benchWith();
    bench.report('shop', associated(pod));
    expect(copyIn(bench)?.from).toBe('placed');
    bench.report('shop', upsynced(path, pod));
    expect(copyIn(bench)?.from).toBe('upsynced');
  });

  it('has the time of its last connection if the agent is away', () => {
    const shown = shownObject(copyIn(benchWith())!, path, Date.parse('2026-01-02T03:04:05Z'));
    expect(shown.metadata.annotations).toEqual({ 'banyan.io/stale': '2026-01-02T03:04:05Z' });
  });
});

describe('the mark of a path', () => {
  it('is a label with dots, from which the path can be read', () => {
    expect(pathValue('eu:paris:store-17')).toBe('eu.paris.store-17');
    expect(pathOfValue('eu.paris.store-17')).toBe('eu:paris:store-17');
  });

  it('is an annotation if it is too long for a label', () => {
    const long = ['a', 'b', 'c'].map((letter) => letter.repeat(30)).join(':');
    const { metadata } = shownObject(copyIn(benchWith())!, long, undefined);
    expect(metadata.labels).toBeUndefined();
    expect(metadata.annotations).toEqual({ 'banyan.io/path': long.replaceAll(':', '.') });
  });
});

it('a uid is the same each time, another one for each path and object, and has the form of a UUID', () => {
  expect(uidAt(path, 'a')).toBe(uidAt(path, 'a'));
  expect(new Set([uidAt(path, 'a'), uidAt(path, 'b'), uidAt('eu', 'a')]).size).toBe(3);
  expect(uidAt(path, 'a')).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
});

it('a facet has what selectors read, and no other field', () => {
  const bench = benchWith();
  bench.report('shop', state(source, pod, {}, { phase: 'Running', hostIP: '10.0.0.1' }));
  const facet = facetOf(copyIn(bench)!, path, [
    '.spec.nodeName',
    '.status.phase',
    '.spec.missing.deep',
    '.metadata.name',
  ]);
  expect(facet).toEqual({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'web-1',
      namespace: 'shop',
      uid: uidAt(path, 'above'),
      creationTimestamp: 'c',
      labels: { 'banyan.io/path': 'eu.shop' },
    },
    spec: { nodeName: 'n1' },
    status: { phase: 'Running' },
  });
});

describe('the index of an agent', () => {
  const indexOf = (bench: ReportedBench) => {
    const ports = { ...of, mailbox: bench.mailboxes.get('shop')!, kinds: new ReportedKinds(), selectable: () => [] };
    return bench.store.read((reader) => {
      const index = new AgentCopies(reader, ports);
      while (!index.readSome(reader, 2));
      return index;
    });
  };

  it('has the copies of its source, by kind, in the order of their keys', () => {
    const bench = benchWith();
    bench.send('shop', source, { ...pod, name: 'a' });
    bench.send('shop', source, { ...pod, namespace: 'a', name: 'z' });
    bench.send('shop', 'center.other', { ...pod, name: 'other' });
    bench.report('shop', upsynced(path, report));
    const index = indexOf(bench);
    expect(index.ofKind(pod).map(({ key }) => `${key.namespace}/${key.name}`)).toEqual(['a/z', 'shop/a', 'shop/web-1']);
    expect(index.ofKind(report).map(({ key }) => key)).toEqual([report]);
  });

  it('follows changes, and tells what a copy was before', () => {
    const bench = benchWith();
    const index = indexOf(bench);
    bench.send('shop', source, pod, { spec: { nodeName: 'n2' } });
    bench.send('shop', source, { ...pod, name: 'new' });
    const changed = bench.store.read((reader) => index.changedInMailbox(reader));
    expect(changed.map(({ name }) => name).sort()).toEqual(['new', 'web-1']);
    const refresh = (name: string) => bench.store.read((reader) => index.refresh(reader, { ...pod, name }));
    expect(refresh('web-1')).toMatchObject({ before: { key: pod }, after: { key: pod } });
    expect(refresh('new')?.before).toBeUndefined();
    expect(refresh('new')).toBeUndefined();
    bench.withdraw('shop', source, pod);
    expect(refresh('web-1')?.after).toBeUndefined();
    expect(index.ofKind(pod).map(({ key }) => key.name)).toEqual(['new']);
  });
});

it('a status that is no JSON object of the origin is shown as reported', () => {
  const bench = benchWith();
  bench.report('shop', { ...state(source, pod, {}), body: text('{"phase":"Running"}') });
  expect(shownIn(bench)?.status).toEqual({ phase: 'Running' });
});
