import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NodeApiClient } from '../../center/cli/api-client.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { banyan, LocalTree, until } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const retail = 'space/center/retail';
const clusters = ['eu:paris:rivoli', 'eu:paris:bastille', 'eu:berlin:mitte', 'eu:berlin:lab', 'us:market', 'hq'];

interface Placement {
  metadata: { generation: number };
  status?: {
    observedGeneration?: number;
    summary?: Record<string, number>;
    rollout?: { release: number; phase: string; wave?: string; message: string };
    conditions?: { type: string; status: string; reason: string }[];
  };
}
interface Deployment {
  metadata: { generation: number };
  spec: { template: { spec: { containers: { image: string }[] } } };
  status?: { availableReplicas?: number; observedGeneration?: number };
}

const ratio = { name: 'healthy', expression: 'available/expected >= 0.99' };
const go = (wave: string) => ({ name: `go-${wave}`, rolloutGate: `go-${wave}` });
/** Breaks version 3 in Berlin, and nothing else. */
const customizer = {
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'Customizer',
  metadata: { name: 'berlin', namespace: 'shop' },
  spec: {
    rules: [
      {
        when: 'location.metadata.labels.?zone.orValue("") == "berlin" && object.spec.template.spec.containers[0].image.endsWith(":3")',
        target: { kind: 'Deployment' },
        patch: [{ op: 'replace', path: '/spec/template/spec/containers/0/image', value: 'shop/till:broken' }],
      },
    ],
  },
};
const deployment = (version: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'till', namespace: 'shop', annotations: { 'edge.banyan.io/customizer': 'berlin' } },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'till' } },
    template: {
      metadata: { labels: { app: 'till' } },
      spec: { containers: [{ name: 'till', image: `shop/till:${version}` }] },
    },
  },
});
const placement = (rollout: object) => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name: 'till' },
  spec: {
    locationSelectors: [{}],
    downsync: [{ apiGroup: 'apps', resources: ['deployments'], namespaces: ['shop'] }],
    rollout,
  },
});
const gate = (name: string) => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'RolloutGate',
  metadata: { name },
  spec: { description: 'for the test' },
});

const same = (a: readonly string[], b: readonly string[]) => a.join() === b.join();

async function untilIs(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not within 60 s: ${what}`);
    await new Promise((done) => setTimeout(done, 200));
  }
}

describe.skipIf(withoutKubectl)(`a release in waves${why}`, () => {
  const tree = new LocalTree('deploy/topologies/shop.yaml');
  const started: ChildProcess[] = [];
  const status = () => tree.json<Placement>(retail, 'epl', 'till')?.status;
  const rollout = () => status()?.rollout;
  const at = (phase: string, wave?: string) => () => {
    const { phase: is, wave: of } = rollout() ?? {};
    return is === phase && (wave === undefined || of === wave);
  };
  /** Six clusters are read often: by one client instead of a kubectl for each. */
  let api: NodeApiClient;
  const path = '/apis/apps/v1/namespaces/shop/deployments/till';
  const till = async (cluster: string) => (await api.get(`cluster/${cluster}`, path)) as Deployment | undefined;
  const having = async (version: string) => {
    const images = await Promise.all(
      clusters.map(async (cluster) => (await till(cluster))?.spec.template.spec.containers[0]?.image),
    );
    return clusters.filter((_, i) => images[i] === `shop/till:${version}`);
  };
  const everywhere = async (version: string, expected: readonly string[]) => {
    await untilIs(`version ${version} at ${expected.join()}`, async () => same(await having(version), expected));
  };
  const apply = (object: object) => {
    const { code, out } = tree.apply(retail, object);
    expect(code, out).toBe(0);
  };
  const writeStatus = (name: string, status: object) =>
    tree.ok(retail, 'patch', 'rg', name, '--subresource=status', '--type=merge', '-p', JSON.stringify({ status }));
  const start = (program: string, config: string) => {
    const file = join(tree.data, 'config', config);
    started.push(spawn(process.execPath, [program, '--config', file], { stdio: 'ignore' }));
  };

  beforeAll(async () => {
    await tree.up('--no-restart');
    api = new NodeApiClient(join(tree.data, 'kubeconfig'));
  });
  afterAll(async () => {
    api?.close();
    for (const child of started) child.kill('SIGTERM');
    await tree[Symbol.asyncDispose]();
  });

  it('goes to one cluster, to half of them, to all, over a kill -9 of the center, and says what it waits for', async () => {
    apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
    for (const object of [customizer, deployment(1), gate('go-canary'), gate('go-half')]) apply(object);
    apply(placement({ strategy: 'All' }));
    tree.ok(retail, 'wait', 'epl/till', '--for=condition=Ready', '--timeout=60s');
    const waves = [
      { name: 'canary', count: 1, soakSeconds: 6, gates: [ratio, go('canary')] },
      { name: 'half', fraction: 0.5, gates: [ratio, go('half')] },
      { name: 'all', fraction: 1 },
    ];
    apply(placement({ strategy: 'Progressive', waves }));
    await until('it is staged, with nothing to do', at('Promoted'));
    apply(deployment(2));
    await until('the canary soaks', at('Soaking', 'canary'));
    await until('and waits for its gate', at('WaitingForGate', 'canary'));
    const canary = await having('2');
    expect(canary).toHaveLength(1);
    expect(await having('1')).toHaveLength(5);
    const message = `wave 1/3 'canary': 1 of 1 available, waits for gate 'go-canary' (nobody has written its status for release 1, wave canary)`;
    expect(rollout()?.message).toBe(message);
    expect(tree.ok(retail, 'get', 'epl', 'till')).toContain(message);
    expect(banyan('status', 'epl/till', '--space', retail, '--data', tree.data).out).toContain(message);
    expect(status()?.summary).toMatchObject({ expected: 6, available: 1, outdated: 5 });

    tree.kill('center');
    start('center/main.ts', 'center.yaml');
    await until('the center is back', at('WaitingForGate', 'canary'));
    expect([await having('2'), (await having('1')).length]).toEqual([canary, 5]);
    writeStatus('go-canary', { phase: 'Passed', release: 1, wave: 'canary' });
    await until('half of them wait for their gate', at('WaitingForGate', 'half'));
    expect(await having('2')).toEqual(expect.arrayContaining(canary));
    writeStatus('go-half', { phase: 'Passed', release: 1 });
    await until('it is promoted', at('Promoted'));
    await everywhere('2', clusters);
    tree.ok(retail, 'wait', 'epl/till', '--for=condition=Ready', '--timeout=60s');
  });

  it('that fails at the second wave is paused within its error budget, and is rolled back everywhere on request', async () => {
    const zone = (name: string) => ({ name, selector: { matchLabels: { zone: name } } });
    const staged = { strategy: 'Progressive', waves: [zone('paris'), zone('berlin')], errorBudget: 1 };
    apply(placement(staged));
    apply(deployment(3));
    await until('it is paused', at('Paused'));
    expect(status()?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Progressing', status: 'False', reason: 'ErrorBudgetSpent' }),
    );
    expect(rollout()?.message).toContain("paused: wave 2/3 'berlin': 1 destinations fail");
    const first = ['eu:paris:rivoli', 'eu:paris:bastille'];
    expect(await having('3')).toEqual(first);
    const states = await Promise.all(first.map(till));
    expect(states.map((state) => state?.status?.availableReplicas)).toEqual([1, 1]);
    expect([(await having('broken')).length, (await having('2')).length]).toEqual([1, 3]);
    apply(placement({ ...staged, onFailure: 'Rollback' }));
    await until('it is taken back', at('RolledBack'));
    await everywhere('2', clusters);
  });

  it('does not wait for an offline subtree, which gets the promoted objects when it is back', async () => {
    tree.kill('us');
    await until('the center knows', () => (status()?.summary?.stale ?? 0) === 1);
    const waves = [{ name: 'half', fraction: 0.5, gates: [ratio] }];
    apply(placement({ strategy: 'Progressive', waves }));
    apply(deployment(4));
    await everywhere(
      '4',
      clusters.filter((cluster) => cluster !== 'us:market'),
    );
    await until('it is promoted without it', at('Promoted'));
    expect(await having('2')).toEqual(['us:market']);
    start('relay/main.ts', 'us.yaml');
    await everywhere('4', clusters);
    tree.ok(retail, 'wait', 'epl/till', '--for=condition=Ready', '--timeout=60s');
  });

  it('is refused if its waves could never pass', () => {
    const refused = (spec: object) => tree.apply(retail, placement({ strategy: 'Progressive', ...spec })).out;
    const [ten, half] = [0.1, 0.5].map((fraction) => ({ name: `w${fraction * 10}`, fraction }));
    expect(refused({ waves: [half, ten] })).toContain(
      'spec.rollout.waves[1].fraction: Invalid value: 0.1: must be greater than the 0.5 of an earlier wave',
    );
    expect(refused({ waves: [{ ...ten, soakSeconds: 3600 }] })).toContain('the wave would never end');
  });
});
