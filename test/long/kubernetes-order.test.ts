import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type LocalTree, until } from '../e2e/local-tree.ts';
import { buildMsMax } from '../e2e/one-site.ts';
import { RealCluster } from '../e2e/real-cluster.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { definitions, finalizer, objectRules, operator, operatorRules, placed, tank } from '../support/operator.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const retail = 'space/center/retail';

interface Shown {
  readonly metadata: { readonly uid: string; readonly creationTimestamp: string; readonly deletionTimestamp?: string };
  readonly webhooks?: readonly { readonly failurePolicy: string }[];
  readonly status?: {
    readonly display?: string;
    readonly failures?: readonly { readonly object?: string; readonly reason: string; readonly message: string }[];
  };
}

const admission = 'admissionregistration.k8s.io';
const app = { app: 'guard' };
const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
const configMap = (space: string, name = 'conf') => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: space },
  data: { a: 'b' },
});
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'guard', namespace: 'guard' },
  spec: { selector: app, ports: [{ port: 443 }] },
};
/** No node has the label, so its pods stay without a node. */
const nowhere = { nodeSelector: { 'example.com/there': 'no' } };
const workload = (pod: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'guard', namespace: 'guard' },
  spec: {
    selector: { matchLabels: app },
    template: { metadata: { labels: app }, spec: { containers: [{ name: 'guard', image: 'guard:1' }], ...pod } },
  },
});
/** Nothing answers behind the Service: the pods are simulated. So every object that the webhook matches is refused. */
const webhooks = (more: object = {}) => ({
  apiVersion: `${admission}/v1`,
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'guard-all' },
  webhooks: [
    {
      name: 'all.guard.example.com',
      failurePolicy: 'Fail',
      sideEffects: 'None',
      timeoutSeconds: 1,
      admissionReviewVersions: ['v1'],
      clientConfig: { service: { name: 'guard', namespace: 'guard', path: '/v', port: 443 } },
      rules: [
        {
          apiGroups: ['*'],
          apiVersions: ['*'],
          operations: ['CREATE', 'UPDATE', 'DELETE'],
          resources: ['configmaps', 'deployments', 'namespaces', 'services'],
        },
      ],
      ...more,
    },
  ],
});
const policy = [
  {
    apiVersion: `${admission}/v1`,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'guard-rules' },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
      },
      validations: [{ expression: "object.metadata.namespace != 'guard'", message: 'no ConfigMap in guard' }],
    },
  },
  {
    apiVersion: `${admission}/v1`,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'guard-rules' },
    spec: { policyName: 'guard-rules', validationActions: ['Deny'] },
  },
];
const apiService = {
  apiVersion: 'apiregistration.k8s.io/v1',
  kind: 'APIService',
  metadata: { name: 'v1.guard.example.com' },
  spec: {
    group: 'guard.example.com',
    version: 'v1',
    groupPriorityMinimum: 100,
    versionPriority: 100,
    insecureSkipTLSVerify: true,
    service: { name: 'guard', namespace: 'guard' },
  },
};
const guardRules = [
  { apiGroup: '*', resources: ['*'], namespaces: ['guard'] },
  { apiGroup: admission, resources: ['*'], objectNames: ['guard-all', 'guard-rules'] },
  { apiGroup: 'apiregistration.k8s.io', resources: ['apiservices'], objectNames: ['v1.guard.example.com'] },
];
const configuration = ['validatingwebhookconfiguration', 'guard-all'];

/** A cluster in which webhooks, policies and APIServices take effect: the embedded one only stores them. */
describe.skipIf(missing)(`the order of applying and removing on a real cluster${why}`, () => {
  let cluster: RealCluster;
  let tree: LocalTree;
  const there = (...names: string[]) => cluster.there<Shown>(...names);
  const put = (...items: readonly object[]) => {
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    const { code, out } = tree.kubectl(retail, ['apply', '-f', '-'], list);
    expect(code, out).toBe(0);
  };
  const status = (name = 'guard') => tree.json<Shown>(retail, 'epl', name)?.status;
  const failure = () => status()?.failures?.find(({ object }) => object?.endsWith('guard-all'));
  const available = (name = 'guard') =>
    until(`${name} is available`, () => status(name)?.display === 'available 1/1', 90);
  /** The successful creations and removals at the cluster since the last call, in the order of the answers: `patch configmaps conf`. */
  let seen = 0;
  const changes = () => {
    const all = cluster.plane.audited();
    const found = all
      .slice(seen)
      .filter(({ verb, responseStatus: { code = 0 } = {} }) =>
        verb === 'delete' ? code < 300 : ['patch', 'create'].includes(verb) && code === 201,
      );
    seen = all.length;
    return found.map(({ verb, objectRef: { resource, name } = {} }) => `${verb} ${resource} ${name}`);
  };
  const policyOf = () => there(...configuration)?.webhooks?.[0]?.failurePolicy;

  beforeAll(async () => {
    cluster = await RealCluster.start('order', { relay: 'eu', nodes: 1, audit: true });
    tree = cluster.tree;
    put(namespace('shop'), placed('shop', [{ apiGroup: '*', resources: ['*'], namespaces: ['shop'] }]));
    await available('shop');
  }, buildMsMax);
  afterAll(() => cluster?.[Symbol.asyncDispose]());
  afterEach(async () => {
    tree.ok(retail, 'delete', 'epl', 'guard', '--ignore-not-found', '--wait=false');
    tree.ok(retail, 'delete', 'namespace', 'guard', '--ignore-not-found');
    for (const [kind, name] of [configuration, ['validatingadmissionpolicybinding', 'guard-rules']])
      tree.ok(retail, 'delete', kind!, name!, '--ignore-not-found');
    await until('nothing of the guard is left', () => !there('namespace', 'guard') && !there(...configuration), 120);
  });

  it('applies a webhook configuration after all else of its placement, in each of three runs, and removes it first', async () => {
    for (let run = 0; run < 3; run++) {
      changes();
      put(namespace('guard'), configMap('guard'), service, webhooks(), placed('guard', guardRules));
      // No placement brings a workload.
      await until('it is said', () => failure()?.reason === 'WebhookUnavailable');
      expect(policyOf()).toBe('Ignore');
      const applied = changes().filter((line) => line.startsWith('patch') || line.startsWith('create'));
      const last = applied.findIndex((line) => line.includes('guard-all'));
      for (const line of ['namespaces guard', 'configmaps conf', 'services guard']) {
        const at = applied.findIndex((one) => one.endsWith(line));
        expect([at >= 0, at < last], applied.join(', ')).toEqual([true, true]);
      }
      tree.ok(retail, 'delete', 'epl', 'guard', '--wait=false');
      await until('it has gone', () => !there('namespace', 'guard'), 120);
      const removed = changes().filter((line) => line.startsWith('delete') && / (guard|guard-all|conf)$/.test(line));
      expect(removed[0], removed.join(', ')).toBe('delete validatingwebhookconfigurations guard-all');
      for (const kind of ['configmap', 'service']) tree.ok(retail, 'delete', kind, '--all', '-n', 'guard');
      tree.ok(retail, 'delete', ...configuration);
    }
  });

  it('applies it with Ignore while no pod of a workload of the site is ready, and then with Fail', async () => {
    put(namespace('guard'), service, webhooks(), placed('guard', guardRules));
    await until('it is lenient', () => policyOf() === 'Ignore');
    put(configMap('shop', 'beside'));
    await until('others go on', () => there('configmap', 'beside', '-n', 'shop') !== undefined, 10);
    cluster.kubectl(['create', '-f', '-'], workload());
    await until('it is strict', () => policyOf() === 'Fail');
    await available();
  });

  it('applies it when the Deployment behind its Service is available, and holds up nothing of others meanwhile', async () => {
    put(namespace('guard'), service, workload(nowhere), webhooks(), placed('guard', guardRules));
    await until('it is said', () => failure()?.reason === 'WaitingForWorkload');
    expect(failure()?.message).toContain('Service guard/guard, deployments.apps guard/guard is not available');
    put(configMap('shop', 'meanwhile'));
    await until('others go on', () => there('configmap', 'meanwhile', '-n', 'shop') !== undefined, 10);
    expect(there(...configuration)).toBeUndefined();
    put(workload());
    await until('it is there', () => policyOf() === 'Fail');
    await available();
  });

  it('applies it with Ignore after two minutes, so that even the repair of its Deployment is not refused, and then with Fail', async () => {
    put(namespace('guard'), service, workload(nowhere), webhooks(), placed('guard', guardRules));
    await until('it is lenient', () => policyOf() === 'Ignore', 180);
    await until('it is said', () => failure()?.reason === 'WebhookUnavailable');
    expect(failure()?.message).toMatch(/failurePolicy is Ignore .*all\.guard\.example\.com.*repair the workload/);
    put(configMap('shop', 'late'));
    await until('others go on', () => there('configmap', 'late', '-n', 'shop') !== undefined, 30);
    put(workload());
    await until('it is strict', () => policyOf() === 'Fail');
    await available();
  });

  it('applies the binding of a policy after the objects that the policy would refuse', async () => {
    put(...policy, namespace('guard'), configMap('guard'), placed('guard', guardRules));
    await available();
    expect(there('configmap', 'conf', '-n', 'guard')).toBeDefined();
    expect(there('validatingadmissionpolicybinding', 'guard-rules')).toBeDefined();
  });

  it('applies an APIService when its workload is available, and removes it before the workload', async () => {
    put(namespace('guard'), service, workload(nowhere), apiService, placed('guard', guardRules));
    const waits = () => status()?.failures?.some(({ reason }) => reason === 'WaitingForWorkload');
    await until('it is said', () => waits() === true);
    expect(there('apiservice', 'v1.guard.example.com')).toBeUndefined();
    put(workload());
    await until('it is there', () => there('apiservice', 'v1.guard.example.com') !== undefined);
    changes();
    tree.ok(retail, 'delete', 'epl', 'guard', '--wait=false');
    await until('it has gone', () => !there('deploy', 'guard', '-n', 'guard'), 120);
    const removed = changes().filter((line) => / (v1\.guard\.example\.com|guard)$/.test(line));
    expect(removed[0], removed.join(', ')).toBe('delete apiservices v1.guard.example.com');
    tree.ok(retail, 'delete', 'apiservice', 'v1.guard.example.com');
  });

  it('removes custom objects before the operator that removes their finalizers', async () => {
    put(...definitions, operator[0]!);
    await until('the kinds are served', () => tree.kubectl(retail, ['get', 'tanks', '-n', 'op']).code === 0);
    put(...operator, tank, placed('op', [...operatorRules, ...objectRules]));
    await available('op');
    const change = JSON.stringify({ metadata: { finalizers: [finalizer] } });
    cluster.kubectl(['patch', 'tank', 'north', '-n', 'op', '--type=merge', '-p', change]);
    tree.ok(retail, 'delete', 'epl', 'op', '--wait=false');
    await until('the tank waits', () => there('tank', 'north', '-n', 'op')?.metadata.deletionTimestamp !== undefined);
    await new Promise((done) => setTimeout(done, 8_000));
    expect(there('deploy', 'tank-operator', '-n', 'op')).toBeDefined();
    expect(there('clusterrolebinding', 'tank-operator')).toBeDefined();
    cluster.kubectl(['patch', 'tank', 'north', '-n', 'op', '--type=merge', '-p', '{"metadata":{"finalizers":null}}']);
    await until('everything has gone', () => !there('namespace', 'op') && !there('crd', 'tanks.op.example.com'), 120);
    expect(there('clusterrole', 'tank-operator')).toBeUndefined();
  });
});
