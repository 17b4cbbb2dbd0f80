import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { kubectlBy, LocalTree, until } from '../e2e/local-tree.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const [retail, platform] = ['space/center/retail', 'space/center/platform'];
const real = 'eu:rivoli';
const buildMsMax = 3_600_000;

interface Shown {
  readonly spec?: { readonly path?: string };
  readonly metadata: { readonly uid: string; readonly resourceVersion: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly status?: {
    readonly display?: string;
    readonly summary?: Readonly<Record<string, number>>;
    readonly failures?: readonly { readonly path: string; readonly object?: string; readonly message: string }[];
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message: string }[];
  };
}

const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
const configMap = (name: string, data: Record<string, string>, annotations: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'shop', annotations },
  data,
});
const tooLarge = 'a value has at most 100000 characters';
/** A limit of the cluster that no space knows. */
const sizePolicy = {
  apiVersion: 'v1',
  kind: 'List',
  items: [
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'sizes' },
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE', 'UPDATE'] },
          ],
        },
        validations: [
          { expression: '!has(object.data) || object.data.all(k, size(object.data[k]) <= 100000)', message: tooLarge },
        ],
      },
    },
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: 'sizes' },
      spec: { policyName: 'sizes', validationActions: ['Deny'] },
    },
  ],
};
const place = (name: string, downsync: object) => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name },
  spec: {
    locationSelectors: [{ matchLabels: { env: 'prod' } }],
    downsync: [{ apiGroup: '*', resources: ['*'], ...downsync }],
  },
});
/** With a label of its Location that the real cluster does not have. */
const textCustomizer = (text: string, label?: string) => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'Customizer',
  metadata: { name: 'greeting', namespace: 'shop' },
  spec: {
    replacements: [
      { path: '$.data.text', value: label ? `${text} from \${{ location.metadata.labels.${label} }}` : text },
    ],
  },
});

/** Each of these failures broke similar systems: the README of this folder has the list. */
describe.skipIf(missing)(`failures of similar systems, on a real cluster${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-lessons-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  let plane: ControlPlane;
  const site = (...args: string[]): string => {
    const { code, out } = kubectlBy(plane.kubeconfig, args);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${out}`);
    return out;
  };
  /** A field of a ConfigMap at the real cluster. */
  const there = (name: string): Shown | undefined => {
    const { code, stdout } = kubectlBy(plane.kubeconfig, ['get', 'configmap', name, '-n', 'shop', '-o', 'json']);
    return code === 0 ? (JSON.parse(stdout) as Shown) : undefined;
  };
  const put = (space: string, ...items: object[]) => {
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    const { code, out } = tree.kubectl(space, ['apply', '--server-side', '--force-conflicts', '-f', '-'], list);
    expect(code, out).toBe(0);
  };
  const status = (space = retail, name = 'shop') => tree.json<Shown>(space, 'epl', name)?.status;
  const failureOf = (object: string) =>
    status()?.failures?.find((one) => one.path === real && one.object === `configmaps shop/${object}`)?.message ?? '';
  const uids = () => site('get', 'configmaps', '-n', 'shop', '-l', 'banyan.io/managed', '-o', 'jsonpath={..uid}');

  beforeAll(async () => {
    plane = await ControlPlane.start({ directory: join(directory, 'plane') });
    writeFileSync(join(directory, 'topology.yaml'), stringify(topologyWith(plane.kubeconfig)));
    await tree.up('--no-restart');
    put(retail, namespace, configMap('prices', { bread: '3' }), place('shop', { namespaces: ['shop'] }));
    await until('both are available', () => status()?.display === 'available 2/2');
  }, buildMsMax);
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('one object over a size limit fails alone: the report names the object that is too large, and all others are delivered', async () => {
    // The space accepts the object. A policy of the cluster has a lower limit.
    const atSite = (verb: string, object: object, ...more: string[]) =>
      kubectlBy(plane.kubeconfig, [verb, '-f', '-', ...more], JSON.stringify(object));
    expect(atSite('apply', sizePolicy).code).toBe(0);
    await until('the policy has its effect', () =>
      atSite('create', configMap('probe', { text: 'x'.repeat(100_001) }), '--dry-run=server').out.includes(tooLarge),
    );
    put(retail, configMap('album', { text: 'x'.repeat(1_000_000) }));
    put(retail, configMap('prices', { bread: '4' }));
    await until('the other one is there', () => there('prices')?.data?.bread === '4');
    await until('the large one is told of', () => failureOf('album').includes(tooLarge));
    tree.ok(retail, 'delete', 'configmap', 'album', '-n', 'shop');
    await until('all are available', () => status()?.display === 'available 2/2');
    expect(atSite('delete', sizePolicy).code).toBe(0);
  });

  it('two sources with one object do not overwrite each other for ever: the loser reads in its status that it lost', async () => {
    put(platform, namespace, configMap('prices', { bread: '99' }), place('prices', { namespaces: ['shop'] }));
    const loser = () =>
      status(platform, 'prices')?.conditions?.find(({ type, status }) => type === 'Conflicted' && status === 'True');
    await until('the loser knows', () => loser()?.message.includes('another source') === true);
    const before = there('prices')!;
    put(platform, configMap('prices', { bread: '100' }));
    put(retail, configMap('offers', { cake: '7' }));
    await until('something else has come meanwhile', () => there('offers') !== undefined);
    expect(there('prices')).toEqual(before);
    tree.ok(platform, 'delete', 'epl', 'prices');
    await until('nobody loses', () => loser() === undefined);
    expect(there('prices')?.metadata.uid).toBe(before.metadata.uid);
  });

  it('an error in a rule deletes nothing: the last good object stays, and the error is reported', async () => {
    const annotations = { 'edge.banyan.io/customizer': 'greeting' };
    put(retail, textCustomizer('Hello'), configMap('greeting', { text: 'none' }, annotations));
    await until('it is there', () => there('greeting')?.data?.text === 'Hello');
    const before = there('greeting')!;
    put(retail, textCustomizer('Hello', 'street'));
    await until('it is told', () => /no such key: street/.test(failureOf('greeting')));
    put(retail, configMap('prices', { bread: '5' }));
    await until('others go on', () => there('prices')?.data?.bread === '5');
    expect(there('greeting')).toEqual(before);
    tree.ok('node/eu', 'label', 'location', 'rivoli', 'street=Rue-de-Rivoli');
    await until('it is made', () => there('greeting')?.data?.text === 'Hello from Rue-de-Rivoli');
    expect(there('greeting')?.metadata.uid).toBe(before.metadata.uid);
    put(retail, textCustomizer('Hello'));
    await until('all are available', () => status()?.display === 'available 2/2');
  });

  it('one offline destination blocks no other', async () => {
    tree.kill('mitte');
    await until('it is away', () => status()?.summary?.stale === 1);
    put(retail, configMap('prices', { bread: '6' }));
    await until('the real one has the change', () => there('prices')?.data?.bread === '6');
    await until('that is told', () => status()?.summary?.available === 1 && status()?.summary?.fresh === 1);
  });

  it('an empty upstream is not treated as "everything was deleted", below an empty center', async () => {
    put(retail, ...Array.from({ length: 12 }, (_, i) => configMap(`shelf-${i}`, { row: `${i}` })));
    await until('they are there', () => there('shelf-11') !== undefined);
    const before = uids();
    await tree.down();
    rmSync(join(tree.data, 'nodes', 'center'), { recursive: true });
    await tree.up('--no-restart');
    const held = () =>
      tree
        .json<{ items: readonly Shown[] }>('node/center', 'nodes.mesh.banyan.io')
        ?.items.find(({ spec }) => spec?.path === 'eu')
        ?.status?.conditions?.find(({ type }) => type === 'DeletionHeld')?.status;
    await until('the relay holds what the center lacks', () => held() === 'True');
    // Through the emptied center: the nodes below it have received its state.
    put(retail, namespace, configMap('new', { a: 'b' }), place('shop', { namespaces: ['shop'] }));
    await until('a new object arrives', () => there('new') !== undefined);
    expect(there('prices')?.data?.bread).toBe('6');
    for (const uid of before.split(' ')) expect(uids()).toContain(uid);
  });
});

function topologyWith(kubeconfig: string): object {
  return {
    apiVersion: 'banyan.io/v1alpha1',
    kind: 'Topology',
    metadata: { name: 'lessons' },
    spec: {
      center: {
        spaces: [
          { name: 'retail', type: 'Workload' },
          { name: 'platform', type: 'Workload' },
        ],
      },
      relays: [{ name: 'eu' }],
      clusters: [
        { name: 'rivoli', parent: 'eu', labels: { env: 'prod' }, provider: { kubeconfig: { path: kubeconfig } } },
        { name: 'mitte', labels: { env: 'prod' } },
      ],
    },
  };
}
