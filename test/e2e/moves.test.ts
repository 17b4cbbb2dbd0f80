import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { withoutKubectl } from '../support/kubectl.ts';
import { plainNode } from '../support/plain-node.ts';
import { fixture, LocalTree, until } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const space = 'space/center/retail';
const [rivoli, mitte, market] = ['cluster/eu:paris:rivoli', 'cluster/eu:berlin:mitte', 'cluster/us:market'];

interface Condition {
  type: string;
  status: string;
  reason: string;
  message: string;
}
interface Placement {
  status?: {
    summary?: Record<string, number>;
    rollout?: { phase: string };
    moving?: { strategy: string; leaving: number; joining: number; overdue?: number };
    conditions?: Condition[];
  };
}

describe.skipIf(withoutKubectl)(`moves on a tree of processes${why}`, () => {
  const tree = new LocalTree('test/e2e/moves-topology.yaml');
  const running: ChildProcess[] = [];
  const placement = (name: string) => tree.json<Placement>(space, 'epl', name)?.status ?? {};
  const moving = (name: string) => placement(name).conditions?.find(({ type }) => type === 'Moving');
  const has = (cluster: string, kind: string, name: string) => tree.json(cluster, kind, name, '-n', name) !== undefined;
  const available = (cluster: string, name: string) =>
    tree.json<{ status?: { availableReplicas?: number } }>(cluster, 'deployment', name, '-n', name)?.status
      ?.availableReplicas === 1;

  /** Output lines of a program that runs while the test waits for kubectl. */
  const lines = (program: string, ...args: string[]): (() => string[]) => {
    const child = spawn(program, args, { env: { ...process.env, KUBECONFIG: join(tree.data, 'kubeconfig') } });
    running.push(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk;
      });
    }
    return () => output.split('\n').slice(0, -1);
  };

  /** Each line is the result of one round, in the order of the clusters. */
  const probe = async (path: string, ...clusters: string[]) => {
    const config = join(tree.data, 'kubeconfig');
    const seen = lines(process.execPath, join(import.meta.dirname, 'probe.ts'), config, path, ...clusters);
    await until('the probe looks', () => seen().length > 2);
    return seen;
  };
  const deploymentOf = (name: string) => `/apis/apps/v1/namespaces/${name}/deployments/${name}`;

  const apply = (name: string, workload: { apiVersion: string; kind: string; spec: object }, spec: object) => {
    const app = { app: name };
    const template = { metadata: { labels: app }, spec: { containers: [{ name: 'run', image: `${name}:1` }] } };
    const items = [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
      {
        ...workload,
        metadata: { name, namespace: name },
        spec: { replicas: 1, selector: { matchLabels: app }, template, ...workload.spec },
      },
      {
        apiVersion: 'edge.banyan.io/v1alpha1',
        kind: 'EdgePlacement',
        metadata: { name },
        spec: { downsync: [{ apiGroup: 'apps', resources: ['*'], namespaces: [name] }], ...spec },
      },
    ];
    const { code, out } = tree.apply(space, { apiVersion: 'v1', kind: 'List', items });
    expect(code, out).toBe(0);
  };
  const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', spec: {} };
  const storesOf = (region: string) => ({ locationSelectors: [{ matchLabels: { region, role: 'store' } }] });
  const ready = (name: string) => tree.ok(space, 'wait', `epl/${name}`, '--for=condition=Ready', '--timeout=60s');
  /** Sets the single label. */
  const moveTo = (name: string, region: string) =>
    tree.ok(
      space,
      'patch',
      'epl',
      name,
      '--type=json',
      '-p',
      JSON.stringify([{ op: 'replace', path: '/spec/locationSelectors/0/matchLabels/region', value: region }]),
    );

  beforeAll(() => tree.up());
  afterEach(() => {
    for (const child of running.splice(0)) child.kill();
  });
  afterAll(() => tree[Symbol.asyncDispose]());

  it('move the till from eu to us by one label of its placement, and the old copy serves until the new one is available', async () => {
    apply('till', deployment, { ...storesOf('eu'), move: { strategy: 'Auto' } });
    ready('till');
    expect(placement('till').moving).toEqual({ strategy: 'MakeBeforeBreak', leaving: 0, joining: 0 });
    const seen = await probe(deploymentOf('till'), rivoli, market);
    process.kill(tree.pid('us:market'), 'SIGSTOP');
    moveTo('till', 'us');
    const message = /^1 old copy waits for us:market to be available, until [\d:]{8}Z$/;
    await until('it says who waits for whom', () => message.test(moving('till')?.message ?? ''));
    expect(placement('till').moving).toMatchObject({ leaving: 1, joining: 1 });
    expect(available(rivoli, 'till')).toBe(true);
    process.kill(tree.pid('us:market'), 'SIGCONT');
    await until('the old copy has gone', () => available(market, 'till') && !has(rivoli, 'deployment', 'till'));
    await until('the placement says so', () => placement('till').summary?.available === 1);
    await until('the probe sees it', () => seen().at(-1) === '0 1');
    expect(seen()).not.toContain('0 0');
    expect(seen().at(0)).toBe('1 0');
    await until('nothing waits any more', () => moving('till')?.status === 'False');
    expect(moving('till')?.reason).toBe('NothingHeld');
  });

  it('keep a copy available when the relays of both sides and the center are killed during the move', async () => {
    const seen = await probe(deploymentOf('till'), market, rivoli);
    moveTo('till', 'eu');
    for (const node of ['eu', 'us', 'center', 'eu:paris']) tree.kill(node);
    await until('the old copy has gone', () => available(rivoli, 'till') && !has(market, 'deployment', 'till'));
    await until('the probe sees it', () => seen().at(-1) === '0 1');
    expect(seen()).not.toContain('0 0');
  });

  it('leave a gap with the strategy None, as the same probe shows', async () => {
    apply('gap', deployment, { ...storesOf('eu'), move: { strategy: 'None' } });
    ready('gap');
    const seen = await probe(deploymentOf('gap'), rivoli, market);
    // The old copy goes without waiting for a new one, which can't come yet.
    process.kill(tree.pid('us'), 'SIGSTOP');
    try {
      moveTo('gap', 'us');
      await until('the probe sees neither', () => seen().at(-1) === '0 0');
    } finally {
      process.kill(tree.pid('us'), 'SIGCONT');
    }
    await until('the probe sees it there', () => seen().at(-1) === '0 1');
    expect(placement('gap').moving).toBeUndefined();
  });

  it('move a StatefulSet with a ReadWriteOnce claim in the other order: two copies never run at once', async () => {
    const volumeClaimTemplates = [
      {
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    ];
    const spec = { serviceName: 'ledger', volumeClaimTemplates };
    apply('ledger', { apiVersion: 'apps/v1', kind: 'StatefulSet', spec }, { ...storesOf('eu'), move: {} });
    ready('ledger');
    expect(placement('ledger').moving?.strategy).toBe('BreakBeforeMake');
    const pods = '/api/v1/namespaces/ledger/pods';
    // The new copy first: if the probe has seen it there, it must have started after the old one had ended.
    const seen = await probe(pods, market, rivoli);
    moveTo('ledger', 'us');
    tree.kill('us');
    await until('it has moved', () => !has(rivoli, 'statefulset', 'ledger') && has(market, 'statefulset', 'ledger'));
    await until('it is available', () => placement('ledger').summary?.available === 1);
    await until('the probe sees it', () => seen().at(-1) === '1 0');
    expect(seen()).not.toContain('1 1');
    expect(seen().at(0)).toBe('0 1');
    expect(seen()).toContain('0 0');
  });

  it('continue inside a region while the center does not answer: the relay above both places decides', async () => {
    const label = (relay: string, location: string, value: string) =>
      tree.ok(`node/${relay}`, 'label', 'location', location, `fleet=${value}`, '--overwrite');
    label('eu:paris', 'rivoli', 'on');
    apply('fleet', deployment, { locationSelectors: [{ matchLabels: { fleet: 'on' } }], move: {} });
    ready('fleet');
    label('eu:berlin', 'mitte', 'off');
    const seen = await probe(deploymentOf('fleet'), rivoli, mitte);
    process.kill(tree.pid('center'), 'SIGSTOP');
    try {
      label('eu:paris', 'rivoli', 'off');
      label('eu:berlin', 'mitte', 'on');
      await until('it has moved', () => available(mitte, 'fleet') && !has(rivoli, 'deployment', 'fleet'));
    } finally {
      process.kill(tree.pid('center'), 'SIGCONT');
    }
    await until('the probe sees it', () => seen().at(-1) === '0 1');
    expect(seen()).not.toContain('0 0');
    await until('the center hears of it', () => placement('fleet').summary?.available === 1);
  });

  it('remove the old copy at the deadline when the new one never becomes available, and report it', async () => {
    const broken = { ...deployment, spec: { progressDeadlineSeconds: 5 } };
    apply('late', broken, { ...storesOf('eu'), move: { strategy: 'MakeBeforeBreak', deadlineSeconds: 20 } });
    ready('late');
    const template = { spec: { template: { spec: { containers: [{ name: 'run', image: 'late:broken' }] } } } };
    tree.ok(space, 'patch', 'deployment', 'late', '-n', 'late', '--type=merge', '-p', JSON.stringify(template));
    moveTo('late', 'us');
    await until('it waits', () => moving('late')?.status === 'True');
    expect(has(rivoli, 'deployment', 'late')).toBe(true);
    await until('the old copy has gone', () => !has(rivoli, 'deployment', 'late'));
    await until('it is said', () => moving('late')?.reason === 'DeadlinePassed');
  });

  it('move the promoted objects while a release waits, and do not wait for the release', async () => {
    const rollout = { strategy: 'Progressive', waves: [{ name: 'first', count: 1 }] };
    apply('staged', deployment, { ...storesOf('eu'), move: {}, rollout });
    ready('staged');
    await until('the first release is promoted', () => placement('staged').rollout?.phase === 'Promoted');
    const change = (kind: string, spec: object) =>
      tree.ok(space, 'patch', ...kind.split(' '), '--type=merge', '-p', JSON.stringify({ spec }));
    change('epl staged', { rollout: { ...rollout, paused: true } });
    change('deployment staged -n staged', { template: { spec: { containers: [{ name: 'run', image: 'staged:2' }] } } });
    const seen = await probe(deploymentOf('staged'), rivoli, market);
    moveTo('staged', 'us');
    await until('it has moved', () => available(market, 'staged') && !has(rivoli, 'deployment', 'staged'));
    await until('the probe sees it', () => seen().at(-1) === '0 1');
    expect(seen()).not.toContain('0 0');
    const image = 'jsonpath={.spec.template.spec.containers[0].image}';
    expect(tree.ok(market, 'get', 'deployment', 'staged', '-n', 'staged', '-o', image)).toBe('staged:1');
  });

  it('run the carbon example: an external program supplies figures, and the forecast moves to where they are low', async () => {
    const feed = join(tree.data, 'feed.json');
    const figures = (paris: number, us: number) =>
      writeFileSync(feed, JSON.stringify({ 'eu:paris:rivoli': paris, 'us:market': us }));
    figures(56, 380);
    lines(plainNode(), fixture('docs/examples/carbon/carbon.mjs'), feed);
    tree.ok(space, 'apply', '-f', fixture('docs/examples/carbon/placement.yaml'));
    ready('forecast');
    await until('it is in Paris', () => available(rivoli, 'forecast'));
    const seen = await probe(deploymentOf('forecast'), rivoli, market);
    figures(420, 31);
    await until('it moves', () => available(market, 'forecast') && !has(rivoli, 'deployment', 'forecast'));
    await until('the probe sees it', () => seen().at(-1) === '0 1');
    expect(seen()).not.toContain('0 0');
  });
});
