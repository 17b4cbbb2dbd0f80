import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { fixture, kubectlBy, LocalTree, until } from '../e2e/local-tree.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { furnish } from '../support/control-plane/furniture.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const retail = 'space/center/retail';
/** In three different parts of the tree; the other three of the shop's clusters are embedded. */
const real = ['eu:paris:rivoli', 'eu:berlin:mitte', 'us:market'] as const;
const [rivoli, mitte] = real;
const buildMsMax = 3_600_000;

interface Status {
  readonly display?: string;
  readonly phase?: string;
  readonly replicas?: number;
  readonly readyReplicas?: number;
  readonly observedGeneration?: number;
  readonly summary?: Readonly<Record<string, number>>;
  readonly failures?: readonly { readonly path: string; readonly reason: string; readonly message: string }[];
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
}
interface Shown {
  readonly metadata: { readonly name: string; readonly uid: string; readonly generation: number };
  readonly status?: Status;
}
interface List {
  readonly items: readonly Shown[];
}

const labels = { app: 'till' };
const till = (image: string, more: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'till', namespace: 'shop' },
  spec: {
    replicas: 2,
    progressDeadlineSeconds: 3,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'till', image }], ...more } },
  },
});
const report = {
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata: { name: 'report', namespace: 'shop' },
  spec: {
    schedule: '0 3 1 1 *',
    jobTemplate: {
      spec: {
        template: {
          spec: {
            restartPolicy: 'Never',
            containers: [{ name: 'report', image: 'registry.example.com/shop/report:1' }],
          },
        },
      },
    },
  },
};
const shop = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
const place = (name: string, selector: object, more: object) => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name },
  spec: { locationSelectors: [selector], ...more },
});

describe.skipIf(missing)(`the retail tree with three real clusters beside embedded ones${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-three-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const planes = new Map<string, ControlPlane>();

  /** An action of a site's team: at the real cluster itself. */
  const site = (path: string, ...args: string[]): string => {
    const { code, out } = kubectlBy(planes.get(path)!.kubeconfig, args);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')} at ${path}: ${out}`);
    return out;
  };
  const apply = (...items: object[]) => {
    const { code, out } = tree.apply(retail, { apiVersion: 'v1', kind: 'List', items });
    expect(code, out).toBe(0);
  };
  const placement = (space: string, name = 'shop') => tree.json<Shown>(space, 'epl', name)?.status;
  const summary = (space: string, count: string) => placement(space)?.summary?.[count] ?? 0;
  /** One figure of the placement at the center and at each level below it. */
  const atEachLevel = (count: string) =>
    [retail, 'space/eu/center.retail', 'space/eu:paris/center.retail', 'space/us/center.retail'].map((space) =>
      summary(space, count),
    );
  const names = (context: string, resource: string, namespace = 'shop') =>
    (tree.json<List>(context, resource, '-n', namespace)?.items ?? []).map(({ metadata }) => metadata.name).sort();
  const atSite = (path: string, resource: string) =>
    site(path, 'get', resource, '-n', 'shop', '-o', 'name')
      .split('\n')
      .filter((name) => name !== '')
      .map((name) => name.slice(name.indexOf('/') + 1))
      .sort();

  beforeAll(async () => {
    const started = real.map(async (path) => {
      const plane = await ControlPlane.start({ directory: join(directory, path.replaceAll(':', '.')) });
      planes.set(path, plane);
      furnish(plane, { nodes: 1, volumes: 0 });
    });
    await Promise.all(started);
    writeFileSync(join(directory, 'topology.yaml'), topologyWith(planes));
    await tree.up();
  }, buildMsMax);
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    await Promise.all([...planes.values()].map((plane) => plane[Symbol.asyncDispose]()));
    rmSync(directory, { recursive: true, force: true });
  });

  it('brings the shop to life everywhere, with the same figures at every level', async () => {
    const downsync = [{ apiGroup: '*', resources: ['*'], namespaces: ['shop'] }];
    const associated = [
      { apiGroup: 'apps', resources: ['replicasets'] },
      { apiGroup: 'batch', resources: ['jobs'] },
      { apiGroup: '', resources: ['pods'] },
    ];
    const selector = { matchLabels: { env: 'prod' } };
    apply(shop, till('registry.example.com/shop/till:1'), report, place('shop', selector, { downsync, associated }));
    await until('all are available', () => placement(retail)?.display === 'available 5/5');
    expect(atEachLevel('available')).toEqual([5, 3, 2, 1]);
    expect(atEachLevel('fresh')).toEqual([5, 3, 2, 1]);
    for (const path of real) {
      const ready = ['get', 'deployment', 'till', '-n', 'shop', '-o', 'jsonpath={.status.readyReplicas}'];
      expect([path, site(path, ...ready)]).toEqual([path, '2']);
      expect([path, atSite(path, 'pods')]).toEqual([path, [expect.any(String), expect.any(String)]]);
    }
  });

  it('shows beside each shop the objects that its own controllers made of the placed objects, over two steps', async () => {
    site(rivoli, 'create', 'job', 'by-hand', '--from=cronjob/report', '-n', 'shop');
    await until('the job has a pod', () => atSite(rivoli, 'pods').some((name) => name.startsWith('by-hand')));
    const mailbox = `mailbox/${rivoli}`;
    await until('all of it is there', () => names(mailbox, 'pods').length === 3);
    for (const resource of ['replicasets', 'jobs', 'pods']) {
      const isSame = () => names(mailbox, resource).join() === atSite(rivoli, resource).join();
      await until(`${resource} are the same`, isSame);
    }
    await until('the pods run', () =>
      tree
        .json<List>(mailbox, 'pods', '-n', 'shop')!
        .items.filter(({ metadata }) => metadata.name.startsWith('till'))
        .every(({ status }) => status?.phase === 'Running'),
    );
    expect(names(`mailbox/${mitte}`, 'jobs')).toEqual([]);
    site(rivoli, 'delete', 'job', 'by-hand', '-n', 'shop');
    await until('what is gone there is gone here', () => names(mailbox, 'pods').length === 2);
    await until('the job too', () => names(mailbox, 'jobs').length === 0);
  });

  it('serves the API of each real cluster at the center, with the same answers as the cluster gives directly', () => {
    for (const path of real) {
      const asked = ['get', 'pods', '-n', 'shop', '-o', 'name'];
      expect(tree.kubectlAt('center', `/tree/${path}/cluster`, asked)).toMatchObject({
        code: 0,
        out: site(path, ...asked),
      });
    }
    const wrong = ['annotate', 'deployment', 'till', '-n', 'shop', 'Not/A/Key=1'];
    expect(tree.kubectlAt('center', `/tree/${real[0]}/cluster`, wrong).out).toMatch(
      /metadata\.annotations: Invalid value/,
    );
  });

  it('reports at every level what the controller of each cluster says about a stuck rollout, and when it ends', async () => {
    // No node has that shelf; an embedded cluster can't pull an image of that name.
    apply(till('registry.example.com/shop/till:broken', { nodeSelector: { shelf: 'none' } }));
    await until('all have failed', () => summary(retail, 'failed') === 5);
    expect(atEachLevel('failed')).toEqual([5, 3, 2, 1]);
    const shown = () => placement(retail)?.failures ?? [];
    const isFound = ({ reason }: { reason: string }) => reason === 'Unschedulable' || reason === 'ImagePullBackOff';
    await until('the cause is found at each', () => shown().filter(isFound).length === 5, 90);
    const failures = shown();
    expect(new Set(failures.map(({ reason }) => reason))).toEqual(new Set(['Unschedulable', 'ImagePullBackOff']));
    for (const path of real) {
      const message = failures.find((one) => one.path === path)?.message ?? '';
      expect(message).toMatch(/ReplicaSet "till-[0-9a-f]+" has timed out progressing: 2\/2 pods ready: no node fits/);
      const pods = ['get', 'pods', '-n', 'shop', '--field-selector=status.phase=Running', '-o', 'name'];
      expect([
        path,
        site(path, ...pods)
          .trim()
          .split('\n'),
      ]).toEqual([path, [expect.any(String), expect.any(String)]]);
    }
    apply(till('registry.example.com/shop/till:2'));
    await until('all are available again', () => placement(retail)?.display === 'available 5/5');
    expect(atEachLevel('failed')).toEqual([0, 0, 0, 0]);
  });

  it('reports the exact status of an object at one real cluster, with the generations of each level', async () => {
    const one = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'one' } };
    const deployment = { ...till('registry.example.com/shop/till:1'), metadata: { name: 'till', namespace: 'one' } };
    const downsync = [{ apiGroup: '*', resources: ['*'], namespaces: ['one'] }];
    const more = { downsync, wantSingletonReportedState: true };
    apply(one, deployment, place('one', { matchLabels: { only: 'here' } }, more));
    tree.ok('node/eu:paris', 'label', 'location', 'rivoli', 'only=here');
    const status = (space: string) => tree.json<Shown>(space, 'deployment', 'till', '-n', 'one')?.status;
    await until('it is ready at the center', () => status(retail)?.readyReplicas === 2);
    tree.ok(retail, 'scale', 'deployment', 'till', '-n', 'one', '--replicas=3');
    expect(tree.ok(retail, 'rollout', 'status', 'deployment/till', '-n', 'one', '--timeout=30s')).toContain('success');
    await until('each level says the same', () => {
      const all = [retail, 'space/eu/center.retail', 'space/eu:paris/center.retail'].map((space) => status(space));
      return all.every((each) => each?.readyReplicas === 3 && JSON.stringify(each) === JSON.stringify(all[0]));
    });
    const { generation } = tree.json<Shown>(retail, 'deployment', 'till', '-n', 'one')!.metadata;
    expect(status(retail)?.observedGeneration).toBe(generation);
    tree.ok(retail, 'delete', 'epl', 'one');
    await until('it goes with the placement', () => status(retail) === undefined);
  });

  it('brings up the reports of a policy engine at three clusters, one by one and as a summary, until the reports are deleted', async () => {
    const example = (file: string) => fixture(`docs/examples/compliance/${file}`);
    for (const file of ['policy-report-definition', 'summary', 'compliance'])
      tree.ok(retail, 'apply', '-f', example(`${file}.yaml`));
    const served = (path: string) =>
      kubectlBy(planes.get(path)!.kubeconfig, ['get', 'crd', 'policyreports.wgpolicyk8s.io']).code === 0;
    for (const path of real) {
      await until(`${path} serves the kind`, () => served(path));
      await until('it takes a report', () => {
        const { kubeconfig } = planes.get(path)!;
        return kubectlBy(kubeconfig, ['apply', '-f', example('report.yaml')]).code === 0;
      });
    }
    const uid = (context: string) =>
      tree.json<Shown>(context, 'policyreports', 'till', '-n', 'default')?.metadata.uid ?? '';
    const there = (path: string) =>
      site(path, 'get', 'policyreport', 'till', '-n', 'default', '-o', 'jsonpath={.metadata.uid}');
    const views = (path: string) => [`mailbox/${path}`, `reported/center/${path}`];
    for (const path of real)
      for (const view of views(path)) await until(`${view} has it`, () => uid(view) === there(path));
    expect(uid(`reported/eu:paris/${rivoli}`)).toBe(there(rivoli));
    const counted = (space: string) =>
      (tree.json<{ rows: { columns: unknown[] }[] }>(space, 'ss', 'compliance.severity')?.rows ?? []).map(
        ({ columns }) => columns.slice(0, 3).join(' '),
      );
    await until('they are summed up', () => counted(retail).join() === 'eu 2 2,us 1 1');
    await until('in the region', () => counted('space/eu:paris/center.retail').join() === 'eu 1 1');
    site(rivoli, 'delete', 'policyreport', 'till', '-n', 'default');
    for (const view of views(rivoli)) await until(`it has gone from ${view}`, () => uid(view) === '');
    await until('it is counted no more', () => counted(retail).join() === 'eu 1 1,us 1 1');
    expect(uid(`reported/center/${mitte}`)).toBe(there(mitte));
  });
});

/** The tree of the example, with a real cluster behind the agents of these paths. */
function topologyWith(planes: ReadonlyMap<string, ControlPlane>): string {
  const topology = parse(readFileSync(fixture('deploy/topologies/shop.yaml'), 'utf8')) as {
    spec: { clusters: { name: string; parent?: string; provider?: object }[] };
  };
  for (const cluster of topology.spec.clusters) {
    const path = cluster.parent === undefined ? cluster.name : `${cluster.parent}:${cluster.name}`;
    const plane = planes.get(path);
    if (plane) cluster.provider = { kubeconfig: { path: plane.kubeconfig } };
  }
  return stringify(topology);
}
