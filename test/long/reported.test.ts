import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture, LocalTree, until } from '../e2e/local-tree.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const retail = 'space/center/retail';
const [rivoli, market] = ['eu:paris:rivoli', 'us:market'];
const example = (file: string) => fixture(`docs/examples/compliance/${file}`);

interface Shown {
  metadata: { name: string; uid: string; generation: number; labels?: Record<string, string> };
  results?: { severity: string }[];
  status?: {
    readyReplicas?: number;
    observedGeneration?: number;
    phase?: string;
    summary?: Record<string, number>;
    conditions?: { type: string; status: string; reason: string }[];
  };
}
interface List {
  items: Shown[];
}

describe.skipIf(withoutKubectl)(`reports from the edge${why}`, () => {
  const tree = new LocalTree('deploy/topologies/shop.yaml');
  const names = (context: string, ...args: string[]) =>
    (tree.json<List>(context, ...args)?.items ?? []).map(({ metadata }) => metadata.name).sort();
  const report = (context: string) => tree.json<Shown>(context, 'policyreports', 'till', '-n', 'default');

  const web = (replicas: number, more: object = {}) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop' },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
      ...more,
    },
  });
  const place = (selector: object, more: object = {}) => ({
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'EdgePlacement',
    metadata: { name: 'web' },
    spec: {
      locationSelectors: [selector],
      downsync: [{ apiGroup: 'apps', resources: ['deployments'], namespaces: ['shop'] }],
      ...more,
    },
  });
  const apply = (...items: object[]) => {
    const { code, out } = tree.apply(retail, { apiVersion: 'v1', kind: 'List', items });
    expect(code, out).toBe(0);
  };
  const shopNamespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };

  const byHand: ChildProcess[] = [];
  /** Starts a process of a killed node again, as its supervisor would. */
  const startAgain = (program: string, path: string) => {
    const config = join(tree.data, 'config', `${path.replaceAll(':', '.')}.yaml`);
    byHand.push(spawn(process.execPath, [program, '--config', config], { stdio: 'ignore' }));
  };

  beforeAll(() => tree.up('--no-restart'));
  afterAll(async () => {
    for (const child of byHand) child.kill('SIGTERM');
    await tree[Symbol.asyncDispose]();
  });

  it('shows the objects that the placed objects own, over any number of steps, in the mailbox of the cluster', async () => {
    const statusSummarizers = ['owned'];
    const associated = [
      { apiGroup: '', resources: ['pods'], limit: 2, statusSummarizers },
      { apiGroup: 'apps', resources: ['replicasets'], statusSummarizers },
    ];
    const owned = {
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'StatusSummarizer',
      metadata: { name: 'owned' },
      spec: {
        groupBy: [{ name: 'kind', def: 'returned.kind' }],
        combinedFields: [{ name: 'n', type: 'COUNT' }],
      },
    };
    apply(owned, shopNamespace, web(3), place({ matchLabels: { zone: 'paris' } }, { associated }));
    tree.ok(retail, 'wait', 'epl/web', '--for=condition=Ready', '--timeout=60s');
    const mailbox = `mailbox/${rivoli}`;
    const [pods] = [names(`cluster/${rivoli}`, 'pods', '-n', 'shop')];
    expect(pods).toHaveLength(3);
    const shown = () => names(mailbox, 'pods', '-n', 'shop').join();
    await until('the first two of three pods are there', () => shown() === pods.slice(0, 2).join());
    await until('they run', () => {
      const running = tree.json<List>(mailbox, 'pods', '-n', 'shop')!.items;
      return running.every(({ status }) => status?.phase === 'Running');
    });
    expect(tree.ok(mailbox, 'get', 'pods', '-n', 'shop')).toMatch(/NAME\s+READY\s+STATUS/);
    const sets = names(`cluster/${rivoli}`, 'rs', '-n', 'shop');
    expect(sets).toHaveLength(1);
    await until('their ReplicaSet too', () => names(mailbox, 'rs', '-n', 'shop').join() === sets.join());
    expect(tree.kubectl(mailbox, ['delete', 'pods', '--all', '-n', 'shop']).code).not.toBe(0);
    const counted = () =>
      (tree.json<{ rows: { columns: unknown[] }[] }>(retail, 'ss', 'web.owned')?.rows ?? [])
        .map(({ columns }) => columns.join(' '))
        .sort();
    await until('those of both clusters are counted', () => counted().join() === 'Pod 4,ReplicaSet 2');
    apply(web(0));
    await until('they go when they go', () => names(mailbox, 'pods', '-n', 'shop').length === 0);
    tree.ok(retail, 'delete', 'epl', 'web');
    await until('all go with the placement', () => names(mailbox, 'rs', '-n', 'shop').length === 0);
  });

  it('brings policy reports of the shops to the center, one by one, under the path of the shop', async () => {
    tree.ok(retail, 'apply', '-f', example('policy-report-definition.yaml'), '-f', example('compliance.yaml'));
    tree.ok(retail, 'wait', 'epl/compliance', '--for=condition=Ready', '--timeout=60s');
    for (const shop of [rivoli, market]) tree.ok(`cluster/${shop}`, 'apply', '-f', example('report.yaml'));
    const views = [`mailbox/${rivoli}`, `reported/eu:paris/${rivoli}`, `reported/eu/${rivoli}`];
    for (const view of [...views, `reported/center/${rivoli}`, `reported/center/${market}`]) {
      await until(`it is readable at ${view}`, () => report(view) !== undefined);
    }
    const uids = [rivoli, market].map((shop) => report(`reported/center/${shop}`)!.metadata.uid);
    expect(uids).toEqual([rivoli, market].map((shop) => report(`cluster/${shop}`)!.metadata.uid));
    expect(uids[0]).not.toBe(uids[1]);
    expect(report(`reported/center/${rivoli}`)!.results).toEqual(report(`cluster/${rivoli}`)!.results);
    // The center has the kind in its own space; this view knows it from the reports alone.
    expect(tree.ok(`reported/center/${rivoli}`, 'get', 'policyreports', '-A')).toMatch(/default\s+till/);
    tree.ok(`cluster/${rivoli}`, 'label', 'policyreport', 'till', 'seen=yes');
    await until('a change comes up', () => report(`reported/center/${rivoli}`)?.metadata.labels?.seen === 'yes');
    tree.ok(`cluster/${rivoli}`, 'delete', 'policyreport', 'till');
    for (const view of [...views, `reported/center/${rivoli}`]) {
      await until(`it has gone from ${view}`, () => report(view) === undefined);
    }
    expect(report(`reported/center/${market}`)).toBeDefined();
  });

  it('removes reports that a rule no longer asks for, or no longer wants so far up', async () => {
    tree.ok(`cluster/${rivoli}`, 'apply', '-f', example('report.yaml'));
    await until('it is at the center', () => report(`reported/center/${rivoli}`) !== undefined);
    const upsync = [{ apiGroup: 'wgpolicyk8s.io', resources: ['policyreports'], namespaces: ['*'] }];
    tree.ok(retail, 'patch', 'epl', 'compliance', '--type=merge', '-p', JSON.stringify({ spec: { upsync } }));
    await until('it has gone from the center', () => report(`reported/center/${rivoli}`) === undefined);
    expect(report(`mailbox/${rivoli}`)).toBeDefined();
    tree.ok(retail, 'patch', 'epl', 'compliance', '--type=merge', '-p', '{"spec":{"upsync":[]}}');
    await until('it has gone from the mailbox', () => report(`mailbox/${rivoli}`) === undefined);
    expect(report(`cluster/${rivoli}`)).toBeDefined();
  });

  it('leaves an upsynced object to the cluster, and reports this where the same object is sent down', async () => {
    const mine = (by: string) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'mine', namespace: 'shop' },
      data: { by },
    });
    const configMaps = { apiGroup: '', resources: ['configmaps'], namespaces: ['shop'] };
    const placement = (name: string, more: object) => ({
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'EdgePlacement',
      metadata: { name },
      spec: { locationSelectors: [{ matchLabels: { zone: 'paris' } }], ...more },
    });
    const cluster = `cluster/${rivoli}`;
    tree.apply(cluster, shopNamespace);
    expect(tree.apply(cluster, mine('edge')).code).toBe(0);
    apply(shopNamespace, placement('take', { upsync: [{ ...configMaps, names: ['mine'] }] }));
    await until('it has come up', () => names(`mailbox/${rivoli}`, 'cm', '-n', 'shop').includes('mine'));
    // The site made the object, so the agent overwrites it only if the placement says so.
    const takesOver = { adopt: 'Always', downsync: [{ ...configMaps, objectNames: ['mine'] }] };
    apply(mine('center'), placement('send', takesOver));
    tree.ok(retail, 'wait', 'epl/send', '--for=condition=Conflicted', '--timeout=60s');
    expect(tree.ok(retail, 'get', 'epl', 'send', '-o', 'jsonpath={.status.failures[*].message}')).toContain(
      'EdgePlacement take of center.retail takes this object up',
    );
    const by = () => tree.ok(cluster, 'get', 'cm', 'mine', '-n', 'shop', '-o', 'jsonpath={.data.by}');
    expect(by()).toBe('edge');
    tree.ok(retail, 'delete', 'epl', 'take');
    await until('nobody takes it any more', () => by() === 'center');
    tree.ok(retail, 'delete', 'epl', 'send');
  });

  it('writes exact status into the objects while there is one destination, with the generations of these objects', async () => {
    const status = (context: string) => tree.json<Shown>(context, 'deployment', 'web', '-n', 'shop');
    const single = { wantSingletonReportedState: true };
    apply(web(1), web(2), place({ matchLabels: { 'store-name': 'none' } }, single));
    apply(place({ matchLabels: { zone: 'paris' }, matchExpressions: [] }, single));
    tree.ok(retail, 'wait', 'epl/web', '--for=condition=Ready', '--timeout=60s');
    expect(status(retail)?.status).toBeUndefined();
    // One of the two shops of Paris.
    tree.ok('node/eu:paris', 'label', 'location', 'rivoli', 'single=yes');
    apply(place({ matchLabels: { single: 'yes' } }, single));
    await until('the status is there', () => status(retail)?.status?.readyReplicas === 2);
    expect(status(retail)!.status!.observedGeneration).toBe(status(retail)!.metadata.generation);
    expect(status(retail)!.metadata.generation).toBeGreaterThan(status(`cluster/${rivoli}`)!.metadata.generation);
    expect(tree.ok(retail, 'rollout', 'status', 'deployment/web', '-n', 'shop', '--timeout=10s')).toContain('success');
    await until('a relay shows it', () => status('space/eu/center.retail')?.status?.readyReplicas === 2);
    expect(tree.json<Shown>(retail, 'ns', 'shop')?.status?.phase).toBe('Active');

    tree.kill('eu:paris');
    startAgain('relay/main.ts', 'eu:paris');
    apply(web(3));
    await until('it is followed after a restart', () => status(retail)?.status?.readyReplicas === 3);
    tree.kill(rivoli);
    const summary = () => tree.json<Shown>(retail, 'epl', 'web')?.status?.summary;
    await until('the destination is not connected', () => summary()?.stale === 1);
    expect(status(retail)?.status?.readyReplicas).toBe(3);
    startAgain('edge-agent/main.ts', rivoli);
    await until('it is back', () => summary()?.available === 1);
    tree.ok('node/eu:paris', 'label', 'location', 'bastille', 'single=yes');
    await until('a second destination takes it back', () => status(retail)?.status === undefined);
    tree.ok('node/eu:paris', 'label', 'location', 'bastille', 'single-');
    await until('it is put again', () => status(retail)?.status?.readyReplicas === 3);
    tree.ok(retail, 'delete', 'epl', 'web');
    await until('it goes with the placement', () => status(retail)?.status === undefined);
  });
});
