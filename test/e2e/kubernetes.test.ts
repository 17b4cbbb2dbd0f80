import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { furnish } from '../support/control-plane/furniture.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { fixture, kubectlBy, LocalTree, until } from './local-tree.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const real = 'eu:rivoli';
/** The programs may have to be built first. */
const buildMsMax = 3_600_000;

interface Placement {
  readonly metadata: { readonly generation: number };
  readonly status?: {
    readonly display?: string;
    readonly observedGeneration?: number;
    readonly summary?: Readonly<Record<string, number>>;
    readonly failures?: readonly { readonly path: string; readonly reason: string; readonly message: string }[];
  };
}

interface Target {
  readonly status?: {
    readonly kubernetesVersion?: string;
    readonly nodes?: number;
    readonly readyNodes?: number;
    readonly servedResourceCount?: number;
    readonly syncedResources?: readonly {
      readonly group: string;
      readonly resource: string;
      readonly versions: string[];
    }[];
    readonly conditions?: readonly object[];
  };
}

/** An object of the site: nobody at the center knows it. */
const bells = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'bells.site.example.com' },
  spec: {
    group: 'site.example.com',
    scope: 'Namespaced',
    names: { plural: 'bells', singular: 'bell', kind: 'Bell', listKind: 'BellList' },
    versions: ['v1', 'v1beta1'].map((name) => ({
      name,
      served: true,
      storage: name === 'v1',
      schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    })),
  },
};

const rbac = 'rbac.authorization.k8s.io/v1';
const ofLights = { light: 'true' };
/** A field that server-side apply treats as atomic, and a role whose rules belong to a controller. */
const wholes = [
  {
    apiVersion: rbac,
    kind: 'Role',
    metadata: { name: 'keeper', namespace: 'shop' },
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }],
  },
  {
    apiVersion: rbac,
    kind: 'RoleBinding',
    metadata: { name: 'keeper', namespace: 'shop' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'keeper' },
    subjects: [{ kind: 'ServiceAccount', name: 'keeper', namespace: 'shop' }],
  },
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'quay', namespace: 'shop' },
    spec: { podSelector: {}, ingress: [{ from: [{ podSelector: { matchLabels: { app: 'till' } } }] }] },
  },
  {
    apiVersion: rbac,
    kind: 'ClusterRole',
    metadata: { name: 'lights' },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: ofLights }] },
    rules: [],
  },
  {
    apiVersion: rbac,
    kind: 'ClusterRole',
    metadata: { name: 'some-lights', labels: ofLights },
    rules: [{ apiGroups: ['light.example.org'], resources: ['lights'], verbs: ['get'] }],
  },
];

describe.skipIf(missing)(`a tree with a real cluster beside an embedded one${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-real-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  let plane: ControlPlane;
  /** An action of the site: at the real cluster itself. */
  const site = (...args: string[]): string => {
    const { code, out } = kubectlBy(plane.kubeconfig, args);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${out}`);
    return out;
  };
  const shop = () => tree.json<Placement>('space/center/retail', 'epl', 'shop')?.status;
  const isThere = (kind: string, name: string) =>
    kubectlBy(plane.kubeconfig, ['get', kind, name, '-n', 'shop']).code === 0;
  const isAvailable = () => shop()?.display === 'available 2/2';
  const price = () => site('get', 'configmap', 'prices', '-n', 'shop', '-o', 'jsonpath={.data.bread}');
  const setPrice = (bread: string) =>
    tree.ok(
      'space/center/retail',
      'patch',
      'configmap',
      'prices',
      '-n',
      'shop',
      '-p',
      JSON.stringify({ data: { bread } }),
    );

  const setRules = (rules: object) =>
    tree.ok(
      'space/center/retail',
      'patch',
      'epl',
      'shop',
      '--type=merge',
      '-p',
      JSON.stringify({ spec: { drift: null, ...rules } }),
    );

  beforeAll(async () => {
    plane = await ControlPlane.start({ directory: join(directory, 'plane') });
    furnish(plane, { nodes: 2, volumes: 4 });
    writeFileSync(join(directory, 'topology.yaml'), stringify(topologyWith(plane.kubeconfig, await limited(plane))));
    await tree.up();
  }, buildMsMax);
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('delivers a shop, which the controllers of the cluster start, and counts it', async () => {
    tree.ok('space/center/retail', 'apply', '-f', fixture('test/e2e/kubernetes-shop.yaml'));
    await until('both are available', isAvailable);
    expect(site('get', 'pods', '-n', 'shop', '-l', 'app=till', '-o', 'name').trim().split('\n')).toHaveLength(3);
    expect(site('get', 'statefulset', 'ledger', '-n', 'shop', '-o', 'jsonpath={.status.readyReplicas}')).toBe('2');
    const sign = { apiVersion: 'shop.example.com/v1', kind: 'Sign', metadata: { name: 'door', namespace: 'shop' } };
    expect(tree.apply('space/center/retail', { ...sign, spec: { text: 'Open' } }).code).toBe(0);
    await until(
      'the custom object is there',
      () => kubectlBy(plane.kubeconfig, ['get', 'sign', 'door', '-n', 'shop']).code === 0,
    );
    const target = tree.json<{ status: { capacity: object } }>('node/eu', 'synctarget', 'rivoli');
    expect(target?.status.capacity).toEqual({ cpu: '64', memory: `${512 * 1024 * 1024}Ki`, pods: '2200' });
  });

  it('reports to its parent what the cluster is, and what changes there', async () => {
    const at = (context: string, name: string) => tree.json<Target>(context, 'synctarget', name)?.status ?? {};
    const described = (name: string) => at('node/eu', name);
    await until('both nodes are ready', () => described('rivoli').readyNodes === 2);
    const { gitVersion, platform } = JSON.parse(site('get', '--raw', '/version')) as Record<string, string>;
    expect(described('rivoli')).toMatchObject({ kubernetesVersion: gitVersion, platform, nodes: 2 });
    const served = () => described('rivoli').syncedResources ?? [];
    expect(served()).toContainEqual({ group: 'apps', resource: 'deployments', versions: ['v1'] });
    // At one moment: a kind of the former test may arrive just now.
    const { syncedResources, servedResourceCount } = described('rivoli');
    expect(syncedResources).toHaveLength(servedResourceCount ?? 0);
    const [header, line] = tree.ok('node/eu', 'get', 'synctarget', 'rivoli').split('\n');
    expect(header).toMatch(/^NAME +READY +VERSION +NODES +ATTACHED TO/);
    expect(line).toMatch(new RegExp(`^rivoli +True +${gitVersion} +2 +eu`));

    const bell = { group: 'site.example.com', resource: 'bells', versions: ['v1', 'v1beta1'] };
    const { code, out } = kubectlBy(plane.kubeconfig, ['create', '-f', '-'], JSON.stringify(bells));
    expect(code, out).toBe(0);
    site('create', '-f', fixture('test/e2e/kubernetes-node.yaml'));
    await until(
      'both are told of',
      () => served().some(({ resource }) => resource === 'bells') && described('rivoli').nodes === 3,
    );
    expect(served()).toContainEqual(bell);
    site('delete', 'crd', 'bells.site.example.com');
    site('delete', 'node', 'of-the-site');
    await until(
      'both are gone',
      () => !served().some(({ resource }) => resource === 'bells') && described('rivoli').nodes === 2,
    );

    const { conditions, nodes, ...reported } = at('node/center', 'limited');
    expect([nodes, reported.kubernetesVersion]).toEqual([undefined, gitVersion]);
    expect(reported.syncedResources).toContainEqual({ group: 'apps', resource: 'deployments', versions: ['v1'] });
    expect(conditions).toContainEqual(
      expect.objectContaining({
        type: 'DescriptionIncomplete',
        status: 'True',
        reason: 'Forbidden',
        message: expect.stringMatching(
          /nodes are not counted: .*cannot list resource "nodes".*Give the agent the right/,
        ),
      }),
    );
    const embedded = at('node/center', 'mitte');
    expect(embedded).toMatchObject({ kubernetesVersion: expect.stringMatching(/^v1\./), nodes: 1, readyNodes: 1 });
    expect(embedded.syncedResources).toContainEqual({ group: 'apps', resource: 'deployments', versions: ['v1'] });
  });

  it('corrects changes and deletions by people at the site, and leaves their own fields alone', async () => {
    site('create', 'configmap', 'of-the-site', '-n', 'shop', '--from-literal=a=1');
    site('scale', 'deployment', 'till', '-n', 'shop', '--replicas=1');
    site('delete', 'configmap', 'prices', '-n', 'shop');
    await until(
      'the number of tills is as it was',
      () => site('get', 'deployment', 'till', '-n', 'shop', '-o', 'jsonpath={.status.readyReplicas}') === '3',
    );
    await until(
      'the prices are back',
      () => kubectlBy(plane.kubeconfig, ['get', 'cm', 'prices', '-n', 'shop']).code === 0,
    );
    expect(price()).toBe('3');
    await until('both are available', isAvailable);
    expect(site('get', 'configmap', 'of-the-site', '-n', 'shop', '-o', 'jsonpath={.data.a}')).toBe('1');
  });

  it('removes additions to a field that was applied as a whole, and leaves the fields of a controller alone', async () => {
    tree.ok('space/center/retail', 'apply', '-f', fixture('test/e2e/kubernetes-shop.yaml'));
    const downsync = [
      { apiGroup: 'rbac.authorization.k8s.io', resources: ['clusterroles'], objectNames: ['lights', 'some-lights'] },
    ];
    const spec = { locationSelectors: [{ matchLabels: { env: 'prod' } }], downsync };
    const roles = { apiVersion: 'edge.banyan.io/v1alpha1', kind: 'EdgePlacement', metadata: { name: 'roles' }, spec };
    for (const object of [...wholes, roles]) expect(tree.apply('space/center/retail', object).code).toBe(0);
    const json = (path: string, ...of: string[]) => site('get', ...of, '-n', 'shop', '-o', `jsonpath={${path}}`);
    await until('they are there', () => wholes.every(({ kind, metadata: { name } }) => isThere(kind, name)));
    const edit = (type: string, of: string, operations: readonly object[]) =>
      site('patch', type, of, '-n', 'shop', '--type=json', '-p', JSON.stringify(operations));
    const mallory = { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'mallory' };
    // Also a second time: a corrected field belongs to the agent again.
    for (let round = 0; round < 2; round++) {
      edit('rolebinding', 'keeper', [{ op: 'add', path: '/subjects/-', value: mallory }]);
      edit('role', 'keeper', [{ op: 'add', path: '/rules/0/resourceNames', value: ['prices'] }]);
      edit('networkpolicy', 'quay', [
        { op: 'add', path: '/spec/podSelector/matchLabels', value: { app: 'none' } },
        { op: 'add', path: '/spec/ingress/0/from/0/namespaceSelector', value: {} },
      ]);
      await until('the subject is gone', () => !json('.subjects', 'rolebinding', 'keeper').includes('mallory'));
      await until('the name is gone', () => json('.rules[0].resourceNames', 'role', 'keeper') === '');
      await until('the policy is as it was', () => {
        const { spec } = JSON.parse(site('get', 'networkpolicy', 'quay', '-n', 'shop', '-o', 'json'));
        return (
          JSON.stringify([spec.podSelector, spec.ingress[0].from]) ===
          '[{},[{"podSelector":{"matchLabels":{"app":"till"}}}]]'
        );
      });
    }
    await until('the role is filled in', () => json('.rules[*].resources', 'clusterrole', 'lights').includes('lights'));
    const version = json('.metadata.resourceVersion', 'clusterrole', 'lights');
    site('annotate', 'networkpolicy', 'quay', '-n', 'shop', 'note=x');
    site('label', 'rolebinding', 'keeper', '-n', 'shop', 'team=y');
    const versions = () =>
      ['networkpolicy/quay', 'rolebinding/keeper'].map((of) => json('.metadata.resourceVersion', of));
    const before = versions();
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    expect([versions(), json('.metadata.resourceVersion', 'clusterrole', 'lights')]).toEqual([before, version]);
  });

  it('continues after an outage of the API server, and loses no change that came meanwhile', async () => {
    await plane.stopComponents(['kube-apiserver', 'etcd']);
    setPrice('4');
    await until(
      'the other cluster has it',
      () => tree.ok('cluster/mitte', 'get', 'cm', 'prices', '-n', 'shop', '-o', 'jsonpath={.data.bread}') === '4',
    );
    await until('the placement says what is wrong', () =>
      (shop()?.failures ?? []).some(({ path, message }) => path === real && /can't be reached/.test(message)),
    );
    await plane.startComponents('etcd', 'kube-apiserver');
    await until('the change is there', () => price() === '4');
    await until('both are available', isAvailable);
  });

  it('enforces the stored desired state when it starts without its parent', async () => {
    const parent = tree.pid('eu');
    process.kill(parent, 'SIGSTOP');
    try {
      tree.kill(real);
      site('delete', 'configmap', 'prices', '-n', 'shop');
      site('delete', 'deployment', 'till', '-n', 'shop');
      await until(
        'both are there again',
        () => kubectlBy(plane.kubeconfig, ['get', 'cm/prices', 'deploy/till', '-n', 'shop']).code === 0,
      );
      expect(price()).toBe('4');
    } finally {
      process.kill(parent, 'SIGCONT');
    }
    await until('both are available', isAvailable);
  });

  it('reports an object’s refusal in the words of the cluster, and delivers all others', async () => {
    site('create', 'quota', 'few', '-n', 'shop', '--hard=count/configmaps=3');
    // Only then the API server counts.
    await until('the quota is in force', () =>
      site('get', 'quota', 'few', '-n', 'shop', '-o', 'jsonpath={.status.used}').includes('3'),
    );
    const more = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'more', namespace: 'shop' }, data: {} };
    expect(tree.apply('space/center/retail', more).code).toBe(0);
    setPrice('5');
    await until('it is said', () =>
      (shop()?.failures ?? []).some(({ path, message }) => path === real && /exceeded quota: few/.test(message)),
    );
    await until('the other change is there', () => price() === '5');
    site('delete', 'quota', 'few', '-n', 'shop');
    await until('both are available', isAvailable);
  });

  it('treats changes by others as the placement says', async () => {
    const replicas = () => site('get', 'deployment', 'till', '-n', 'shop', '-o', 'jsonpath={.spec.replicas}');
    const hasFailure = (pattern: RegExp) =>
      (shop()?.failures ?? []).some(({ path, message }) => path === real && pattern.test(message));
    setRules({ drift: { mode: 'Report' } });
    site('scale', 'deployment', 'till', '-n', 'shop', '--replicas=1');
    // The cluster's controllers first have to observe the new number, and until then nothing is available.
    await until(
      'it is said of what is available',
      () => hasFailure(/spec\.replicas is 1 and was applied as 3/) && isAvailable(),
    );
    expect(replicas()).toBe('1');
    setRules({ drift: { mode: 'Correct' } });
    await until('it is put back', () => replicas() === '3');
    setRules({ drift: { mode: 'Correct', ignoredFields: ['.spec.replicas'] } });
    await until('the rule has come to the clusters', () => {
      const placement = tree.json<Placement>('space/center/retail', 'epl', 'shop');
      return placement?.status?.observedGeneration === placement?.metadata.generation && isAvailable();
    });
    site('scale', 'deployment', 'till', '-n', 'shop', '--replicas=5');
    setPrice('6');
    await until('another object has changed', () => price() === '6');
    tree.ok(
      'space/center/retail',
      'set',
      'image',
      'deployment/till',
      '-n',
      'shop',
      'till=registry.example.com/shop/till:1.1',
    );
    await until('the image is there', () =>
      site('get', 'deployment', 'till', '-n', 'shop', '-o', 'jsonpath={..image}').endsWith(':1.1'),
    );
    expect(replicas()).toBe('5');

    site('patch', 'configmap', 'prices', '-n', 'shop', '-p', '{"immutable":true}');
    setPrice('7');
    await until('it can not be changed', () => hasFailure(/field is immutable.*spec\.replace: IfImmutable/s));
    expect(price()).toBe('6');
    setRules({ replace: 'IfImmutable' });
    await until(
      'it is made anew',
      () => site('get', 'cm', 'prices', '-n', 'shop', '-o', 'jsonpath={.data.bread}', '--ignore-not-found') === '7',
    );
    await until('both are available', isAvailable);
  });

  it('leaves alone an object that another program keeps, unless the placement says otherwise', async () => {
    const theirs = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'theirs', namespace: 'shop' },
      data: { by: 'argo' },
    };
    const applied = kubectlBy(
      plane.kubeconfig,
      ['apply', '--server-side', '--field-manager=argocd', '-f', '-'],
      JSON.stringify(theirs),
    );
    expect(applied.code, applied.out).toBe(0);
    tree.apply('space/center/retail', { ...theirs, data: { by: 'banyan' } });
    await until('it is said', () =>
      (shop()?.failures ?? []).some(({ message }) => /argocd keeps it by server-side apply/.test(message)),
    );
    const by = () => site('get', 'configmap', 'theirs', '-n', 'shop', '-o', 'jsonpath={.data.by}');
    expect(by()).toBe('argo');
    setRules({ adopt: 'Always' });
    await until('it is taken', () => by() === 'banyan');
    await until('both are available', isAvailable);
  });

  it('reports a missing right, and delivers everything that it may', async () => {
    tree.ok('space/center/retail', 'create', 'namespace', 'small');
    for (const args of [
      ['configmap', 'allowed'],
      ['deployment', 'forbidden', '--image=registry.example.com/a'],
    ]) {
      tree.ok('space/center/retail', 'create', ...args, '-n', 'small');
    }
    tree.apply('space/center/retail', {
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'EdgePlacement',
      metadata: { name: 'small' },
      spec: {
        locationSelectors: [{ matchLabels: { env: 'limited' } }],
        downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['small'] }],
      },
    });
    await until('it is said', () =>
      (tree.json<Placement>('space/center/retail', 'epl', 'small')?.status?.failures ?? []).some(
        ({ reason, message }) =>
          reason === 'Forbidden' && /cannot (get|patch) resource "deployments" in API group "apps"/.test(message),
      ),
    );
    expect(site('get', 'configmap', 'allowed', '-n', 'small', '-o', 'name').trim()).toBe('configmap/allowed');
  });

  it('removes its own objects when the placement goes, and nothing else', async () => {
    site('create', 'namespace', 'other');
    site('create', 'configmap', 'prices', '-n', 'other');
    tree.ok('space/center/retail', 'delete', 'epl', 'shop');
    await until('the shop is gone', () => kubectlBy(plane.kubeconfig, ['get', 'namespace', 'shop']).code !== 0);
    expect(site('get', 'configmap', 'prices', '-n', 'other', '-o', 'name').trim()).toBe('configmap/prices');
    const signs = ['get', 'crd', 'signs.shop.example.com'];
    await until('the definition is gone too', () => kubectlBy(plane.kubeconfig, signs).code !== 0);
  });

  it('does not touch another cluster behind the same kubeconfig', async () => {
    await plane.replaceByAnEmptyOne();
    tree.ok('space/center/retail', 'apply', '-f', fixture('test/e2e/kubernetes-shop.yaml'));
    await until('it is said', () =>
      (shop()?.failures ?? []).some(({ path, message }) => path === real && /is another cluster/.test(message)),
    );
    expect(kubectlBy(plane.kubeconfig, ['get', 'namespace', 'shop']).code).not.toBe(0);
  });
});

/** The rights of an agent that may do little. */
async function limited(plane: ControlPlane): Promise<string> {
  const rules = [
    {
      apiGroups: [''],
      resources: ['namespaces', 'configmaps'],
      verbs: ['get', 'list', 'watch', 'patch', 'create', 'delete'],
    },
    { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['list', 'watch'] },
  ];
  const [apiVersion, metadata] = ['rbac.authorization.k8s.io/v1', { name: 'limited' }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'limited' };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'limited' }];
  const items = [
    { apiVersion, kind: 'ClusterRole', metadata, rules },
    { apiVersion, kind: 'ClusterRoleBinding', metadata, roleRef, subjects },
  ];
  kubectlBy(plane.kubeconfig, ['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  return plane.kubeconfigOf({ name: 'limited', groups: [] });
}

function topologyWith(kubeconfig: string, limitedKubeconfig: string): object {
  return {
    apiVersion: 'banyan.io/v1alpha1',
    kind: 'Topology',
    metadata: { name: 'real' },
    spec: {
      center: { spaces: [{ name: 'retail', type: 'Workload' }] },
      relays: [{ name: 'eu' }],
      clusters: [
        { name: 'rivoli', parent: 'eu', labels: { env: 'prod' }, provider: { kubeconfig: { path: kubeconfig } } },
        { name: 'mitte', labels: { env: 'prod' } },
        { name: 'limited', labels: { env: 'limited' }, provider: { kubeconfig: { path: limitedKubeconfig } } },
      ],
    },
  };
}
