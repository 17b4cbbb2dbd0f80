/**
 * A fleet of sixty embedded clusters below three regions, each node a process. `kubectl rollout status` alone follows a release in waves, and `kubectl get` on
 * the fleet answers in bounded time while a region is cut off.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NodeApiClient } from '../../center/cli/api-client.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { LocalTree, type Ran, until } from '../e2e/local-tree.ts';
import { kubectlProgram, withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const space = 'space/center/retail';
const fleet = 'fleet/center/retail';
const regions = ['asia', 'eu', 'us'];
const clustersInRegion = 20;
/** The first cluster of each region is a canary. */
const clusters = regions.flatMap((region) =>
  Array.from({ length: clustersInRegion }, (_, i) => ({
    path: `${region}:store-${i}`,
    labels: { env: 'prod', canary: String(i === 0) },
  })),
);
const canaries = clusters.filter(({ labels }) => labels.canary === 'true').map(({ path }) => path);
const paths = clusters.map(({ path }) => path);

/** Sixty processes start one after the other on two cores. */
const startsWithinSeconds = 300;
/** Time from the last cluster's availability to the end of kubectl: the agent reports, two levels pass on at most one status a second, kubectl prints. */
const endsWithinMs = 10_000;
/** A relay that does not answer is given up after 5 s; the rest is a list of the other clusters. */
const listWithinMs = 10_000;
/** A relay that was given up is not asked again at once, and a relay without a connection is not asked at all. */
const nextListWithinMs = 3_000;

const topology = {
  apiVersion: 'banyan.io/v1alpha1',
  kind: 'Topology',
  metadata: { name: 'sixty' },
  spec: {
    center: { spaces: [{ name: 'retail', type: 'Workload' }] },
    relays: regions.map((name) => ({ name })),
    clusters: clusters.map(({ path, labels }) => {
      const [parent, name] = path.split(':');
      return { name, parent, labels };
    }),
  },
};

const web = (image: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop' },
  spec: {
    replicas: 1,
    progressDeadlineSeconds: 5,
    selector: { matchLabels: { app: 'till' } },
    template: { metadata: { labels: { app: 'till' } }, spec: { containers: [{ name: 'web', image }] } },
  },
});
const placement = (rollout: object) => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name: 'shop' },
  spec: {
    locationSelectors: [{ matchLabels: { env: 'prod' } }],
    downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['shop'] }],
    associated: [{ apiGroup: '', resources: ['pods'] }],
    rollout,
  },
});
const gate = {
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'RolloutGate',
  metadata: { name: 'go-on' },
  spec: { description: 'holds the last wave back until the test has looked' },
};
const waves = [
  { name: 'canary', selector: { matchLabels: { canary: 'true' } } },
  { name: 'half', fraction: 0.5, gates: [{ name: 'go-on', rolloutGate: 'go-on' }] },
  { name: 'all', fraction: 1 },
];

interface Deployment extends KubeObject {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } };
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
  };
}
interface Placement {
  readonly status?: {
    readonly rollout?: { readonly phase: string; readonly wave?: string; readonly release: number };
    readonly summary?: Record<string, number>;
  };
}

describe.skipIf(withoutKubectl)(`sixty clusters below three regions${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-sixty-'));
  let tree: LocalTree;
  let api: NodeApiClient;
  const apply = (...items: object[]) => {
    const { code, out } = tree.apply(space, { apiVersion: 'v1', kind: 'List', items });
    expect(code, out).toBe(0);
  };
  const status = () => tree.json<Placement>(space, 'epl', 'shop')?.status;
  const at = (phase: string, wave?: string) => () => {
    const { phase: is, wave: of } = status()?.rollout ?? {};
    return is === phase && (wave === undefined || of === wave);
  };

  /** The clusters at which the Deployment has this image, and those of them at which it is also available. The clusters themselves are asked. */
  async function having(image: string): Promise<{ written: string[]; available: string[] }> {
    const all = await Promise.all(
      paths.map((path) => api.get(`cluster/${path}`, '/apis/apps/v1/namespaces/shop/deployments/web')),
    );
    const written = paths.filter((_, i) => imageOf(all[i] as Deployment | undefined) === image);
    const available = paths.filter((path, i) => written.includes(path) && isAvailable(all[i] as Deployment));
    return { written, available };
  }

  beforeAll(async () => {
    const file = join(directory, 'topology.yaml');
    writeFileSync(file, JSON.stringify(topology));
    tree = new LocalTree(file, startsWithinSeconds);
    const startMs = performance.now();
    await tree.up('--no-restart');
    console.log(`${clusters.length} clusters are ready after ${seconds(performance.now() - startMs)}`);
    api = new NodeApiClient(join(tree.data, 'kubeconfig'));
    apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }, gate, web('web:1'));
    apply(placement({ strategy: 'All' }));
    tree.ok(space, 'rollout', 'status', 'deploy/web', '-n', 'shop', '--timeout=60s');
    apply(placement({ strategy: 'Progressive', waves, errorBudget: 1 }));
    await until('it is staged', at('Promoted'));
  }, 400_000);
  afterAll(async () => {
    api?.close();
    await tree?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('kubectl rollout status ends when the last wave is available everywhere, and not before', async () => {
    apply(web('web:2'));
    const rollout = new RolloutStatus(join(tree.data, 'kubeconfig'));
    await until('half of the clusters are done', at('WaitingForGate', 'half'));
    const half = (await having('web:2')).available;
    // Each cluster decides by a hash of its path, so the share is not exact.
    expect(half.length).toBeGreaterThan(clusters.length / 4);
    expect(half.length).toBeLessThan((3 * clusters.length) / 4);
    expect(half).toEqual(expect.arrayContaining(canaries));
    expect(rollout.code).toBeUndefined();
    const { release } = status()!.rollout!;
    const passed = JSON.stringify({ status: { phase: 'Passed', release } });
    tree.ok(space, 'patch', 'rg', 'go-on', '--subresource=status', '--type=merge', '-p', passed);
    let availableMs = Number.NaN;
    for (let hasEnded = false; !hasEnded; ) {
      hasEnded = rollout.code !== undefined;
      const { available } = await having('web:2');
      if (available.length === clusters.length && Number.isNaN(availableMs)) availableMs = performance.now();
      if (hasEnded) expect(available).toEqual(paths);
      else await new Promise((done) => setTimeout(done, 50));
    }
    const lateMs = rollout.endedMs! - availableMs;
    console.log(`kubectl rollout status ended ${seconds(lateMs)} after the last cluster`);
    expect([rollout.code, rollout.out]).toEqual([0, expect.stringContaining('successfully rolled out')]);
    expect(lateMs).toBeLessThan(endsWithinMs);
    tree.ok(space, 'wait', 'epl/shop', '--for=condition=Ready', '--timeout=5s');
  });

  it('kubectl rollout status fails when the release has failed at the canaries, and the other clusters keep what they had', async () => {
    apply(web('web:broken'));
    const failed = tree.kubectl(space, ['rollout', 'status', 'deploy/web', '-n', 'shop', '--timeout=60s']);
    expect([failed.code, failed.out]).toEqual([1, expect.stringContaining('exceeded its progress deadline')]);
    expect((await having('web:broken')).written).toEqual(canaries);
    expect((await having('web:2')).available).toHaveLength(clusters.length - canaries.length);
    await until('the release is paused', at('Paused'));
    apply(placement({ strategy: 'All' }), web('web:3'));
    tree.ok(space, 'rollout', 'status', 'deploy/web', '-n', 'shop', '--timeout=60s');
    expect((await having('web:3')).available).toEqual(paths);
  });

  describe('with a region that is cut off', () => {
    const others = paths.filter((path) => !path.startsWith('us:'));
    const pods = (): Ran & { readonly tookMs: number } => {
      const startMs = performance.now();
      const ran = tree.kubectl(fleet, ['get', 'pods', '-A', '-l', 'app=till']);
      return { ...ran, tookMs: performance.now() - startMs };
    };

    beforeAll(() => until('all pods are there', () => clustersIn(pods().stdout).length === clusters.length));

    it('lists all pods while all regions answer', () => {
      const { code, out, stdout, tookMs } = pods();
      console.log(`${clusters.length} rows in ${seconds(tookMs)}`);
      expect([code, clustersIn(stdout)]).toEqual([0, paths.toSorted()]);
      expect(out).not.toContain('Warning');
    });

    it('lists the pods of the others while its relay is stopped, and names the region', async () => {
      process.kill(tree.pid('us'), 'SIGSTOP');
      try {
        const first = pods();
        console.log(`${others.length} rows and a warning in ${seconds(first.tookMs)}`);
        expect([first.code, clustersIn(first.stdout)]).toEqual([0, others.toSorted()]);
        expect(first.out).toMatch(/Warning: us is missing here with 20 clusters: no answer within 5 s/);
        expect(first.tookMs).toBeLessThan(listWithinMs);
        const next = pods();
        expect(clustersIn(next.stdout)).toEqual(others.toSorted());
        expect(next.out).toMatch(/Warning: us is missing here with 20 clusters/);
        expect(next.tookMs).toBeLessThan(nextListWithinMs);
      } finally {
        process.kill(tree.pid('us'), 'SIGCONT');
      }
      await until('the region is back', () => clustersIn(pods().stdout).length === clusters.length);
    });

    it('lists the pods of the others when its relay was killed, and names the region', async () => {
      tree.kill('us');
      await until('the center knows', () =>
        /us is missing here with 20 clusters: it is not connected/.test(pods().out),
      );
      const { code, stdout, tookMs } = pods();
      console.log(`${others.length} rows and a warning in ${seconds(tookMs)}, without a connection`);
      expect([code, clustersIn(stdout)]).toEqual([0, others.toSorted()]);
      expect(tookMs).toBeLessThan(nextListWithinMs);
    });
  });
});

/** One `kubectl rollout status` that runs while the test does something else. */
class RolloutStatus {
  out = '';
  /** Undefined: it still runs. */
  code: number | null | undefined;
  endedMs: number | undefined;

  constructor(kubeconfig: string) {
    const args = ['--kubeconfig', kubeconfig, '--context', space];
    const command = ['rollout', 'status', 'deploy/web', '-n', 'shop', '--timeout=120s'];
    const child: ChildProcess = spawn(kubectlProgram, [...args, ...command], { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.on('data', (chunk: Buffer) => {
        this.out += chunk;
      });
    }
    child.once('exit', (code) => {
      this.code = code;
      this.endedMs = performance.now();
    });
  }
}

function imageOf(deployment: Deployment | undefined): string | undefined {
  return deployment?.spec.template.spec.containers[0]?.image;
}

function isAvailable({ metadata, status }: Deployment): boolean {
  return (
    status?.observedGeneration === metadata.generation &&
    status?.updatedReplicas === 1 &&
    status?.availableReplicas === 1
  );
}

/** The column CLUSTER of a printed table. */
function clustersIn(out: string): (string | undefined)[] {
  const rows = out.split('\n').filter((line) => line.startsWith('shop '));
  return rows.map((line) => line.split(/\s+/)[2]);
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}
