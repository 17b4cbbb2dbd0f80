import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { kubectlBy, LocalTree, until } from '../e2e/local-tree.ts';
import { trueCondition } from '../e2e/one-site.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { freePorts } from '../support/free-ports.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const retail = 'space/center/retail';
const nodes = 'nodes.mesh.banyan.io';
const buildMsMax = 3_600_000;
const twoYearsMs = 2 * 365 * 86_400_000;

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}
interface Shown {
  readonly status?: {
    readonly display?: string;
    readonly summary?: Readonly<Record<string, number>>;
    readonly failures?: readonly {
      readonly path: string;
      readonly object?: string;
      readonly reason: string;
      readonly message: string;
    }[];
    readonly conditions?: readonly Condition[];
  };
}

const configMap = (name: string, namespace: string, labels: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, labels },
  data: { of: 'the center' },
});
const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
const place = (name: string, selector: object = { site: 'good' }) => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name },
  spec: {
    locationSelectors: [{ matchLabels: selector }],
    downsync: [{ apiGroup: '*', resources: ['*'], namespaces: [name] }],
  },
});
/** Of a kind that a shop has already, from somebody else and with another schema. */
const definition = (type: 'string' | 'integer') => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'signs.shop.example.com' },
  spec: {
    group: 'shop.example.com',
    scope: 'Namespaced',
    names: { plural: 'signs', singular: 'sign', kind: 'Sign' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { text: { type } } } },
          },
        },
      },
    ],
  },
});

function versioned(kind: string, ...versions: readonly (readonly [name: string, served: boolean])[]): object {
  const singular = kind.toLowerCase();
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${singular}s.tower.example.com` },
    spec: {
      group: 'tower.example.com',
      scope: 'Namespaced',
      names: { plural: `${singular}s`, singular, kind },
      versions: versions.map(([name, served]) => ({ name, served, storage: served, schema })),
    },
  };
}

describe.skipIf(missing)(`a real cluster that cannot be used, or that refuses some objects${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-bad-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  let plane: ControlPlane;
  const site = (args: readonly string[], input?: object): string => {
    const { code, out } = kubectlBy(plane.kubeconfig, args, input && JSON.stringify(input));
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${out}`);
    return out;
  };
  const apply = (...items: object[]) => {
    const { code, out } = tree.apply(retail, { apiVersion: 'v1', kind: 'List', items });
    expect(code, out).toBe(0);
  };
  const placement = (name: string) => tree.json<Shown>(retail, 'epl', name)?.status;
  /** The report about one object at the good cluster. */
  const failureOf = (name: string, object: string) =>
    placement(name)?.failures?.find((one) => one.path === 'good' && one.object === object);
  const there = (kind: string, name: string, of: string) =>
    kubectlBy(plane.kubeconfig, ['get', kind, name, '-n', of]).code === 0;

  beforeAll(async () => {
    plane = await ControlPlane.start({ directory: join(directory, 'plane') });
    const issuedAtMs = Date.now() - twoYearsMs;
    const expired = await plane.kubeconfigOf({ name: 'expired', groups: ['system:masters'], issuedAtMs });
    const nowhere = join(directory, 'nowhere.kubeconfig');
    const [port] = await freePorts(1);
    writeFileSync(nowhere, readFileSync(plane.kubeconfig, 'utf8').replace(plane.server, `https://127.0.0.1:${port}`));
    const paths = { good: plane.kubeconfig, expired, nowhere };
    writeFileSync(join(directory, 'topology.yaml'), stringify(topologyWith(paths)));
    await tree.up();
  }, buildMsMax);
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('is reported by its node and its SyncTarget, with a remedy', async () => {
    const trouble = (kind: string, name: string) =>
      trueCondition(tree.json('node/center', kind, name), 'ClusterTrouble');
    for (const [name, reason, message] of [
      [
        'nowhere',
        'Unavailable',
        /can't be reached: .*ECONNREFUSED.*; nothing listens there: start the API server, or correct/,
      ],
      [
        'expired',
        'Unauthorized',
        /does not accept the credentials of the agent: they have expired or were withdrawn; renew/,
      ],
    ] as const) {
      await until(`the node of ${name} says so`, () => trouble(nodes, name)?.reason === reason);
      expect(trouble(nodes, name)!.message).toMatch(message);
      expect(trouble('synctarget', name)?.message).toBe(trouble(nodes, name)!.message);
    }
    expect(trouble(nodes, 'good')).toBeUndefined();
  });

  it('blocks no other cluster: the others get their objects, and the placement reports each failure', async () => {
    apply(namespace('shop'), configMap('prices', 'shop'), place('shop', { env: 'prod' }));
    await until('the good one has it', () => there('configmap', 'prices', 'shop'));
    await until('the others are told of', () => {
      const failing = new Set((placement('shop')?.failures ?? []).map(({ path }) => path));
      return failing.has('expired') && failing.has('nowhere') && !failing.has('good');
    });
    await until('the sums are exact', () => {
      const { expected, available, failed } = placement('shop')?.summary ?? {};
      return expected === 3 && available === 1 && failed === 2;
    });
  });

  it('names the webhook, policy or foreign schema that refuses an object, and accepts all others', async () => {
    site(['create', 'namespace', 'stall']);
    // Objects of the site: a webhook without a server, a rule, and a kind that somebody else keeps.
    site(['create', '-f', '-'], { apiVersion: 'v1', kind: 'List', items: [webhook, policy, binding] });
    site(['apply', '--server-side', '--field-manager=helm', '-f', '-'], definition('integer'));
    await until('the policy is in force', () => {
      const tried = configMap('tried', 'stall', { rule: 'none' });
      return kubectlBy(plane.kubeconfig, ['create', '--dry-run=server', '-f', '-'], JSON.stringify(tried)).code !== 0;
    });
    apply(namespace('stall'), place('stall'), definition('string'));
    const sign = {
      apiVersion: 'shop.example.com/v1',
      kind: 'Sign',
      metadata: { name: 'door', namespace: 'stall' },
      spec: { text: 'Open' },
    };
    await until('the center serves the kind', () => tree.apply(retail, sign).code === 0);
    apply(
      configMap('hooked', 'stall', { hook: 'yes' }),
      configMap('ruled', 'stall', { rule: 'none' }),
      configMap('other', 'stall'),
    );
    const reasons: readonly (readonly [object: string, message: RegExp])[] = [
      ['configmaps stall/hooked', /failed calling webhook "gate.shop.example.com".*connection refused/],
      ['configmaps stall/ruled', /a ConfigMap of a shop has no such rule/],
      [
        'customresourcedefinitions.apiextensions.k8s.io signs.shop.example.com',
        /helm keeps it by server-side apply.*spec.adopt/,
      ],
      ['signs.shop.example.com stall/door', /spec\.text.*(must be of type integer|expected numeric)/],
    ];
    for (const [object, message] of reasons)
      await until(`it is said of ${object}`, () => message.test(failureOf('stall', object)?.message ?? ''));
    expect(there('configmap', 'other', 'stall')).toBe(true);
    expect(site(['get', 'crd', 'signs.shop.example.com', '-o', 'jsonpath={..text.type}'])).toBe('integer');
    site(['delete', 'validatingwebhookconfiguration/gate', 'validatingadmissionpolicybinding/rules']);
    tree.ok(retail, 'delete', 'sign', 'door', '-n', 'stall');
    tree.ok(retail, 'delete', 'crd', 'signs.shop.example.com');
    await until('all that is left is there', () => placement('stall')?.summary?.available === 1, 90);
    expect([there('configmap', 'hooked', 'stall'), there('configmap', 'ruled', 'stall')]).toEqual([true, true]);
    // It never belonged to the agent.
    expect(there('crd', 'signs.shop.example.com', 'stall')).toBe(true);
  });

  it('gets a custom object in the version that the site’s own definition serves, or the report names that version', async () => {
    site(['create', 'namespace', 'tower']);
    const ofTheSite = (kind: string, ...versions: readonly (readonly [name: string, served: boolean])[]) =>
      site(['apply', '--server-side', '--field-manager=helm', '-f', '-'], versioned(kind, ...versions));
    ofTheSite('Bell', ['v1', false], ['v2', true]);
    ofTheSite('Lamp', ['v2', true]);
    apply(namespace('tower'), place('tower'), versioned('Bell', ['v1', true]), versioned('Lamp', ['v1', true]));
    const spec = { text: 'Ding' };
    for (const kind of ['Bell', 'Lamp']) {
      const object = { apiVersion: 'tower.example.com/v1', kind, metadata: { name: 'one', namespace: 'tower' }, spec };
      await until(`the center serves ${kind}`, () => tree.apply(retail, object).code === 0);
    }
    const bell = [
      'get',
      'bells.v2.tower.example.com',
      'one',
      '-n',
      'tower',
      '-o',
      'jsonpath={.apiVersion} {.spec.text}',
    ];
    await until('the bell is there', () => kubectlBy(plane.kubeconfig, bell).out === 'tower.example.com/v2 Ding', 90);
    const message =
      /does not serve Lamp of tower\.example\.com\/v1 .*it serves it as tower\.example\.com\/v2, .*write the object as tower\.example\.com\/v2/;
    await until('it is said of the lamp', () =>
      message.test(failureOf('tower', 'lamps.tower.example.com tower/one')?.message ?? ''),
    );
    expect(failureOf('tower', 'bells.tower.example.com tower/one')).toBeUndefined();
    tree.ok(retail, 'delete', 'epl', 'tower');
    await until('the bell has gone', () => !there('bell', 'one', 'tower'));
  });

  it('reports the contents of a namespace that cannot be deleted, and delivers into it once it has gone', async () => {
    const stuck = configMap('book', 'stuck');
    const finalizers = ['shop.example.com/book'];
    site(['create', 'namespace', 'stuck']);
    site(['create', '-f', '-'], { ...stuck, metadata: { ...stuck.metadata, finalizers } });
    site(['delete', 'namespace', 'stuck', '--wait=false']);
    await until('what is left is known', () =>
      site(['get', 'namespace', 'stuck', '-o', 'jsonpath={.status.conditions[*].message}']).includes(
        'shop.example.com',
      ),
    );
    apply(namespace('stuck'), configMap('prices', 'stuck'), place('stuck'));
    await until('it is said', () =>
      /being deleted since .*; it waits: .*shop\.example\.com\/book in 1 resource instances/s.test(
        failureOf('stuck', 'namespaces stuck')?.message ?? '',
      ),
    );
    site(['patch', 'configmap', 'book', '-n', 'stuck', '--type=merge', '-p', '{"metadata":{"finalizers":null}}']);
    await until('it is delivered', () => there('configmap', 'prices', 'stuck'), 90);
    await until('nothing is said any more', () => failureOf('stuck', 'namespaces stuck') === undefined);
  });
});

const webhook = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'gate' },
  webhooks: [
    {
      name: 'gate.shop.example.com',
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      failurePolicy: 'Fail',
      // Port 1 of this machine: nobody listens there.
      clientConfig: { url: 'https://127.0.0.1:1/gate' },
      objectSelector: { matchLabels: { hook: 'yes' } },
      rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] }],
    },
  ],
};
const policy = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: 'rules' },
  spec: {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [
        { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] },
      ],
    },
    validations: [
      {
        expression: "!has(object.metadata.labels) || !('rule' in object.metadata.labels)",
        message: 'a ConfigMap of a shop has no such rule',
      },
    ],
  },
};
const binding = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata: { name: 'rules' },
  spec: { policyName: 'rules', validationActions: ['Deny'] },
};

function topologyWith(paths: Readonly<Record<string, string>>): object {
  return {
    apiVersion: 'banyan.io/v1alpha1',
    kind: 'Topology',
    metadata: { name: 'bad' },
    spec: {
      center: { spaces: [{ name: 'retail', type: 'Workload' }] },
      clusters: Object.entries(paths).map(([name, path]) => ({
        name,
        labels: { env: 'prod', site: name },
        provider: { kubeconfig: { path } },
      })),
    },
  };
}
