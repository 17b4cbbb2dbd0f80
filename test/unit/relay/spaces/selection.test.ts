import { beforeEach, describe, expect, it } from 'vitest';
import { SpaceBench, source } from '../support/space-bench.ts';

const configMaps = (item: object = {}) => ({
  locationSelectors: [{}],
  downsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: ['shop'], ...item }],
});
const named = (...objectNames: string[]) => configMaps({ objectNames });
const map = (name: string) => `/configmaps/shop/${name}`;
const shop = '/namespaces//shop';

describe('a selection', () => {
  let bench: SpaceBench;

  beforeEach(() => {
    bench = new SpaceBench();
    bench.namespace('shop');
    for (const name of ['a', 'b', 'c']) bench.configMap('shop', name);
    bench.settle();
  });

  it('gives nothing that no placement selects', () => {
    expect(bench.rows()).toEqual([]);
  });

  it('may wait for the writes of a burst, and for none of another namespace', () => {
    bench.namespace('till');
    bench.waits.length = 0;
    for (let i = 0; i < 10; i++) bench.configMap('till', `burst${i}`);
    expect(bench.waits.map((ms) => ms > 0)).toEqual([...Array(4).fill(false), ...Array(6).fill(true)]);
    bench.configMap('shop', 'd');
    expect(bench.waits.at(-1)).toBe(0);
  });

  it('gives each object once, with the placements that want it', () => {
    bench.placement('p', named('a', 'b'));
    bench.placement('q', named('b', 'c'));
    bench.settle();
    expect(bench.refs()).toEqual({
      [map('a')]: ['p'],
      [map('b')]: ['p', 'q'],
      [map('c')]: ['q'],
      [shop]: ['p', 'q'],
    });
  });

  it('processes a bounded number of bytes in one step', () => {
    for (const name of ['a', 'b', 'c']) bench.configMap('shop', name, {}, 'x'.repeat(600_000));
    bench.settle();
    bench.placement('p', named('a', 'b', 'c'));
    const sizes: number[] = [];
    while (bench.step()) sizes.push(Object.keys(bench.refs()).length);
    expect(sizes.length).toBeGreaterThan(3);
    expect(bench.refs()).toHaveProperty([map('c')], ['p']);
  });

  it('keeps everything of a namespace until its last object, also of a placement with a short name', () => {
    bench.placement('by', named('a', 'b'));
    bench.settle();
    bench.placement('by', named('a'));
    bench.settle();
    expect(bench.refs()).toEqual({ [map('a')]: ['by'], [shop]: ['by'] });
    bench.placement('by', named());
    bench.settle();
    expect(bench.refs()).toEqual({});
  });

  it('takes an object away when it is deleted, although finalizers keep it in the space', () => {
    bench.placement('p', named('a', 'b'));
    bench.settle();
    bench.keep('ConfigMap', 'a', 'shop');
    const { target } = bench.target('p')!;
    bench.delete('ConfigMap', 'a', 'shop');
    bench.settle();
    expect(bench.refs()).toEqual({ [map('b')]: ['p'], [shop]: ['p'] });
    expect(bench.target('p')!.target).toBeGreaterThan(target);
    bench.restart();
    bench.configMap('shop', 'b', {}, 'other');
    bench.settle();
    expect(bench.refs()).toEqual({ [map('b')]: ['p'], [shop]: ['p'] });
  });

  it('names the former uid once when an object with finalizers is made anew', () => {
    bench.placement('p', named('a'));
    bench.settle();
    bench.keep('ConfigMap', 'a', 'shop');
    bench.delete('ConfigMap', 'a', 'shop');
    bench.settle();
    bench.release('ConfigMap', 'a', 'shop');
    bench.configMap('shop', 'a');
    bench.settle();
    const row = bench.rows().find(({ key }) => key.endsWith(map('a')))!;
    expect((JSON.parse(row.attributes) as { former: string[] }).former).toHaveLength(1);
  });

  it.each([{}, { rollout: { strategy: 'Progressive', waves: [{ name: 'first', count: 2, soakSeconds: 1_000 }] } }])(
    'takes everything away when the placement is deleted, although finalizers keep it in the space: %o',
    (more) => {
      bench.placement('p', { ...named('a'), ...more });
      bench.settle();
      bench.keep('EdgePlacement', 'p');
      bench.delete('EdgePlacement', 'p');
      bench.settle();
      expect(bench.refs()).toEqual({});
      expect(
        bench
          .rows()
          .map(({ key }) => key[0])
          .sort(),
      ).toEqual(['p', 't']);
      bench.restart();
      bench.configMap('shop', 'a', {}, 'other');
      bench.settle();
      expect(bench.refs()).toEqual({});
      bench.release('EdgePlacement', 'p');
      bench.settle();
      expect(bench.rows()).toEqual([]);
    },
  );

  it('explains which items of which placements select an object', () => {
    bench.placement('p', named('a'));
    bench.settle();
    const key = { group: '', resource: 'configmaps', namespace: 'shop', name: 'a' };
    expect(bench.selection.explain(key)).toMatchObject([{ placement: 'p', items: [{ objectNames: ['a'] }] }]);
    expect(bench.selection.explain({ ...key, name: 'b' })).toEqual([]);
  });

  it('follows a placement with a changed rule', () => {
    bench.placement('p', named('a', 'b'));
    bench.settle();
    bench.placement('p', named('b', 'c'));
    bench.settle();
    expect(bench.refs()).toEqual({ [map('b')]: ['p'], [map('c')]: ['p'], [shop]: ['p'] });
  });

  it('follows the labels of an object', () => {
    bench.placement('p', configMaps({ labelSelectors: [{ matchLabels: { app: 'till' } }] }));
    bench.settle();
    expect(bench.refs()).toEqual({});
    bench.configMap('shop', 'a', { app: 'till' });
    bench.settle();
    expect(Object.keys(bench.refs())).toContain(map('a'));
    bench.configMap('shop', 'a', { app: 'other' });
    bench.settle();
    expect(bench.refs()).toEqual({});
  });

  it('follows the labels of a namespace, for everything in it', () => {
    const namespaceSelectors = [{ matchLabels: { tier: 'front' } }];
    bench.placement('p', { locationSelectors: [{}], downsync: [{ resources: ['configmaps'], namespaceSelectors }] });
    bench.settle();
    expect(bench.refs()).toEqual({});
    bench.namespace('shop', { tier: 'front' });
    bench.settle();
    expect(Object.keys(bench.refs())).toEqual(expect.arrayContaining([map('a'), map('b'), map('c'), shop]));
    bench.namespace('shop', { tier: 'back' });
    bench.settle();
    expect(bench.refs()).toEqual({});
  });

  it('carries the namespace of a selected object until the last of its objects goes', () => {
    bench.placement('p', named('a', 'b'));
    bench.settle();
    bench.delete('ConfigMap', 'a', 'shop');
    bench.settle();
    expect(bench.refs()).toEqual({ [map('b')]: ['p'], [shop]: ['p'] });
    bench.delete('ConfigMap', 'b', 'shop');
    bench.settle();
    expect(bench.refs()).toEqual({});
  });

  it('carries the definition of a kind that the space itself has defined', () => {
    const names = { kind: 'Till', listKind: 'TillList', plural: 'tills', singular: 'till' };
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    bench.space.create({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'tills.shop.example' },
      spec: {
        group: 'shop.example',
        scope: 'Namespaced',
        names,
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    });
    bench.settle();
    bench.space.create({ apiVersion: 'shop.example/v1', kind: 'Till', metadata: { namespace: 'shop', name: 't1' } });
    bench.placement('p', { locationSelectors: [{}], downsync: [{ apiGroup: 'shop.example', resources: ['tills'] }] });
    bench.settle();
    const definition = 'apiextensions.k8s.io/customresourcedefinitions//tills.shop.example';
    expect(bench.refs()).toEqual({ 'shop.example/tills/shop/t1': ['p'], [definition]: ['p'], [shop]: ['p'] });
  });

  it('carries the summarizers of objects that are created at the edge while a placement names them', () => {
    const bench = new SpaceBench();
    const carried = () =>
      bench
        .rows()
        .filter(({ key }) => key.startsWith('a/'))
        .map(({ key, attributes }) => [key.split('/').at(-1), (JSON.parse(attributes) as { refs: string[] }).refs]);
    const summarizer = (name: string) =>
      bench.space.create({
        apiVersion: 'edge.banyan.io/v1alpha1',
        kind: 'StatusSummarizer',
        metadata: { name },
        spec: { combinedFields: [{ name: 'n', type: 'COUNT' }] },
      });
    const upsync = (...statusSummarizers: string[]) => ({
      locationSelectors: [{ matchLabels: {} }],
      upsync: [{ apiGroup: 'wgpolicyk8s.io', resources: ['policyreports'], statusSummarizers }],
    });
    summarizer('severity');
    bench.placement('one', upsync('severity', 'later'));
    bench.placement('two', upsync('severity'));
    bench.settle();
    expect(carried()).toEqual([['severity', ['one', 'two']]]);
    summarizer('later');
    bench.placement('two', upsync());
    bench.settle();
    expect(carried().sort()).toEqual([
      ['later', ['one']],
      ['severity', ['one']],
    ]);
    bench.delete('EdgePlacement', 'one');
    bench.settle();
    expect(carried()).toEqual([]);
  });

  it('drops everything when its placement goes, and nothing that another one wants', () => {
    bench.placement('p', named('a', 'b'));
    bench.placement('q', named('b'));
    bench.settle();
    bench.delete('EdgePlacement', 'p');
    bench.settle();
    expect(bench.refs()).toEqual({ [map('b')]: ['q'], [shop]: ['q'] });
    bench.delete('EdgePlacement', 'q');
    bench.settle();
    expect(bench.rows()).toEqual([]);
  });

  it('names the placements that want an object only created: those whose selecting rules all say so', () => {
    const attributesOf = () => {
      const row = bench.rows().find(({ key }) => key.endsWith(map('a')));
      return JSON.parse(row?.attributes ?? '{}') as { createOnly?: string[] };
    };
    bench.placement('p', configMaps({ objectNames: ['a'], createOnly: true }));
    bench.settle();
    bench.placement('q', named('a'));
    bench.settle();
    expect(attributesOf().createOnly).toEqual(['p']);
    const { downsync } = named('a');
    bench.placement('p', { ...named('a'), downsync: [...downsync, { ...downsync[0], createOnly: true }] });
    bench.settle();
    expect(attributesOf()).not.toHaveProperty('createOnly');
  });

  it('names the placements that select an object by its name', () => {
    const namedBy = () => {
      const row = bench.rows().find(({ key }) => key.endsWith(map('a')));
      return (JSON.parse(row?.attributes ?? '{}') as { named?: string[] }).named;
    };
    bench.placement('p', configMaps({ objectNames: ['*'] }));
    bench.placement('q', configMaps({}));
    bench.settle();
    expect(namedBy()).toBeUndefined();
    bench.placement('q', configMaps({ objectNames: ['a', 'b'] }));
    bench.settle();
    expect(namedBy()).toEqual(['q']);
  });

  it('sends agents a separate row with the reporting rules, for placements that have some', () => {
    const rulesOf = (name: string) => {
      const row = bench.rows().find(({ key }) => key === `u/${source}/${name}`);
      return row && (JSON.parse(row.body) as object);
    };
    const upsync = [{ resources: ['policyreports'] }];
    const associated = [{ resources: ['pods'], limit: 5 }];
    bench.placement('p', { ...named('a'), upsync, associated });
    bench.placement('q', named('a'));
    bench.settle();
    expect(rulesOf('p')).toEqual({ upsync, associated });
    expect(rulesOf('q')).toBeUndefined();
    bench.placement('p', named('a'));
    bench.settle();
    expect(rulesOf('p')).toBeUndefined();
    bench.placement('p', { ...named('a'), upsync });
    bench.settle();
    bench.delete('EdgePlacement', 'p');
    bench.settle();
    expect(rulesOf('p')).toBeUndefined();
  });

  it('names the placements that only need an object, and do not select it', () => {
    bench.placement('p', named('a'));
    bench.placement('q', { locationSelectors: [{}], downsync: [{ apiGroup: '', resources: ['namespaces'] }] });
    bench.settle();
    const row = bench.rows().find(({ key }) => key.endsWith(shop));
    expect(JSON.parse(row!.attributes)).toMatchObject({ refs: ['p', 'q'], implied: ['p'] });
  });

  it('has in the target the values that decide a conflict, and writes no object again when they change', () => {
    bench.placement('p', named('a'));
    bench.settle();
    const before = bench.rows().filter(({ key }) => key.startsWith('o/'));
    const { uid, creationTimestamp } = bench.placement('p', {
      ...named('a'),
      priority: 7,
      deletion: { propagationPolicy: 'Orphan' },
    }).metadata;
    bench.settle();
    expect(bench.target('p')).toMatchObject({ priority: 7, created: creationTimestamp, uid, deletion: 'Orphan' });
    expect(bench.rows().filter(({ key }) => key.startsWith('o/'))).toEqual(before);
  });

  it('moves the target of the placements whose objects changed, and of no other', () => {
    bench.placement('p', named('a'));
    bench.placement('q', named('b'));
    bench.settle();
    const [p, q] = [bench.target('p')!, bench.target('q')!];
    bench.configMap('shop', 'a', {}, 'changed');
    bench.settle();
    expect(bench.target('p')!.target).toBeGreaterThan(p.target);
    expect(bench.target('q')).toEqual(q);
    const row = bench.rows().find(({ key }) => key === `o/${source}/${map('a')}`)!;
    expect(bench.target('p')!.target).toBeGreaterThanOrEqual(row.originRevision);
  });

  it('moves nothing for a change that does not travel', () => {
    bench.placement('p', named('a'));
    bench.settle();
    const before = bench.rows();
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{}' };
    bench.space.apply(
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'shop', name: 'a', annotations } },
      { fieldManager: 'kubectl' },
    );
    bench.configMap('shop', 'b', { not: 'selected' });
    bench.settle();
    expect(bench.rows()).toEqual(before);
  });

  it('continues after a restart with a placement that was made before it and not processed yet', () => {
    bench.placement('p', named('a'));
    bench.restart();
    bench.settle();
    expect(bench.refs()).toEqual({ [map('a')]: ['p'], [shop]: ['p'] });
  });

  it('continues after a restart with a placement that was changed before it and not processed yet', () => {
    bench.placement('p', named('a'));
    bench.settle();
    bench.placement('p', named('b'));
    bench.restart();
    bench.settle();
    expect(bench.refs()).toEqual({ [map('b')]: ['p'], [shop]: ['p'] });
  });

  it('gives no row an older origin revision than before, whatever the order of its work', () => {
    const secrets = (when: string) => ({
      locationSelectors: [{}],
      downsync: [{ resources: ['secrets'], namespaces: ['shop'], labelSelectors: [{ matchLabels: { when } }] }],
    });
    const secret = (name: string, when: string) =>
      bench.space.create({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace: 'shop', name, labels: { when } } });
    for (const when of ['early', 'late']) bench.placement(when, secrets(when));
    bench.settle();
    secret('z', 'early');
    for (let i = 0; i < 250; i++) secret(`a${i}`, 'late');
    const seen: number[] = [];
    const note = () => {
      const row = bench.rows().find(({ key }) => key.endsWith(shop));
      if (row) seen.push(row.originRevision);
    };
    while (bench.step()) note();
    expect(bench.refs()[shop]).toEqual(['early', 'late']);
    expect(seen).toEqual([...seen].sort((x, y) => x - y));
  });

  it('asks only the placements that name an object, its namespace or its labels, however many there are', () => {
    for (let i = 0; i < 300; i++) bench.placement(`p${i}`, named(`other-${i}`));
    bench.placement('q', named('a'));
    bench.settle();
    const before = bench.selection.asked;
    bench.configMap('shop', 'a', {}, 'changed');
    bench.settle();
    expect([bench.refs()[map('a')], bench.selection.asked - before]).toEqual([['q'], 1]);
  });

  it('reads no object that a changed placement does not name', () => {
    for (let i = 0; i < 50; i++) bench.configMap('shop', `other-${i}`);
    bench.settle();
    bench.placement('p', named('a', 'never-made'));
    const before = bench.selection.asked;
    bench.settle();
    // For `a`: there is no object of the other name, and the Namespace is not selected, only needed.
    expect(bench.refs()).toEqual({ [map('a')]: ['p'], [shop]: ['p'] });
    expect(bench.selection.asked - before).toBe(1);
  });
});

describe('exceptions and bookkeeping', () => {
  let bench: SpaceBench;
  const objects = () => Object.keys(bench.refs()).filter((key) => key !== shop);
  const all = (item: object = {}) => ({
    locationSelectors: [{}],
    downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['shop'], ...item }],
  });
  const lease = (name: string, holder = 'a') =>
    bench.space.apply(
      {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { namespace: 'shop', name },
        spec: { holderIdentity: holder },
      },
      { fieldManager: 'test', force: true },
    );

  beforeEach(() => {
    bench = new SpaceBench();
    bench.namespace('shop');
    for (const name of ['a', 'b', 'kube-root-ca.crt']) bench.configMap('shop', name);
    bench.settle();
  });

  it('leave out what * would select, with its Namespace if nothing else needs it', () => {
    bench.placement('p', all({ except: [{ objectNames: ['a'] }] }));
    bench.settle();
    expect(objects()).toEqual([map('b')]);
    bench.placement('p', all({ except: [{ resources: ['configmaps'] }] }));
    bench.settle();
    expect(bench.refs()).toEqual({});
    bench.placement('p', all());
    bench.settle();
    expect(objects()).toEqual([map('a'), map('b')]);
  });

  it('follow the labels of an object and of its namespace', () => {
    bench.placement(
      'p',
      all({
        except: [
          { labelSelectors: [{ matchLabels: { local: 'yes' } }] },
          { namespaceSelectors: [{ matchLabels: { local: 'yes' } }] },
        ],
      }),
    );
    bench.settle();
    bench.configMap('shop', 'a', { local: 'yes' });
    bench.settle();
    expect(objects()).toEqual([map('b')]);
    bench.namespace('shop', { local: 'yes' });
    bench.settle();
    expect(objects()).toEqual([]);
    bench.namespace('shop', { local: 'no' });
    bench.configMap('shop', 'a', { local: 'no' });
    bench.settle();
    expect(objects()).toEqual([map('a'), map('b')]);
  });

  it('give bookkeeping to a rule that names it', () => {
    bench.placement('p', all({ objectNames: ['kube-root-ca.crt'] }));
    bench.settle();
    expect(objects()).toEqual([map('kube-root-ca.crt')]);
  });

  it('make a changed Lease no work, unless a rule names its resource', () => {
    bench.placement('p', all());
    bench.settle();
    lease('leader');
    expect(bench.step()).toBe(false);
    bench.placement('p', all({ resources: ['leases'] }));
    bench.settle();
    expect(objects()).toEqual(['coordination.k8s.io/leases/shop/leader']);
    lease('leader', 'b');
    expect(bench.step()).toBe(true);
    bench.placement('p', all());
    bench.settle();
    lease('leader', 'c');
    expect(bench.step()).toBe(false);
    expect(objects()).toEqual([map('a'), map('b')]);
  });
});

describe('an object that is deleted and made anew', () => {
  let bench: SpaceBench;
  const attributesOf = (name: string) => {
    const row = bench.rows().find(({ key }) => key === `o/${source}/${map(name)}`);
    return row && (JSON.parse(row.attributes) as { uid: string; former?: string[] });
  };
  const uidOf = (name: string) =>
    bench.space.get({ group: '', resource: 'configmaps', namespace: 'shop', name })?.metadata.uid ?? '';
  const anew = (name: string) => {
    bench.delete('ConfigMap', name, 'shop');
    bench.configMap('shop', name);
  };

  beforeEach(() => {
    bench = new SpaceBench();
    bench.namespace('shop');
    bench.configMap('shop', 'a');
    bench.placement('p', configMaps());
    bench.settle();
  });

  it('names the uids of its former objects, whether its work comes at once or in between', () => {
    const uids = [uidOf('a')];
    anew('a');
    uids.push(uidOf('a'));
    anew('a');
    bench.settle();
    expect(attributesOf('a')).toMatchObject({ uid: uidOf('a'), former: uids.map((uid) => uid.slice(0, 8)) });
    uids.push(uidOf('a'));
    bench.delete('ConfigMap', 'a', 'shop');
    bench.settle();
    expect(attributesOf('a')).toBeUndefined();
    bench.restart();
    bench.configMap('shop', 'a');
    bench.settle();
    expect(attributesOf('a')?.former).toEqual(uids.map((uid) => uid.slice(0, 8)));
  });

  it('keeps these uids through further changes, and an object that was never deleted has none', () => {
    anew('a');
    bench.settle();
    const before = attributesOf('a');
    bench.configMap('shop', 'a', {}, 'changed');
    bench.configMap('shop', 'b');
    bench.settle();
    expect(attributesOf('a')?.former).toEqual(before?.former);
    expect(attributesOf('b')).not.toHaveProperty('former');
  });

  it('moves the target of its placement, even with the same content', () => {
    const before = bench.target('p')!.target;
    anew('a');
    bench.settle();
    expect(bench.target('p')!.target).toBeGreaterThan(before);
  });

  it('names no object that was never selected: no cluster has it', () => {
    bench.namespace('bank');
    bench.configMap('bank', 'a');
    bench.settle();
    bench.delete('ConfigMap', 'a', 'bank');
    bench.configMap('bank', 'a');
    bench.placement('p', configMaps({ namespaces: ['bank'] }));
    bench.settle();
    const row = bench.rows().find(({ key }) => key.endsWith('/configmaps/bank/a'));
    expect(JSON.parse(row!.attributes)).not.toHaveProperty('former');
  });

  it('names the newest 32', () => {
    for (let i = 0; i < 40; i++) anew('a');
    bench.settle();
    expect(attributesOf('a')?.former).toHaveLength(32);
  });

  it('keeps the name that it got from generateName, without the field', () => {
    const made = bench.space.create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { generateName: 'run-', namespace: 'shop' },
    });
    bench.settle();
    const row = bench.rows().find(({ key }) => key.endsWith(`/configmaps/shop/${made.metadata.name}`));
    expect(JSON.parse(row!.body).metadata).toEqual({ name: made.metadata.name, namespace: 'shop' });
  });
});
