import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutKubectl } from '../support/kubectl.ts';
import { fixture, LocalTree, until } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const space = 'space/center/retail';
const names = {
  'eu:paris:rivoli': 'Rivoli',
  'eu:paris:bastille': 'Bastille',
  'eu:berlin:mitte': 'Mitte',
  'us:market': 'Market',
  hq: 'Headquarters',
};
const shops = Object.keys(names);

interface Shown {
  metadata: { resourceVersion: string };
  data?: Record<string, string>;
}
interface Placement {
  status?: {
    summary?: Record<string, number>;
    display?: string;
    failures?: { path: string; object?: string; reason: string; message: string }[];
  };
}

describe.skipIf(withoutKubectl)(`customization on a tree of processes${why}`, () => {
  const tree = new LocalTree('deploy/topologies/shop.yaml');
  const map = (shop: string, name = 'greeting') =>
    tree.json<Shown>(`cluster/${shop}`, 'configmap', name, '-n', 'shopfront');
  const texts = (name?: string) => shops.map((shop) => map(shop, name)?.data?.text);
  const status = (context = space) => tree.json<Placement>(context, 'epl', 'shopfront')?.status;
  const failing = (context?: string) => status(context)?.failures?.map(({ path, reason }) => `${path} ${reason}`) ?? [];
  const customizer = (name: string, spec: object) => ({
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'Customizer',
    metadata: { name, namespace: 'shopfront' },
    spec,
  });
  const customize = (value: string) => {
    const { code, out } = tree.apply(space, customizer('greeting', { replacements: [{ path: '$.data.text', value }] }));
    expect(code, out).toBe(0);
  };
  /** The number of evaluations of a node. */
  const evaluations = (node: string) => {
    const line = tree
      .ok(`node/${node}`, 'get', '--raw', '/metrics')
      .match(/^banyan_customize_evaluations_total (\d+)$/m);
    return Number(line?.[1]);
  };

  beforeAll(async () => {
    await tree.up();
    tree.ok(space, 'apply', '-f', fixture('docs/examples/greeting.yaml'));
    tree.ok(space, 'wait', 'epl/shopfront', '--for=condition=Ready', '--timeout=60s');
  });
  afterAll(() => tree[Symbol.asyncDispose]());

  it('makes five greetings from one ConfigMap, each with the name of its shop', async () => {
    await until('each shop has its own', () =>
      texts().every((text, i) => text === `Welcome to ${names[shops[i] as 'hq']}`),
    );
    expect(shops.map((shop) => map(shop)?.data?.audience)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      'staff',
    ]);
    expect(texts('sign').slice(2)).toEqual([
      'Mitte, a store: 100% fresh',
      'Market, a store: 100% fresh',
      'Headquarters, a hq: 100% fresh',
    ]);
  });

  it('changes one shop with one evaluation when somebody edits an annotation of its Location', async () => {
    const nodes = ['center', 'eu', 'eu:paris', 'eu:berlin', 'us'];
    const before = nodes.map(evaluations);
    const versions = shops.map((shop) => map(shop)!.metadata.resourceVersion);
    tree.ok(space, 'delete', 'configmap', 'sign', '-n', 'shopfront');
    // It would be made again too.
    await until('the sign has gone', () => texts('sign').every((text) => text === undefined));
    tree.ok('node/eu:paris', 'annotate', 'location', 'rivoli', 'store-name=Tuileries', '--overwrite');
    await until('its greeting has changed', () => map(shops[0]!)?.data?.text === 'Welcome to Tuileries');
    expect(shops.map((shop, i) => map(shop)!.metadata.resourceVersion !== versions[i])).toEqual([
      true,
      false,
      false,
      false,
      false,
    ]);
    expect(nodes.map(evaluations).map((count, i) => count - before[i]!)).toEqual([0, 0, 1, 0, 0]);
    tree.ok('node/eu:paris', 'annotate', 'location', 'rivoli', 'note=not-read');
    tree.ok('node/eu:paris', 'annotate', 'location', 'bastille', 'store-name=Marais', '--overwrite');
    await until('another one has changed', () => map(shops[1]!)?.data?.text === 'Welcome to Marais');
    expect(evaluations('eu:paris') - before[2]!).toBe(2);
  });

  it('keeps the last good object at a destination where it fails, reports the failure at every level, also after a restart, and recovers', async () => {
    customize('In ${{ location.metadata.labels.zone }}');
    await until('the shops of a zone have it', () => texts().slice(0, 3).join() === 'In paris,In paris,In berlin');
    await until('the others fail', () => status()?.display === 'available 3/5 (2 failed)');
    expect(texts().slice(3)).toEqual(['Welcome to Market', 'Welcome to Headquarters']);
    expect(status()?.failures).toEqual(
      ['hq', 'us:market'].map((path) => ({
        path,
        object: 'configmaps shopfront/greeting',
        reason: 'CustomizationFailed',
        message: 'Customizer shopfront/greeting: spec.replacements[0].value: no such key: zone',
      })),
    );
    expect(failing('space/us/center.retail')).toEqual(['us:market CustomizationFailed']);
    tree.kill('us');
    await until('the relay is back and says so still', () => status('space/us/center.retail')?.summary?.failed === 1);
    expect(map('us:market')?.data?.text).toBe('Welcome to Market');
    tree.ok('node/us', 'label', 'location', 'market', 'zone=manhattan');
    await until('it has it too', () => map('us:market')?.data?.text === 'In manhattan');
    await until('one fails', () => failing().join() === 'hq CustomizationFailed');
    customize('Hello ${{ location.metadata.annotations["store-name"] }}');
    tree.ok(space, 'wait', 'epl/shopfront', '--for=condition=Ready', '--timeout=60s');
    await until(
      'all have it',
      () => texts().join() === 'Hello Tuileries,Hello Marais,Hello Mitte,Hello Market,Hello Headquarters',
    );
    expect(failing()).toEqual([]);
  });

  it('reports on the placement that it names a missing Customizer, and continues when the Customizer arrives', async () => {
    const rule = { apiGroup: '', resources: ['configmaps'], namespaces: ['shopfront'], customizers: ['later'] };
    tree.ok(space, 'patch', 'epl', 'shopfront', '--type=merge', '-p', JSON.stringify({ spec: { downsync: [rule] } }));
    await until(
      'it says so',
      () => failing().length === 5 && failing().every((text) => text.endsWith('CustomizerNotFound')),
    );
    expect(texts()[4]).toBe('Hello Headquarters');
    const renamed = (path: string, value: unknown) =>
      customizer('later', { rules: [{ patch: [{ op: 'add', path, value }] }] });
    expect(tree.apply(space, renamed('/metadata/name', 'renamed')).out).toContain('would make another object');
    const patch = [{ op: 'add', path: '/metadata', value: { name: 'renamed', namespace: 'shopfront' } }];
    tree.apply(space, customizer('later', { rules: [{ patch }] }));
    await until(
      'it says that this would be another object',
      () =>
        status()?.failures?.every(({ message }) => message.includes('the result: metadata.name: was changed')) ?? false,
    );
    tree.apply(
      space,
      customizer('later', { rules: [{ patch: [{ merge: { data: { tills: '${{ size(path) }}' } } }] }] }),
    );
    await until(
      'it says that this is of the wrong type',
      () => status()?.failures?.every(({ message }) => message.includes('ConfigMap.data of type string')) ?? false,
    );
    tree.apply(
      space,
      customizer('later', {
        rules: [
          { patch: [{ merge: { data: { at: '${{ path }}', tills: '${{ properties.?tills.orValue("one") }}' } } }] },
        ],
      }),
    );
    await until('it is applied', () => shops.every((shop) => map(shop)?.data?.at === shop));
    tree.ok(space, 'wait', 'epl/shopfront', '--for=condition=Ready', '--timeout=60s');
    expect(map('hq')?.data?.tills).toBe('one');
    tree.ok(
      'node/center',
      'patch',
      'synctarget',
      'hq',
      '--type=merge',
      '-p',
      '{"spec":{"properties":{"tills":"four"}}}',
    );
    await until('a property has changed it', () => map('hq')?.data?.tills === 'four');
    expect(map('us:market')?.data?.tills).toBe('one');
  });

  it('refuses a Customizer that cannot be applied, and names its fields', () => {
    const rules = [{ when: 'location.', patch: [{ op: 'put', path: 'data' }] }];
    const { code, out } = tree.apply(
      space,
      customizer('bad', { rules, replacements: [{ path: '$..a', value: '${{ place }}' }] }),
    );
    expect(code).not.toBe(0);
    for (const field of ['rules[0].when', 'rules[0].patch[0].op', 'replacements[0].path', 'replacements[0].value'])
      expect(out).toContain(`spec.${field}`);
  });
});
