/** The changes by others that an agent notices in applied objects, on a cluster with server-side apply. */
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { SparseApplyRules } from '../../../core/entries/apply-rules.ts';
import { parseKey } from '../../../core/object/key.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { EmbeddedBench } from './support/embedded-bench.ts';

const text = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: beacons.light.example.org}
spec:
  group: light.example.org
  scope: Namespaced
  names: {plural: beacons, singular: beacon, kind: Beacon, listKind: BeaconList}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                lamps:
                  type: array
                  items: {type: object, properties: {name: {type: string}, color: {type: string}, watts: {type: integer, default: 5}}}
            status: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
apiVersion: v1
kind: Namespace
metadata: {name: harbour}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: tides, namespace: harbour}
data: {high: "12"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: keeper, namespace: harbour}
rules:
  - {apiGroups: [""], resources: [configmaps], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: keeper, namespace: harbour}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: keeper}
subjects:
  - {kind: ServiceAccount, name: keeper, namespace: harbour}
  - {kind: ServiceAccount, name: keeper, namespace: village}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: all-lights}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {light: "true"}}]}
rules: []
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: quay, namespace: harbour}
spec:
  podSelector: {}
  ingress:
    - from: [{podSelector: {matchLabels: {app: lamp}}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: lamp, namespace: harbour}
spec:
  replicas: 2
  selector: {matchLabels: {app: lamp}}
  template:
    metadata: {labels: {app: lamp}}
    spec:
      containers:
        - name: lamp
          image: lamp:1
          resources: {requests: {cpu: 1000m}}
          ports: [{containerPort: 80}]
          volumeMounts: [{name: data, mountPath: /a}, {name: data, mountPath: /b}]
      volumes: [{name: data, emptyDir: {}}]
---
apiVersion: light.example.org/v1
kind: Beacon
metadata: {name: north, namespace: harbour}
spec: {lamps: [{name: top, color: red}]}
`;
const objects = parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
const [, , tides, role, binding, aggregated, policy, lamp, beacon] = objects as [
  KubeObject,
  KubeObject,
  KubeObject,
  KubeObject,
  KubeObject,
  KubeObject,
  KubeObject,
  KubeObject,
  KubeObject,
];

interface Change {
  readonly what: string;
  readonly of: KubeObject;
  /** JSON Patch. */
  readonly operations: readonly object[];
  readonly reported?: string;
}

const container = '/spec/template/spec/containers/0';
const mounts: Change = {
  what: 'the second mount of one volume is moved',
  of: lamp,
  operations: [{ op: 'replace', path: `${container}/volumeMounts/1/mountPath`, value: '/c' }],
  reported: 'is missing and was applied as {"mountPath":"/b","name":"data"}',
};
const seen: readonly Change[] = [
  {
    what: 'a subject is added to a binding',
    of: binding,
    operations: [
      {
        op: 'add',
        path: '/subjects/-',
        value: { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'mallory' },
      },
    ],
    reported: 'subjects is ',
  },
  {
    what: 'the second of two subjects of one name becomes another',
    of: binding,
    operations: [{ op: 'replace', path: '/subjects/1/namespace', value: 'elsewhere' }],
    reported: 'subjects[1].namespace is "elsewhere" and was applied as "village"',
  },
  {
    what: 'an empty selector is narrowed',
    of: policy,
    operations: [{ op: 'add', path: '/spec/podSelector/matchLabels', value: { app: 'none' } }],
    reported: 'spec.podSelector.matchLabels is {"app":"none"} and was not applied',
  },
  {
    what: 'a peer is opened to all namespaces',
    of: policy,
    operations: [{ op: 'add', path: '/spec/ingress/0/from/0/namespaceSelector', value: {} }],
    reported: 'spec.ingress[0].from[0].namespaceSelector is {} and was not applied',
  },
  {
    what: 'a rule is narrowed to one name',
    of: role,
    operations: [{ op: 'add', path: '/rules/0/resourceNames', value: ['tides'] }],
    reported: 'rules[0].resourceNames is ["tides"] and was not applied',
  },
  {
    what: 'an item is added to a list of a custom resource',
    of: beacon,
    operations: [{ op: 'add', path: '/spec/lamps/-', value: { name: 'side', color: 'green' } }],
    reported: 'spec.lamps is ',
  },
  {
    what: 'an applied value is changed',
    of: tides,
    operations: [{ op: 'replace', path: '/data/high', value: '11' }],
    reported: 'data.high is "11" and was applied as "12"',
  },
];

const harmless: readonly Change[] = [
  {
    what: 'labels and annotations of others',
    of: policy,
    operations: [
      { op: 'add', path: '/metadata/labels/team', value: 'x' },
      { op: 'add', path: '/metadata/annotations/note', value: 'y' },
    ],
  },
  {
    what: 'data beside the applied',
    of: tides,
    operations: [{ op: 'add', path: '/data/low', value: '6' }],
  },
  {
    what: 'a variable, a port and a container beside the applied',
    of: lamp,
    operations: [
      { op: 'add', path: `${container}/env`, value: [{ name: 'A', value: '1' }] },
      { op: 'add', path: `${container}/ports/0`, value: { containerPort: 81 } },
      { op: 'add', path: container, value: { name: 'side', image: 'side:1' } },
    ],
  },
  {
    what: 'a write of the same',
    of: binding,
    operations: [{ op: 'replace', path: '/subjects', value: binding.subjects }],
  },
];

async function running(rules: SparseApplyRules = {}): Promise<EmbeddedBench> {
  const bench = await new EmbeddedBench(rules).start();
  await bench.place(objects);
  await bench.pass(8_000);
  return bench;
}

function edit(bench: EmbeddedBench, { of, operations }: Change): KubeObject {
  return bench.space.patch(parseKey(bench.keyOf(of)), { type: 'json', operations }, { fieldManager: 'kubectl-edit' });
}

/** The written fields, without the notes of a controller beside them. */
function content({ metadata, status: _status, ...rest }: KubeObject): object {
  const { 'deployment.kubernetes.io/revision': _revision, ...annotations } = metadata.annotations ?? {};
  return { ...rest, labels: metadata.labels, annotations };
}

/** The time at which the agent applied the object last, in seconds. */
function appliedAt(bench: EmbeddedBench, of: KubeObject): string | undefined {
  return bench.live(of)!.metadata.managedFields?.find(({ operation }) => operation === 'Apply')?.time;
}

describe('with drift Correct', () => {
  it.each(seen)('$what: it is corrected, each time', async (change) => {
    const bench = await running();
    const before = content(bench.live(change.of)!);
    for (let round = 0; round < 2; round++) {
      expect(content(edit(bench, change))).not.toEqual(before);
      await bench.pass(2_000);
      expect(content(bench.live(change.of)!)).toEqual(before);
    }
  });

  it('a mount that is moved is corrected beside the one that was made of it', async () => {
    const bench = await running();
    edit(bench, mounts);
    await bench.pass(2_000);
    const at = ['/a', '/b', '/c'].map((mountPath) => ({ name: 'data', mountPath }));
    const containers = [{ volumeMounts: expect.arrayContaining(at) }];
    expect(bench.live(lamp)!.spec).toMatchObject({ template: { spec: { containers } } });
  });

  it.each(harmless)('$what: nothing is applied', async (change) => {
    const bench = await running();
    const at = appliedAt(bench, change.of);
    edit(bench, change);
    await bench.pass(20_000);
    expect(appliedAt(bench, change.of)).toBe(at);
  });
});

describe('with drift Report', () => {
  it.each([...seen, mounts])('$what: it is reported, until it is reverted, and reported again', async (change) => {
    const bench = await running({ drift: 'Report' });
    const before = bench.live(change.of)!;
    for (let round = 0; round < 2; round++) {
      const edited = content(edit(bench, change));
      await bench.pass(15_000);
      expect(bench.reported(change.of)).toMatch(/^Drifted: /);
      expect(bench.reported(change.of)).toContain(change.reported);
      expect(content(bench.live(change.of)!)).toEqual(edited);
      const { metadata } = bench.live(change.of)!;
      bench.space.update({ ...before, metadata }, { fieldManager: 'kubectl-edit' });
      await bench.pass(15_000);
      expect(bench.reported(change.of)).toBe('');
    }
  });

  it.each(harmless)('$what: nothing is reported', async (change) => {
    const bench = await running({ drift: 'Report' });
    edit(bench, change);
    await bench.pass(15_000);
    expect(bench.reported(change.of)).toBe('');
  });
});

describe('a change by controllers and other appliers', () => {
  it('is not corrected if it is beside the applied fields, or equal to them', async () => {
    const bench = await running();
    const time = appliedAt(bench, lamp);
    const { apiVersion, kind, metadata } = lamp;
    const spec = {
      minReadySeconds: 1,
      replicas: 2,
      template: { spec: { containers: [{ name: 'lamp', image: 'lamp:1' }] } },
    };
    bench.space.apply({ apiVersion, kind, metadata, spec }, { fieldManager: 'argocd' });
    const status = { ...bench.live(lamp)!, status: { replicas: 1 } };
    bench.space.update(status, { fieldManager: 'kube-controller-manager', subresource: 'status' });
    await bench.pass(20_000);
    expect(appliedAt(bench, lamp)).toBe(time);
    expect(bench.live(lamp)!.spec).toMatchObject({ minReadySeconds: 1, replicas: 2 });
  });

  it('is corrected if it is another number of replicas, and kept if that number belongs to the cluster', async () => {
    const scaled = async (rules: SparseApplyRules) => {
      const bench = await running(rules);
      const at = appliedAt(bench, lamp);
      const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: lamp.metadata, spec: { replicas: 5 } };
      const written = { fieldManager: 'autoscaler', subresource: 'scale' } as const;
      bench.space.updateScale(parseKey(bench.keyOf(lamp)), scale, written);
      await bench.pass(15_000);
      const { spec } = bench.live(lamp)!;
      return { spec, isApplied: appliedAt(bench, lamp) !== at, reported: bench.reported(lamp) };
    };
    expect(await scaled({})).toMatchObject({ spec: { replicas: 2 }, isApplied: true, reported: '' });
    for (const drift of ['Correct', 'Report'] as const) {
      const left = await scaled({ drift, ignored: ['.spec.replicas'] });
      expect(left).toMatchObject({ spec: { replicas: 5 }, isApplied: false, reported: '' });
    }
  });

  it('is kept in the rules of an aggregated ClusterRole, also when the ClusterRole is applied again', async () => {
    const bench = await running();
    const { apiVersion, kind, metadata } = aggregated;
    const rules = [{ apiGroups: ['light.example.org'], resources: ['beacons'], verbs: ['get'] }];
    const part = { name: 'part-of-the-site', labels: { light: 'true' } };
    bench.space.create({ apiVersion, kind, metadata: part, rules }, { fieldManager: 'site' });
    await bench.pass(100);
    expect(bench.live(aggregated)).toMatchObject({ rules });
    const { resourceVersion } = bench.live(aggregated)!.metadata;
    await bench.pass(20_000);
    expect(bench.live(aggregated)!.metadata.resourceVersion).toBe(resourceVersion);
    await bench.place([{ ...aggregated, metadata: { ...metadata, labels: { more: 'x' } } }]);
    await bench.pass(5_000);
    expect(bench.live(aggregated)).toMatchObject({ rules, metadata: { labels: { more: 'x' } } });
  });
});
