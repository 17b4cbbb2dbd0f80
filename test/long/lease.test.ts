import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { fixture, kubectlBy, LocalTree, until } from '../e2e/local-tree.ts';
import { placedInProduction } from '../e2e/placements.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { type Audited, ControlPlane } from '../support/control-plane/control-plane.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { waitedMs } from '../support/waited.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
/** The programs may have to be built first. */
const buildMsMax = 3_600_000;
/**
 * The promised time. A standby that read just before a renewal reads again 2 s later, and waits 10 s from then on (edge-agent/lease/election.ts). The rest is
 * for its session with the parent and the apply.
 */
const takenOverSecondsMax = 15;
const path = 'eu:rivoli';
const lease = { namespace: 'kube-system', name: 'banyan-agent' };
const writeVerbs = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);
const leasesUri = '/apis/coordination.k8s.io/';

describe.skipIf(missing)(`several agents with one identity before a real cluster${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-lease-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  let plane: ControlPlane;
  const agents: Replica[] = [];
  const [a, b] = [() => agents[0]!, () => agents[1]!];
  const site = (...args: string[]): string => {
    const { code, out } = kubectlBy(plane.kubeconfig, args);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${out}`);
    return out;
  };
  const center = (...args: string[]) => tree.ok('space/center/retail', ...args, '-n', 'shop');
  const price = () =>
    kubectlBy(plane.kubeconfig, ['get', 'cm', 'prices', '-n', 'shop', '-o', 'jsonpath={.data.bread}']);
  const setPrice = (bread: string) => center('patch', 'cm', 'prices', '-p', JSON.stringify({ data: { bread } }));
  const uids = () => site('get', 'cm,ns,deploy', '-n', 'shop', '-l', 'banyan.io/managed=true', '-o', uidsOf);
  /** In the order of their arrival. */
  const writesOf = (replica: Replica): Audited[] =>
    plane
      .audited()
      .filter(({ user, verb }) => user.username === replica.name && writeVerbs.has(verb))
      .filter(({ requestURI }) => !requestURI.startsWith(leasesUri))
      .sort((one, other) => (one.requestReceivedTimestamp < other.requestReceivedTimestamp ? -1 : 1));

  /** From now on: seconds in which a replica did not wait for a processor. */
  const stopwatch = ({ pid }: Replica) => {
    const [beganMs, beganWaitedMs] = [performance.now(), waitedMs(pid)];
    return () => (performance.now() - beganMs - (waitedMs(pid) - beganWaitedMs)) / 1_000;
  };

  beforeAll(async () => {
    plane = await ControlPlane.start({ directory: join(directory, 'plane'), audit: true });
    // Released, so that the first agent does not wait for a possible holder, as it does if there is no Lease.
    const released = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: lease };
    kubectlBy(
      plane.kubeconfig,
      ['create', '-f', '-'],
      JSON.stringify({ ...released, spec: { leaseDurationSeconds: 1 } }),
    );
    writeFileSync(join(directory, 'topology.yaml'), stringify(topologyWith(plane.kubeconfig)));
    await tree.up('--no-restart');
    // The tree's own agent gives its place and its identity to the agents of this test.
    tree.kill(path);
    for (const name of ['agent-a', 'agent-b']) {
      const kubeconfig = await plane.kubeconfigOf({ name, groups: ['system:masters'] });
      agents.push(new Replica(tree.data, join(directory, name), name, kubeconfig));
    }
  }, buildMsMax);
  afterAll(async () => {
    for (const agent of agents) agent.kill('SIGKILL');
    await tree[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('have one active agent; the others name it and are ready', async () => {
    a().start();
    await until('a is active', () => a().standing === 'ok');
    b().start();
    await until('b stands by', () => /^standby: agent-a_\w+ is active$/.test(b().standing ?? ''));
    tree.ok('space/center/retail', 'create', 'namespace', 'shop');
    for (const name of ['prices', 'old']) center('create', 'cm', name, '--from-literal=bread=1');
    center('create', 'deployment', 'till', '--image=registry.example.com/till');
    tree.apply('space/center/retail', placement);
    await until(
      'the shop is there',
      () => kubectlBy(plane.kubeconfig, ['get', 'deploy/till', 'cm/old', '-n', 'shop']).code === 0,
    );
    expect(writesOf(b())).toEqual([]);
  });

  it('lose nothing when the active agent is killed: another one applies a change within 15 s, to the same objects', async () => {
    const before = uids();
    a().kill('SIGKILL');
    const seconds = stopwatch(b());
    setPrice('2');
    await until('b applies the change', () => price().out === '2');
    const took = seconds();
    console.log(`taken over ${took.toFixed(1)} s after kill -9`);
    expect(took).toBeLessThan(takenOverSecondsMax);
    expect(uids()).toBe(before);
    // Objects in their desired state were not changed.
    const answers = writesOf(b()).filter(({ responseStatus }) => responseStatus?.code === 201);
    expect(answers).toEqual([]);
  });

  it('never write after another one has become active, frozen or not, and do not restore objects that were withdrawn meanwhile', async () => {
    center('delete', 'cm', 'old');
    await until('it is gone', () => kubectlBy(plane.kubeconfig, ['get', 'cm', 'old', '-n', 'shop']).code !== 0);
    a().start();
    await until('a stands by', () => /agent-b_\w+ is active/.test(a().standing ?? ''));
    const writesBefore = writesOf(a()).length;
    let bread = 10;
    const flow = setInterval(() => setPrice(String(bread++)), 400);
    try {
      await until('the flow comes through', () => Number(price().out) >= 10);
      b().kill('SIGSTOP');
      const [next, seconds] = [bread, stopwatch(a())];
      await until('a applies what has changed since', () => Number(price().out) >= next);
      const took = seconds();
      console.log(`taken over ${took.toFixed(1)} s after SIGSTOP`);
      expect(took).toBeLessThan(takenOverSecondsMax);
      b().kill('SIGCONT');
      await until('b has ended', () => b().exitCode !== undefined);
    } finally {
      clearInterval(flow);
    }
    expect(b().exitCode).toBe(4);
    const first = writesOf(a())[writesBefore]!;
    const late = writesOf(b()).filter((one) => one.requestReceivedTimestamp >= first.requestReceivedTimestamp);
    expect(late).toEqual([]);
    setPrice('99');
    await until('a goes on', () => price().out === '99');
    expect(kubectlBy(plane.kubeconfig, ['get', 'cm', 'old', '-n', 'shop']).code).not.toBe(0);
    expect(
      writesOf(a())
        .slice(writesBefore)
        .filter(({ objectRef }) => objectRef?.name === 'old'),
    ).toEqual([]);
  });

  it('hand over at once when the active agent ends in order', async () => {
    b().start();
    await until('b stands by', () => /agent-a_\w+ is active/.test(b().standing ?? ''));
    a().kill('SIGTERM');
    const seconds = stopwatch(b());
    await until('a has ended', () => a().exitCode !== undefined);
    expect(a().exitCode).toBe(0);
    setPrice('100');
    await until('b applies the change', () => price().out === '100');
    expect(seconds()).toBeLessThan(8);
  });

  it('enforce the stored desired state without a parent, if they were active last', async () => {
    b().kill('SIGTERM');
    await until('b has ended', () => b().exitCode !== undefined);
    const parent = tree.pid('eu');
    process.kill(parent, 'SIGSTOP');
    try {
      site('delete', 'cm', 'prices', '-n', 'shop');
      b().start();
      await until('it is there again', () => price().out === '100');
    } finally {
      process.kill(parent, 'SIGCONT');
    }
  });

  it('remove objects that another store applied and no placement wants any more, and nothing else', async () => {
    site('create', 'cm', 'of-the-site', '-n', 'default');
    site('label', 'cm', 'of-the-site', '-n', 'default', 'banyan.io/managed=true');
    b().kill('SIGTERM');
    await until('b has ended', () => b().exitCode !== undefined);
    center('delete', 'cm', 'prices');
    b().loseStore();
    b().start();
    await until('it is gone', () => kubectlBy(plane.kubeconfig, ['get', 'cm', 'prices', '-n', 'shop']).code !== 0);
    await until(
      'the rest is on record',
      () => kubectlBy(plane.kubeconfig, ['get', 'deploy', 'till', '-n', 'shop']).code === 0,
    );
    tree.ok('space/center/retail', 'delete', 'epl', 'shop');
    // Also the Namespace, which came with an agent of another store.
    await until('the shop is gone', () => kubectlBy(plane.kubeconfig, ['get', 'namespace', 'shop']).code !== 0);
    expect(site('get', 'cm', 'of-the-site', '-n', 'default', '-o', 'name').trim()).toBe('configmap/of-the-site');
  });
});

const uidsOf = 'jsonpath={range .items[*]}{.metadata.name}={.metadata.uid} {end}';

const placement = placedInProduction('shop');

function topologyWith(kubeconfig: string): object {
  return {
    apiVersion: 'banyan.io/v1alpha1',
    kind: 'Topology',
    metadata: { name: 'lease' },
    spec: {
      center: { spaces: [{ name: 'retail', type: 'Workload' }] },
      relays: [{ name: 'eu' }],
      clusters: [
        { name: 'rivoli', parent: 'eu', labels: { env: 'prod' }, provider: { kubeconfig: { path: kubeconfig } } },
      ],
    },
  };
}

/** One of several agents, with a store of its own, like a pod of a DaemonSet. */
class Replica {
  readonly name: string;
  readonly #directory: string;
  readonly #config: string;
  #process: ChildProcess | undefined;
  #standing: string | undefined;

  constructor(treeData: string, directory: string, name: string, kubeconfig: string) {
    this.name = name;
    this.#directory = directory;
    this.#config = join(directory, 'agent.yaml');
    mkdirSync(directory);
    const own = parse(readFileSync(join(treeData, 'config', 'eu.rivoli.yaml'), 'utf8')) as object;
    const cluster = { kubernetes: { kubeconfig, lease: { ...lease, identity: name } } };
    const files = { logFile: join(directory, 'log'), statusFile: this.#statusFile, data: join(directory, 'data') };
    writeFileSync(this.#config, stringify({ ...own, ...files, cluster, api: { host: '127.0.0.1', port: 0 } }));
  }

  get pid(): number {
    return this.#process!.pid!;
  }

  get exitCode(): number | undefined {
    return this.#process?.exitCode ?? undefined;
  }

  /** The answer of its /readyz: `ok` for the active one. Asked again and again. */
  get standing(): string | undefined {
    this.#ask();
    return this.#standing;
  }

  start(): void {
    rmSync(this.#statusFile, { force: true });
    this.#standing = undefined;
    const args = [fixture('edge-agent/main.ts'), '--config', this.#config];
    this.#process = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  }

  loseStore(): void {
    rmSync(join(this.#directory, 'data'), { recursive: true });
  }

  kill(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  #ask(): void {
    let url: string;
    try {
      ({ url } = JSON.parse(readFileSync(this.#statusFile, 'utf8')) as { url: string });
    } catch {
      return;
    }
    const asked = get(`${url}/readyz`, { rejectUnauthorized: false, agent: false, timeout: 2_000 }, (response) => {
      let body = '';
      response.on('data', (chunk: Buffer) => {
        body += chunk;
      });
      response.on('end', () => {
        this.#standing = body;
      });
    });
    asked.on('timeout', () => asked.destroy());
    asked.on('error', () => {});
  }

  get #statusFile(): string {
    return join(this.#directory, 'status.json');
  }
}
