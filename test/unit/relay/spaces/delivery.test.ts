import { beforeEach, describe, expect, it } from 'vitest';
import type { Space } from '../../../../core/apiserver/space.ts';
import { attributesOf, parseEntryKey } from '../../../../core/entries/entry-keys.ts';
import type { DeliveryBounds } from '../../../../core/match/delivery-bounds.ts';
import type { Json, JsonObject } from '../../../../core/object/meta.ts';
import { asText } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { NodeConfig } from '../../../../relay/config/config.ts';
import type { NodeSpaces } from '../../../../relay/spaces/node-spaces.ts';
import { startedSpaces } from '../support/started-spaces.ts';

const source = 'center.tills';
const spaceKey = { group: 'mesh.banyan.io', resource: 'spaces', namespace: '', name: 'tills' };
const tenant = { fieldManager: 'test', user: { name: 'tess', groups: [] } };
const bounds: DeliveryBounds = {
  locationSelector: { matchLabels: { region: 'eu' } },
  namespaces: ['till-*'],
  clusterScoped: [],
  upsync: [{ apiGroup: '', resources: ['configmaps'] }],
  priorityMax: 5,
};

let store: MemoryStore;
let spaces: NodeSpaces;
let space: Space;

function start(config: NodeConfig['spaces']): void {
  spaces = startedSpaces(store, config);
  space = spaces.own(source)!;
}

/** Sets `spec.delivery`, as the platform team does. */
function bound(delivery: DeliveryBounds | null): void {
  spaces.system.patch(spaceKey, { type: 'merge', patch: { spec: { delivery: delivery as Json } } }, tenant);
  settle();
}

function settle(): void {
  for (const part of spaces.contributing()) while (store.write((t) => part.step(t)));
}

function create(apiVersion: string, kind: string, name: string, namespace?: string, more: object = {}): void {
  space.create({ apiVersion, kind, metadata: { name, ...(namespace ? { namespace } : {}) }, ...more }, tenant);
}

function place(spec: object, name = 'p'): void {
  create('edge.banyan.io/v1alpha1', 'EdgePlacement', name, undefined, { spec });
}

function refusal(act: () => void): string {
  try {
    act();
  } catch (error) {
    return (error as Error).message;
  }
  return 'accepted';
}

function rows(): Record<string, { attributes: Record<string, unknown>; body: string }> {
  const table = spaces.tableOf(source)!;
  return store.read((reader) =>
    Object.fromEntries(
      [...table.rows(reader)].map((row) => {
        const content = table.content(reader, row.content!);
        return [
          content.key,
          { attributes: attributesOf<Record<string, unknown>>(content), body: asText(content.body) },
        ];
      }),
    ),
  );
}

const target = () => rows()[`t/${source}/p`]!.attributes.target as number;
const delivered = () =>
  Object.keys(rows())
    .filter((key) => parseEntryKey(key)?.type === 'object')
    .sort();
const specIn = (key: string) => (JSON.parse(rows()[key]!.body) as { spec: Record<string, unknown> }).spec;

const everything = {
  locationSelectors: [{ matchLabels: { env: 'prod' } }],
  downsync: [
    { apiGroup: '*', resources: ['*'], namespaces: ['*'] },
    { apiGroup: '*', resources: ['*'] },
  ],
  priority: 9,
  upsync: [{ apiGroup: '', resources: ['*'], namespaces: ['*', 'till-1'] }],
};

beforeEach(() => {
  store = new MemoryStore();
  start([{ name: 'tills', type: 'Workload' }]);
});

describe('a space with bounds', () => {
  beforeEach(() => bound(bounds));

  it('refuses an object outside when it is created', () => {
    expect(refusal(() => create('v1', 'Namespace', 'kube-public'))).toBe(
      'namespaces "kube-public" is forbidden: the Space tills delivers only into namespaces till-* (spec.delivery.namespaces): use one of these, or ask those who run this node for more',
    );
    expect(refusal(() => create('v1', 'ConfigMap', 'a', 'kube-system'))).toContain('configmaps "a" is forbidden');
    expect(refusal(() => create('rbac.authorization.k8s.io/v1', 'ClusterRole', 'a', undefined, { rules: [] }))).toBe(
      'clusterroles.rbac.authorization.k8s.io "a" is forbidden: of cluster-scoped objects, the Space tills delivers none (spec.delivery.clusterScoped): use a namespaced kind, or ask those who run this node for more',
    );
    create('v1', 'Namespace', 'till-1');
    create('v1', 'ConfigMap', 'a', 'till-1');
  });

  it.each([
    [
      { locationSelectors: [{ matchLabels: { env: 'prod' } }] },
      'spec.locationSelectors[0]: Invalid value: {"matchLabels":{"env":"prod"}}: the Space tills delivers only to Locations with region in (eu)',
    ],
    [{ locationExpression: 'true' }, 'spec.locationSelectors: Invalid value: []'],
    [
      { downsync: [{ apiGroup: '', resources: ['*'], namespaces: ['till-1', 'shop'] }] },
      'spec.downsync[0].namespaces[1]: Invalid value: "shop"',
    ],
    [
      { downsync: [{ apiGroup: '*', resources: ['clusterroles'] }] },
      'spec.downsync[0].resources[0]: Invalid value: "clusterroles"',
    ],
    [
      { downsync: [{ apiGroup: '', resources: ['namespaces'], objectNames: ['shop'] }] },
      'spec.downsync[0].objectNames[0]: Invalid value: "shop"',
    ],
    [
      { upsync: [{ apiGroup: '', resources: ['secrets'], namespaces: ['till-1'] }] },
      'spec.upsync[0].resources: Invalid value: ["secrets"]',
    ],
    [
      { upsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: ['shop'] }] },
      'spec.upsync[0].namespaces: Invalid value: ["shop"]',
    ],
    [{ priority: 6 }, 'spec.priority: Invalid value: 6: the Space tills allows at most 5'],
  ])('refuses a placement with %j', (spec, message) => {
    const eu = 'locationExpression' in spec ? {} : { locationSelectors: [{ matchLabels: { region: 'eu' } }] };
    expect(refusal(() => place({ ...eu, ...spec }))).toContain(message);
  });

  it('accepts a placement within the bounds, and sends its row with the bounds and otherwise unchanged', () => {
    const within = {
      locationSelectors: [{ matchLabels: { region: 'eu', env: 'prod' } }],
      downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['*'] }],
      upsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: ['till-1'] }],
      priority: 5,
    };
    place(within);
    settle();
    expect(specIn(`p/${source}/p`)).toMatchObject(within);
    expect(rows()[`p/${source}/p`]!.attributes.delivery).toEqual(bounds);
  });

  it('lets a definition in, which has its nature in the space, and sends it nowhere', () => {
    const spec = {
      group: 'example.com',
      names: { plural: 'tills', kind: 'Till' },
      scope: 'Namespaced',
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    };
    create('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'tills.example.com', undefined, { spec });
    place({ locationSelectors: [{ matchLabels: { region: 'eu' } }], downsync: [{ apiGroup: '*', resources: ['*'] }] });
    settle();
    expect(delivered()).toEqual([]);
  });
});

describe('bounds that come later', () => {
  beforeEach(() => {
    create('v1', 'Namespace', 'till-1');
    create('v1', 'Namespace', 'shop');
    create('v1', 'ConfigMap', 'a', 'till-1');
    create('v1', 'ConfigMap', 'b', 'shop');
    create('rbac.authorization.k8s.io/v1', 'ClusterRole', 'r', undefined, { rules: [] });
    place(everything);
    settle();
  });
  const o = (...keys: string[]) => keys.map((key) => `o/${source}/${key}`).sort();
  const within = o('/configmaps/till-1/a', '/namespaces//till-1');

  it('withdraw what is no longer allowed, and nothing else', () => {
    expect(delivered()).toEqual(
      expect.arrayContaining(o('/configmaps/shop/b', 'rbac.authorization.k8s.io/clusterroles//r')),
    );
    bound(bounds);
    expect(delivered()).toEqual(within);
    expect(rows()[`t/${source}/p`]!.attributes.priority).toBe(5);
    expect(specIn(`p/${source}/p`).locationSelectors).toEqual([
      {
        matchExpressions: [
          { key: 'env', operator: 'In', values: ['prod'] },
          { key: 'region', operator: 'In', values: ['eu'] },
        ],
      },
    ]);
    expect(JSON.parse(rows()[`u/${source}/p`]!.body).upsync).toEqual([
      { apiGroup: '', resources: ['configmaps'], namespaces: ['till-1'] },
    ]);
  });

  it('give everything back when they go, also after a start in between', () => {
    const before = rows();
    const targets = [target()];
    bound(bounds);
    targets.push(target());
    spaces.close();
    start([{ name: 'tills', type: 'Workload' }]);
    settle();
    expect(delivered()).toEqual(within);
    bound(null);
    expect(delivered()).toEqual(
      Object.keys(before)
        .filter((key) => key.startsWith('o/'))
        .sort(),
    );
    expect(rows()[`p/${source}/p`]).toEqual(before[`p/${source}/p`]);
    // What comes back is newer than what has left.
    expect([...targets, target()].sort((a, b) => a - b)).toEqual([...new Set([...targets, target()])]);
  });

  it('let an old placement be edited and deleted', () => {
    bound(bounds);
    const key = { group: 'edge.banyan.io', resource: 'edgeplacements', namespace: '', name: 'p' };
    space.patch(key, { type: 'merge', patch: { metadata: { labels: { a: 'b' } } } }, tenant);
    expect(refusal(() => space.patch(key, { type: 'merge', patch: { spec: { priority: 8 } } }, tenant))).toContain(
      'spec.priority',
    );
    space.patch(
      { ...key, group: '', resource: 'configmaps', namespace: 'shop', name: 'b' },
      { type: 'merge', patch: { data: { x: 'y' } } },
      tenant,
    );
    space.delete(key, tenant);
    settle();
    expect(rows()).toEqual({});
  });
});

describe('bounds in the configuration', () => {
  const configured = (priorityMax: number) => [{ name: 'tills', type: 'Workload' as const, delivery: { priorityMax } }];
  const present = () => (spaces.system.get(spaceKey)!.spec as { delivery?: unknown }).delivery;
  const restart = (config: NodeConfig['spaces']) => {
    spaces.close();
    start(config);
  };

  it('are written at a start when they have changed, and a change by a person stays until then', () => {
    restart(configured(1));
    expect(present()).toEqual({ priorityMax: 1 });
    bound({ priorityMax: 2 });
    restart(configured(1));
    expect(present()).toEqual({ priorityMax: 2 });
    restart(configured(3));
    expect(present()).toEqual({ priorityMax: 3 });
    restart([{ name: 'tills', type: 'Workload' }]);
    expect(present()).toBeUndefined();
  });

  it('leave bounds alone that only people have written', () => {
    bound({ priorityMax: 2 });
    restart([{ name: 'tills', type: 'Workload' }]);
    expect(present()).toEqual({ priorityMax: 2 });
  });
});

describe('a Space', () => {
  const patched = (spec: JsonObject) =>
    refusal(() => spaces.system.patch(spaceKey, { type: 'merge', patch: { spec } }, tenant));

  it('refuses bounds that say nothing, or the wrong thing', () => {
    expect(patched({ delivery: { namespaces: ['Till'] } })).toContain('spec.delivery.namespaces[0]');
    expect(patched({ delivery: { clusterScoped: [{ resources: ['a'] }] } })).toContain(
      'spec.delivery.clusterScoped[0].apiGroup: Required',
    );
    expect(patched({ delivery: { locationSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] } } })).toContain(
      'spec.delivery.locationSelector.matchExpressions[0].values',
    );
    expect(patched({ type: 'Inventory' })).not.toBe('accepted');
    const resources = Array.from({ length: 64 }, (_, i) => `${'r'.repeat(60)}${i}`);
    const clusterScoped = Array.from({ length: 8 }, () => ({ apiGroup: 'example.com', resources }));
    expect(patched({ delivery: { clusterScoped } })).toContain('use at most 16384 bytes');
    expect(patched({ delivery: { namespaces: ['till-*'] } })).toBe('accepted');
  });
});
