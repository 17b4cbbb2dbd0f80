/** A tree becomes another tree, step by step, while an object changes all the time. With real processes, and one cluster with a real API server. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { NodeApiClient } from '../../center/cli/api-client.ts';
import { fixture, LocalTree, until } from '../e2e/local-tree.ts';
import { buildMsMax } from '../e2e/one-site.ts';
import { placedInProduction } from '../e2e/placements.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { type Audited, ControlPlane } from '../support/control-plane/control-plane.ts';
import { furnish } from '../support/control-plane/furniture.ts';
import { getObject } from '../support/kept-api/kept-api.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { SteadyWriter } from '../support/steady-writer.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const prod = { env: 'prod' };
/** A step takes ten to twenty seconds, and many times as much beside other tests. */
const limitMs = 300_000;

interface Relay {
  readonly name: string;
  readonly parent?: string;
  readonly replicas?: number;
  readonly spaces?: readonly object[];
}

interface Cluster {
  readonly name: string;
  readonly parent: string;
  readonly labels: Record<string, string>;
  readonly properties?: Record<string, string>;
  readonly provider?: object;
}

/** The tree of the test, which its steps change. */
class Shape {
  relays: Relay[] = [{ name: 'eu' }, { name: 'us' }, { name: 'paris', parent: 'eu' }];
  clusters: Cluster[] = [
    { name: 'a', parent: 'eu:paris', labels: prod },
    { name: 'b', parent: 'eu', labels: prod },
    { name: 'c', parent: 'us', labels: prod },
  ];

  /** `kubeconfig`: that of the API server of the cluster `real`. */
  constructor(kubeconfig: string) {
    this.clusters.push({
      name: 'real',
      parent: 'eu:paris',
      labels: prod,
      provider: { kubeconfig: { path: kubeconfig } },
    });
  }

  relay(name: string, change: Partial<Relay>): void {
    this.relays = this.relays.map((one) => (one.name === name ? { ...one, ...change } : one));
  }

  cluster(name: string, change: Partial<Cluster>): void {
    this.clusters = this.clusters.map((one) => (one.name === name ? { ...one, ...change } : one));
  }

  get text(): string {
    const center = { spaces: [{ name: 'retail', type: 'Workload' }] };
    const spec = { center, relays: this.relays, clusters: this.clusters };
    return stringify({ apiVersion: 'banyan.io/v1alpha1', kind: 'Topology', metadata: { name: 'changing' }, spec });
  }
}

const till = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'till', namespace: 'shop' },
  data: { count: '0' },
};
/** One deployment, whose pod the controllers of a real cluster make, and the claim of the deployment. */
const pay = [
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'pay', namespace: 'shop' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'pay', namespace: 'shop' },
    spec: {
      selector: { matchLabels: { app: 'pay' } },
      template: {
        metadata: { labels: { app: 'pay' } },
        spec: {
          containers: [{ name: 'app', image: 'registry.example.com/pay' }],
          volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'pay' } }],
        },
      },
    },
  },
];

function beside(...args: string[]): ChildProcess {
  const program = fixture('center/cli/banyan.ts');
  return spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'], cwd: fixture('.') });
}

async function ranBeside(...args: string[]): Promise<{ code: number | null; out: string }> {
  const child = beside(...args);
  let out = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream!.on('data', (chunk: Buffer) => {
      out += chunk;
    });
  }
  const code = await new Promise<number | null>((done) => child.once('exit', done));
  return { code, out };
}

/** The agent has the kubeconfig of the administrator. The other users are components of the cluster. */
function isOfAgent({ user }: Audited): boolean {
  return user.username === 'admin';
}

/** Whether the request deleted or made an object of the workload. */
function isLossy({ verb, objectRef, responseStatus }: Audited): boolean {
  const isWorkload = objectRef?.namespace === 'shop' || objectRef?.name === 'shop';
  return isWorkload && (verb.startsWith('delete') || responseStatus?.code === 201);
}

interface ShownNode {
  readonly spec: { readonly path: string };
  readonly status?: { readonly session?: { readonly since?: string }; readonly agents?: number };
}

describe.skipIf(missing)(`a topology that changes while the tree runs${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-topology-'));
  const file = join(directory, 'topology.yaml');
  const tree = new LocalTree(file);
  let plane: ControlPlane;
  let shape: Shape;
  const writer = new SteadyWriter(() => new NodeApiClient(join(tree.data, 'kubeconfig')), {
    context: 'space/center/retail',
    path: '/api/v1/namespaces/shop/configmaps/till',
    nth: (count) => ({ ...till, data: { count: String(count) } }),
  });

  beforeAll(async () => {
    plane = await ControlPlane.start({ directory: join(directory, 'plane'), audit: true });
    furnish(plane, { nodes: 1, volumes: 1 });
    shape = new Shape(plane.kubeconfig);
    writeFileSync(file, shape.text);
    await tree.up();
    const items = [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }, till, ...pay];
    tree.apply('space/center/retail', { apiVersion: 'v1', kind: 'List', items });
    tree.apply('space/center/retail', placedInProduction('shop'));
    await untilPlaced(4);
    writer.start();
  }, buildMsMax);
  afterAll(async () => {
    await writer.end();
    await tree[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const summary = () =>
    tree.json<{ status?: { summary?: Record<string, number> } }>('space/center/retail', 'epl', 'shop')?.status?.summary;

  /** Waits until exactly this number of clusters has the newest version. While the object changes, there is always a newer one. */
  async function untilPlaced(expected: number): Promise<void> {
    writer.isPaused = true;
    await until(
      `${expected} clusters have the workload`,
      () => {
        const { expected: e, available, stale, never } = summary() ?? {};
        return e === expected && available === expected && stale === 0 && never === 0;
      },
      120,
    );
    writer.isPaused = false;
  }

  const uidAt = (path: string, namespace = 'shop') =>
    tree.json<{ metadata: { uid: string } }>(`cluster/${path}`, 'cm', 'till', '-n', namespace)?.metadata.uid;

  /** An object of the relay's own space, for all clusters below the relay. */
  function putCare(relay: string): void {
    const space = `space/${relay}/ops`;
    tree.apply(space, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'care' } });
    tree.apply(space, { ...till, metadata: { name: 'till', namespace: 'care' } });
    tree.apply(space, placedInProduction('care'));
  }

  /** The uids of what was delivered to the real cluster, and of what its controllers made of it. */
  function atReal(): readonly string[] {
    const kinds = ['ns', 'cm', 'pvc', 'deploy', 'rs', 'po'];
    const all = kinds.flatMap((kind) => {
      const args = kind === 'ns' ? [kind] : [kind, '-n', 'shop'];
      return getObject<{ items: { metadata: { name: string; uid: string } }[] }>(plane.kubeconfig, args)?.items ?? [];
    });
    const uids = all.map(({ metadata: { name, uid } }) => `${name} ${uid}`);
    expect(uids.filter((one) => one.startsWith('pay')).length).toBe(4);
    return uids;
  }

  /** The pids of these nodes, and since when their parents have sessions with them. */
  function standing(...paths: readonly string[]): unknown {
    const nodes = ['center', 'eu', 'us'].flatMap(
      (at) => tree.json<{ items: ShownNode[] }>(`node/${at}`, 'nodes.mesh.banyan.io')?.items ?? [],
    );
    return paths.map((path) => {
      const since = nodes.filter(({ spec }) => spec.path === path).map(({ status }) => status?.session?.since);
      return [path, tree.pid(path), since];
    });
  }

  function write(): void {
    writeFileSync(file, shape.text);
  }

  const topology = (command: string, ...args: string[]) =>
    ranBeside('topology', command, '-f', file, '--data', tree.data, ...args);

  /** Applies the shape in a process beside this one, so that the object goes on changing. */
  async function apply(...args: string[]): Promise<void> {
    write();
    expect(await topology('apply', ...args)).toMatchObject({ code: 0 });
    expect(await topology('diff')).toEqual({ code: 0, out: 'no differences\n' });
  }

  it(
    'adds a relay with a cluster, and restarts nobody',
    async () => {
      const before = standing('center', 'eu', 'us', 'eu:b', 'us:c');
      shape.relays.push({ name: 'lyon', parent: 'us' });
      shape.clusters.push({ name: 'd', parent: 'us:lyon', labels: prod });
      write();
      const diff = await topology('diff', '-o', 'json');
      expect(diff.code).toBe(4);
      expect(JSON.parse(diff.out)).toEqual({
        differences: [
          { action: 'add', role: 'relay', path: 'us:lyon', fields: [] },
          { action: 'add', role: 'agent', path: 'us:lyon:d', fields: [] },
        ],
      });
      await apply();
      await untilPlaced(5);
      expect(standing('center', 'eu', 'us', 'eu:b', 'us:c')).toEqual(before);
    },
    limitMs,
  );

  it(
    'refuses a change that takes workloads away without --yes, and changes nothing',
    async () => {
      shape.cluster('c', { labels: { env: 'test' } });
      write();
      const refused = await topology('apply');
      expect(refused.code).toBe(2);
      expect(refused.out).toMatch(/nothing was changed.*us:c: workloads whose placements select.*add --yes/s);
      expect((await topology('diff')).code).toBe(4);
      await untilPlaced(5);
    },
    limitMs,
  );

  it(
    'changes labels and properties, and restarts nobody',
    async () => {
      const before = standing('center', 'eu', 'us', 'us:c', 'us:lyon');
      shape.cluster('c', { labels: { env: 'test' }, properties: { 'carbon.gPerKWh': '56' } });
      await apply('--yes');
      await untilPlaced(4);
      shape.cluster('c', { labels: prod });
      await apply('--yes');
      await untilPlaced(5);
      expect(standing('center', 'eu', 'us', 'us:c', 'us:lyon')).toEqual(before);
    },
    limitMs,
  );

  it(
    'adds a space and removes it again with its copies, and restarts nobody',
    async () => {
      const before = standing('center', 'eu', 'us', 'eu:b');
      shape.relay('eu', { spaces: [{ name: 'ops', type: 'Workload' }] });
      await apply();
      putCare('eu');
      const hasCopy = () => uidAt('eu:b', 'care') !== undefined;
      await until('the copy is at eu:b', hasCopy);
      shape.relay('eu', { spaces: [] });
      write();
      expect((await topology('apply')).out).toContain('eu: the objects of ops, and their copies below');
      await apply('--yes');
      await until('the copy has left eu:b', () => !hasCopy());
      expect(standing('center', 'eu', 'us', 'eu:b')).toEqual(before);
    },
    limitMs,
  );

  it(
    'moves a cluster to another region: its objects are the same objects, also those that spaces of both regions deliver',
    async () => {
      const before = standing('center', 'eu', 'us', 'us:c');
      for (const region of ['eu', 'us']) shape.relay(region, { spaces: [{ name: 'ops', type: 'Workload' }] });
      await apply();
      for (const region of ['eu', 'us']) putCare(region);
      await until('the copy is at eu:b', () => uidAt('eu:b', 'care') !== undefined);
      const uids = [uidAt('eu:b'), uidAt('eu:b', 'care')];
      shape.cluster('b', { parent: 'us' });
      await apply('--yes');
      await untilPlaced(5);
      expect([uidAt('us:b'), uidAt('us:b', 'care')]).toEqual(uids);
      shape.relay('eu', { spaces: [] });
      await apply('--yes');
      expect(uidAt('us:b', 'care')).toBe(uids[1]);
      shape.relay('us', { spaces: [] });
      await apply('--yes');
      await until('the copy has left us:b', () => uidAt('us:b', 'care') === undefined);
      expect(standing('center', 'eu', 'us', 'us:c')).toEqual(before);
    },
    limitMs,
  );

  it(
    'moves a region with its clusters: the objects there are the same objects',
    async () => {
      const uid = uidAt('eu:paris:a');
      const real = atReal();
      const before = standing('center', 'eu', 'us', 'us:c', 'us:lyon');
      shape.relay('paris', { parent: 'us' });
      shape.cluster('a', { parent: 'us:paris' });
      shape.cluster('real', { parent: 'us:paris' });
      await apply('--yes');
      await untilPlaced(5);
      expect(uidAt('us:paris:a')).toBe(uid);
      expect(atReal()).toEqual(real);
      expect(standing('center', 'eu', 'us', 'us:c', 'us:lyon')).toEqual(before);
    },
    limitMs,
  );

  it(
    'moves a real cluster to another region: its API server deletes and makes nothing',
    async () => {
      const real = atReal();
      const [before, asked] = [standing('center', 'eu', 'us', 'us:c', 'us:paris:a'), plane.audited().length];
      shape.cluster('real', { parent: 'eu' });
      await apply('--yes');
      await untilPlaced(5);
      expect(atReal()).toEqual(real);
      const requests = plane.audited().slice(asked);
      expect(requests.filter(isOfAgent).map(({ verb }) => verb)).toContain('patch');
      const lossy = requests.filter((one) => isOfAgent(one) && isLossy(one));
      expect(lossy.map(({ verb, requestURI }) => `${verb} ${requestURI}`)).toEqual([]);
      expect(standing('center', 'eu', 'us', 'us:c', 'us:paris:a')).toEqual(before);
    },
    limitMs,
  );

  it(
    'gives a relay a second replica, and takes it away again',
    async () => {
      const uids = () => ['us:b', 'us:c', 'us:paris:a', 'us:lyon:d'].map((path) => uidAt(path));
      const [before, eu] = [uids(), standing('center', 'eu')];
      shape.relay('us', { replicas: 2 });
      await apply();
      await untilPlaced(5);
      shape.relay('us', { replicas: 1 });
      await apply();
      await untilPlaced(5);
      expect(uids()).toEqual(before);
      expect(standing('center', 'eu')).toEqual(eu);
      expect(tree.ok('node/center', 'get', 'nodes.mesh.banyan.io')).not.toContain('us~1');
    },
    limitMs,
  );

  it(
    'goes on with the removal of a region when an apply was killed in the middle',
    async () => {
      const before = standing('center', 'us', 'us:c');
      shape.relays = shape.relays.filter(({ name }) => name !== 'lyon');
      shape.clusters = shape.clusters.filter(({ name }) => name !== 'd');
      write();
      const killed = beside('topology', 'apply', '-f', file, '--data', tree.data, '--yes');
      let out = '';
      for (const stream of [killed.stdout, killed.stderr]) {
        stream!.on('data', (chunk: Buffer) => {
          out += chunk;
          if (out.includes('drained: ')) killed.kill('SIGKILL');
        });
      }
      await new Promise((done) => killed.once('exit', done));
      expect(out).toContain('drained: us:lyon:d');
      await apply('--yes');
      await untilPlaced(4);
      for (const node of ['center', 'us']) {
        expect(tree.ok(`node/${node}`, 'get', 'nodes.mesh.banyan.io,mailboxes,st,locations')).not.toContain('lyon');
      }
      expect(standing('center', 'us', 'us:c')).toEqual(before);
    },
    limitMs,
  );

  it(
    'refuses another tree, and a directory in which no tree runs',
    async () => {
      const other = join(directory, 'other.yaml');
      writeFileSync(other, shape.text.replace('name: changing', 'name: another'));
      const asked = (...args: string[]) => ranBeside('topology', 'apply', '-f', other, ...args);
      const renamed = await asked('--data', tree.data);
      expect([renamed.code, renamed.out]).toEqual([
        2,
        expect.stringMatching(/metadata\.name: "another" is another tree/),
      ]);
      const nowhere = await asked('--data', join(directory, 'nowhere'));
      expect([nowhere.code, nowhere.out]).toEqual([1, expect.stringMatching(/no tree of a topology runs here/)]);
    },
    limitMs,
  );

  it(
    'wrote the object all the time, and each cluster has the last version',
    async () => {
      await writer.end();
      expect(writer.failed).toEqual([]);
      expect(writer.count).toBeGreaterThan(100);
      await untilPlaced(4);
      for (const path of ['us:b', 'us:c', 'us:paris:a']) {
        await until(`${path} has the last version`, () => {
          const data = tree.json<{ data?: { count?: string } }>(`cluster/${path}`, 'cm', 'till', '-n', 'shop')?.data;
          return data?.count === String(writer.count);
        });
      }
      await until('the real cluster has the last version', () => {
        const data = getObject<typeof till>(plane.kubeconfig, ['cm', 'till', '-n', 'shop'])?.data;
        return data?.count === String(writer.count);
      });
    },
    limitMs,
  );
});
