import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { kubectlBy, type LocalTree, until } from '../e2e/local-tree.ts';
import { buildMsMax } from '../e2e/one-site.ts';
import { RealCluster } from '../e2e/real-cluster.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { Helm, withoutHelm } from '../support/helm.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const missing = withoutKubectl ?? withoutControlPlane() ?? withoutHelm;
const why = missing ? ` [not run: ${missing}]` : '';
const retail = 'space/center/retail';
const [managedByUs, theirs] = ['banyan.io/managed', 'theirs'];

interface Shown {
  readonly metadata: {
    readonly uid?: string;
    readonly generation?: number;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: { readonly replicas?: number; readonly template?: object };
  readonly status?: {
    readonly display?: string;
    readonly observedGeneration?: number;
    readonly failures?: readonly { readonly object?: string; readonly reason: string; readonly message: string }[];
  };
}

const configMap = (name: string, namespace: string, of: string, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, ...metadata },
  data: { of },
});
const deployment = (name: string, namespace: string, image: string, metadata: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace, ...metadata },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'app', image: `registry.example.com/${image}` }] },
    },
  },
});
const place = (name: string, rules: object = {}) => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name },
  spec: {
    locationSelectors: [{ matchLabels: { env: 'prod' } }],
    downsync: [{ apiGroup: '*', resources: ['*'], namespaces: [name] }],
    ...rules,
  },
});

/** Only the API server is needed for it. `of`: the condition for objects that nobody may change in this way. */
const policy = (name: string, operation: 'DELETE' | 'UPDATE', of: string, message: string) => [
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: [operation], resources: ['configmaps'] }],
      },
      validations: [{ expression: `!(${of})`, message }],
    },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  },
];

describe.skipIf(missing)(`a real cluster with other controllers and policies${why}`, () => {
  let cluster: RealCluster;
  let tree: LocalTree;
  let helm: Helm;
  const site = (args: readonly string[], ...items: object[]) => cluster.kubectl(args, ...items);
  const there = (kind: string, name: string, namespace: string) => cluster.there<Shown>(kind, name, '-n', namespace);
  const put = (namespace: string, ...items: object[]) => {
    const all = [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }, ...items];
    const { code, out } = tree.apply(retail, { apiVersion: 'v1', kind: 'List', items: all });
    expect(code, out).toBe(0);
  };
  const placement = (name: string) => tree.json<Shown>(retail, 'epl', name);
  const messageAbout = (name: string, object: string) =>
    placement(name)?.status?.failures?.find((one) => one.object === object)?.message ?? '';
  const isAvailable = (name: string) => placement(name)?.status?.display === 'available 1/1';
  /** A policy takes effect when the API server has compiled it. */
  const enforce = async (policies: object[], trial: readonly string[]) => {
    site(['create', '-f', '-'], ...policies);
    await until('the policy is in force', () => kubectlBy(cluster.plane.kubeconfig, trial).code !== 0);
  };

  beforeAll(async () => {
    cluster = await RealCluster.start('others', { nodes: 1 });
    tree = cluster.tree;
    helm = await Helm.find(join(cluster.directory, 'helm'));
  }, buildMsMax);
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  it('reports why a policy refuses a change of one object, changes the others, and changes that object when the policy goes', async () => {
    const ours = (of: string) => ['ledger', 'prices'].map((name) => configMap(name, 'audit', of));
    put('audit', ...ours('first'), place('audit'));
    await until('the objects are there', () => isAvailable('audit'));
    const frozen = policy('frozen', 'UPDATE', "object.metadata.name == 'ledger'", 'the ledger is closed for the year');
    await enforce(frozen, ['annotate', 'cm', 'ledger', '-n', 'audit', 'a=b', '--dry-run=server']);
    put('audit', ...ours('second'));
    await until('the other one is changed', () => there('cm', 'prices', 'audit')?.data?.of === 'second');
    await until('it is said', () =>
      messageAbout('audit', 'configmaps audit/ledger').includes('ledger is closed for the year'),
    );
    expect(there('cm', 'ledger', 'audit')?.data?.of).toBe('first');
    expect(messageAbout('audit', 'configmaps audit/prices')).toBe('');
    site(['delete', 'validatingadmissionpolicybinding', 'frozen']);
    await until('it is changed', () => there('cm', 'ledger', 'audit')?.data?.of === 'second');
    await until('nothing is said any more', () => isAvailable('audit'));
  });

  it('reports why a policy refuses the removal of an object, and removes the object when the policy goes', async () => {
    const kept = policy('kept', 'DELETE', "oldObject.metadata.name == 'ledger'", 'a ledger is kept for ten years');
    await enforce(kept, ['delete', 'cm', 'ledger', '-n', 'audit', '--dry-run=server']);
    tree.ok(retail, 'delete', 'configmap', 'ledger', 'prices', '-n', 'audit');
    await until('the other one goes', () => there('cm', 'prices', 'audit') === undefined);
    const message =
      /nobody wants the object any more, and removing it was refused: .*ledger.* is forbidden: .*a ledger is kept for ten years/;
    await until('it is said', () => message.test(messageAbout('audit', 'configmaps audit/ledger')));
    expect(there('cm', 'ledger', 'audit')?.metadata.labels?.[managedByUs]).toBe('true');
    site(['delete', 'validatingadmissionpolicybinding', 'kept']);
    await until('it goes', () => there('cm', 'ledger', 'audit') === undefined);
    await until('nothing is said any more', () => isAvailable('audit'));
  });

  it('leaves alone an object that a Helm release or Argo CD keeps, names the keeper, and takes the object with adopt: Always', async () => {
    const chart = join(cluster.directory, 'chart');
    mkdirSync(join(chart, 'templates'), { recursive: true });
    writeFileSync(join(chart, 'Chart.yaml'), stringify({ apiVersion: 'v2', name: 'shop', version: '1.0.0' }));
    for (const object of [configMap('prices', 'stall', theirs), deployment('till', 'stall', theirs)])
      writeFileSync(join(chart, 'templates', `${object.kind}.yaml`), stringify(object));
    const { code, out } = helm.run(
      'install',
      'corner',
      chart,
      '-n',
      'stall',
      '--create-namespace',
      '--kubeconfig',
      cluster.plane.kubeconfig,
    );
    expect(code, out).toBe(0);
    const ofArgo = configMap('signs', 'stall', theirs, {
      annotations: { 'argocd.argoproj.io/tracking-id': 'street:/ConfigMap:stall/signs' },
    });
    site(['apply', '--server-side', '--field-manager=argocd-controller', '-f', '-'], ofArgo);
    const found = () => ['cm/prices', 'deploy/till', 'cm/signs'].map((of) => there(...split(of), 'stall'));
    await until(
      'the controllers have seen it',
      () => there('deploy', 'till', 'stall')?.status?.observedGeneration === 1,
    );
    const before = found().map(withoutStatus);

    const objects = [
      configMap('prices', 'stall', 'ours'),
      configMap('signs', 'stall', 'ours'),
      deployment('till', 'stall', 'ours'),
    ];
    put('stall', ...objects, configMap('other', 'stall', 'ours'), place('stall'));
    await until('what nobody has is there', () => there('cm', 'other', 'stall') !== undefined);
    const release = /not taken over: the Helm release corner in namespace stall keeps it \(spec.adopt: Always/;
    const application = /not taken over: the Argo CD application street keeps it \(spec.adopt: Always/;
    for (const [object, message] of [
      ['configmaps stall/prices', release],
      ['deployments.apps stall/till', release],
      ['configmaps stall/signs', application],
    ] as const)
      await until(`it is said of ${object}`, () => message.test(messageAbout('stall', object)));
    expect(found().map(withoutStatus)).toEqual(before);

    put('stall', place('stall', { adopt: 'Always' }));
    const isTaken = (object: Shown | undefined) => object?.metadata.labels?.[managedByUs] === 'true';
    await until('all are taken', () => found().every(isTaken));
    expect(there('cm', 'prices', 'stall')?.data).toEqual({ of: 'ours' });
    expect(there('cm', 'signs', 'stall')?.data).toEqual({ of: 'ours' });
    expect(JSON.stringify(there('deploy', 'till', 'stall')?.spec?.template)).toContain('registry.example.com/ours');
  });

  it('applies objects in a namespace that somebody else keeps, and restores them when both are deleted', async () => {
    const annotations = { 'meta.helm.sh/release-name': 'grounds', 'meta.helm.sh/release-namespace': 'default' };
    site(['create', '-f', '-'], { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'yard', annotations } });
    put('yard', configMap('gates', 'yard', 'ours'), place('yard'));
    await until('it is there', () => there('cm', 'gates', 'yard')?.data?.of === 'ours');
    const message = /not taken over: the Helm release grounds in namespace default keeps it/;
    await until('the namespace is said', () => message.test(messageAbout('yard', 'namespaces yard')));
    expect(cluster.there<Shown>('ns', 'yard')?.metadata.labels?.[managedByUs]).toBeUndefined();
    const before = there('cm', 'gates', 'yard')?.metadata.uid;
    site(['delete', 'namespace', 'yard']);
    await until('it is there again', () => ![undefined, before].includes(there('cm', 'gates', 'yard')?.metadata.uid));
    await until('nothing is said any more', () => isAvailable('yard'));
  });

  it('leaves the number of replicas to the real autoscaler in every mode, and to anybody else if the placement ignores it', async () => {
    put('mall', deployment('till', 'mall', 'first'), place('mall'));
    await until('the deployment is there', () => there('deploy', 'till', 'mall') !== undefined);
    const replicas = () => there('deploy', 'till', 'mall')?.spec?.replicas;
    // With fewer replicas than its minimum it scales without metrics, through the scale subresource, as it does with them.
    site(['autoscale', 'deployment', 'till', '-n', 'mall', '--min=4', '--max=9']);
    await until('the autoscaler has scaled', () => replicas() === 4);
    put('mall', deployment('till', 'mall', 'second'));
    await until('the image is there', () => JSON.stringify(there('deploy', 'till', 'mall')).includes('/second'));
    expect(replicas()).toBe(4);
    put('mall', place('mall', { drift: { mode: 'Report' } }));
    await until('it is available', () => isAvailable('mall'));
    expect(messageAbout('mall', 'deployments.apps mall/till')).toBe('');
    expect(replicas()).toBe(4);

    // Without the autoscaler, the number is a change like any other.
    site(['delete', 'hpa', 'till', '-n', 'mall']);
    const message = /spec\.replicas is 4 and was applied as 2/;
    await until('it is said', () => message.test(messageAbout('mall', 'deployments.apps mall/till')));
    expect(replicas()).toBe(4);
    const ignored = { drift: { ignoredFields: ['.spec.replicas'] } };
    put('mall', place('mall', ignored));
    await until('the rule has come to the cluster', () => messageAbout('mall', 'deployments.apps mall/till') === '');
    put('mall', deployment('till', 'mall', 'third'));
    await until('the image is there', () => JSON.stringify(there('deploy', 'till', 'mall')).includes('/third'));
    expect(replicas()).toBe(4);
    put('mall', place('mall', { drift: { mode: 'Correct' } }));
    await until('it is put back', () => replicas() === 2);
    await until('nothing is said any more', () => messageAbout('mall', 'deployments.apps mall/till') === '');
    await until('it stays', () => replicas() === 2);
  });
});

function split(of: string): [kind: string, name: string] {
  const [kind = '', name = ''] = of.split('/');
  return [kind, name];
}

/** The controllers write this field, and change versions. */
function withoutStatus(object: Shown | undefined): object {
  const { status: _status, metadata, ...rest } = object ?? { metadata: {} };
  const { labels, annotations, generation } = metadata;
  return { ...rest, metadata: { labels, annotations, generation } };
}
