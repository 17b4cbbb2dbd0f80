/** An upsync rule takes an object that was placed before: the server-side apply of a real API server has to leave all of it except the mark. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../e2e/local-tree.ts';
import { buildMsMax } from '../e2e/one-site.ts';
import { RealCluster } from '../e2e/real-cluster.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { variedDeployment } from '../support/varied-deployment.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const retail = 'space/center/retail';

interface Shown {
  readonly metadata: {
    readonly uid: string;
    readonly generation?: number;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly data?: object;
  readonly spec?: object;
  readonly status?: {
    readonly observedGeneration?: number;
    readonly failures?: readonly { readonly object?: string; readonly reason: string }[];
  };
}

const names = ['cm/prices', 'deploy/till', 'svc/till', 'hpa/till'];
const meta = (name: string) => ({ name, namespace: 'shop', labels: { team: 'tills' }, annotations: { note: 'a' } });
const objects = [
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: meta('prices'), data: { tea: '2', milk: '1' } },
  variedDeployment('shop'),
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: meta('till'),
    spec: {
      selector: { app: 'till' },
      ports: [
        { name: 'http', port: 80, targetPort: 8080 },
        { name: 'admin', port: 81 },
      ],
    },
  },
  {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: meta('till'),
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'till' },
      minReplicas: 2,
      maxReplicas: 9,
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } } },
      ],
    },
  },
];
const place = (name: string, spec: object) => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name },
  spec: { locationSelectors: [{ matchLabels: { env: 'prod' } }], ...spec },
});
const rule = (apiGroup: string, resources: string[]) => ({ apiGroup, resources, namespaces: ['shop'] });

describe.skipIf(missing)(`a real cluster to which placed objects are released${why}`, () => {
  let cluster: RealCluster;
  const there = (name: string) => cluster.there<Shown>(...(name.split('/') as [string, string]), '-n', 'shop');
  const isMarked = (name: string) =>
    /banyan\.io/.test(JSON.stringify([there(name)?.metadata.labels, there(name)?.metadata.annotations]));
  const contentOf = (name: string) => {
    const { metadata, data, spec } = there(name)!;
    const others = (of: Readonly<Record<string, string>> = {}) =>
      Object.entries(of).filter(([key]) => !key.startsWith('banyan.io/'));
    const { uid, labels, annotations } = metadata;
    return { uid, data, spec, labels: others(labels), annotations: others(annotations) };
  };
  const put = (...items: object[]) => {
    const { code, out } = cluster.tree.apply(retail, { apiVersion: 'v1', kind: 'List', items });
    expect(code, out).toBe(0);
  };

  beforeAll(async () => {
    cluster = await RealCluster.start('given-up');
  }, buildMsMax);
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  it('owns the objects, unchanged and without the mark, and keeps them when the placement goes', async () => {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
    const downsync = [{ apiGroup: '*', resources: ['*'], namespaces: ['shop'] }];
    // An object of the site, which owns nothing.
    cluster.kubectl(['create', 'namespace', 'shop']);
    put(namespace, ...objects, place('send', { downsync }));
    await until('all are there', () => names.every((name) => there(name) !== undefined));
    // Additions to the placed object, in its lists too.
    cluster.kubectl(['set', 'env', 'deploy/till', '-n', 'shop', '-c', 'app', 'C=3']);
    cluster.kubectl(['label', 'cm', 'prices', '-n', 'shop', 'of=site']);
    // The controller writes a number of its own for each change of the template, before it reports that it has observed it.
    await until('its controller has seen the last change', () => {
      const { metadata, status } = there('deploy/till')!;
      return status?.observedGeneration === metadata.generation;
    });
    const before = names.map(contentOf);
    expect(names.map(isMarked)).toEqual(names.map(() => true));

    const upsync = [
      rule('', ['configmaps', 'services']),
      rule('apps', ['deployments']),
      rule('autoscaling', ['horizontalpodautoscalers']),
    ];
    put(place('take', { upsync }));
    await until('none has the mark', () => !names.some(isMarked));
    expect(names.map(contentOf)).toEqual(before);
    cluster.tree.ok(retail, 'wait', 'epl/send', '--for=condition=Conflicted', '--timeout=60s');

    cluster.tree.ok(retail, 'delete', 'epl', 'send');
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'last', namespace: 'shop' } };
    put(secret, place('again', { downsync: [{ ...downsync[0], resources: ['secrets'] }] }));
    await until('the agent has heard of it', () => there('secret/last') !== undefined);
    cluster.tree.ok(retail, 'delete', 'epl', 'take');
    cluster.kubectl(['set', 'image', 'deploy/till', '-n', 'shop', 'app=example.com/mine']);
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    expect(JSON.stringify(there('deploy/till'))).toContain('example.com/mine');
    expect(names.map((name) => there(name)?.metadata.uid)).toEqual(before.map(({ uid }) => uid));
  });
});
