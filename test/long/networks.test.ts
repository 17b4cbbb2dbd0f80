/** A tree in which every node is a host of its own: pulled cables, a region that is cut off, an agent that moves to another address. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { LocalTree, type Ran, until } from '../e2e/local-tree.ts';
import { placedInProduction } from '../e2e/placements.ts';
import { Hosts, withoutHosts } from '../support/hosts.ts';
import { kubectlProgram, withoutKubectl } from '../support/kubectl.ts';

const lacking = [withoutHosts, withoutKubectl].filter((reason) => reason !== undefined).join('; ');
const why = lacking === '' ? '' : ` [not run: ${lacking}]`;
const [center, region] = ['space/center/retail', 'space/eu/ops'];
const [shop, kiosk] = ['eu:shop', 'eu:kiosk'];

/** For each host: its networks, with its addresses. The relay is on both, like a gateway of a site; the site's network has only IPv6. */
const places: Record<string, Record<string, string>> = {
  center: { wide: '10.213.1.1' },
  eu: { wide: '10.213.1.2', site: 'fd00:213:2::2' },
  'eu:shop': { site: 'fd00:213:2::3' },
  'eu:kiosk': { site: 'fd00:213:2::4' },
};
const kioskMovesTo = 'fd00:213:2::44';
const addressOf = (host: string, port: number) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`);
const hostOf = (path: string) => path.replaceAll(':', '-');
const fileOf = (path: string) => path.replaceAll(':', '.');

interface Config {
  readonly mesh?: { readonly port: number; readonly host: string };
  readonly parent?: { readonly address: string; readonly path: string };
}
interface Shown {
  readonly metadata: { readonly uid: string };
  readonly data?: { readonly text: string };
  readonly status?: { readonly summary?: Record<string, number> };
}

const topology = `apiVersion: banyan.io/v1alpha1
kind: Topology
metadata: {name: networks}
spec:
  center: {spaces: [{name: retail}]}
  relays: [{name: eu, spaces: [{name: ops}]}]
  clusters:
    - {name: shop, parent: eu, labels: {env: prod}}
    - {name: kiosk, parent: eu, labels: {env: prod}}
`;

describe.skipIf(lacking !== '')(`hosts with addresses of their own${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-networks-'));
  const hosts = new Hosts();
  const nodes: ChildProcess[] = [];
  let tree: LocalTree;

  beforeAll(async () => {
    const file = join(directory, 'topology.yaml');
    writeFileSync(file, topology);
    tree = new LocalTree(file);
    // Certificates, configurations and contexts of kubectl; then the nodes start on their hosts.
    await tree.up('--no-restart');
    await tree.down();
    for (const network of ['wide', 'site']) hosts.network(network);
    for (const [path, addresses] of Object.entries(places)) {
      hosts.host(hostOf(path));
      for (const [network, address] of Object.entries(addresses)) hosts.connect(hostOf(path), network, address);
    }
    for (const path of Object.keys(places)) start(path);
    await until('all are attached', () => sessions('eu') === 1 && sessions('shop') === 1 && sessions('kiosk') === 1);
  });
  afterAll(async () => {
    await Promise.all(
      nodes.map((node) => {
        const ended = new Promise((done) => node.once('exit', done));
        return node.kill('SIGTERM') ? ended : undefined;
      }),
    );
    hosts[Symbol.dispose]();
    await tree?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const configFile = (path: string) => join(tree.data, 'config', `${fileOf(path)}.yaml`);
  const configOf = (path: string) => parse(readFileSync(configFile(path), 'utf8')) as Config;

  /** On its host, listening on all of its addresses, and dialing its parent at the address of their common network. */
  function start(path: string): void {
    const config = configOf(path);
    const parent = path.includes(':') ? path.slice(0, path.lastIndexOf(':')) : 'center';
    const network = Object.keys(places[path]!).find((name) => places[parent]?.[name] !== undefined);
    const own = {
      ...config,
      logFile: logFile(path),
      ...(config.mesh ? { mesh: { ...config.mesh, host: '::' } } : {}),
      ...(config.parent && network
        ? {
            parent: {
              path: config.parent.path,
              address: addressOf(places[parent]![network]!, configOf(parent).mesh!.port),
            },
          }
        : {}),
    };
    const file = join(directory, `${fileOf(path)}.yaml`);
    writeFileSync(file, stringify(own));
    const program = path === 'center' ? 'center/main.ts' : path.includes(':') ? 'edge-agent/main.ts' : 'relay/main.ts';
    const [command, ...args] = [...hosts.at(hostOf(path)), process.execPath, program, '--config', file];
    nodes.push(spawn(command!, args, { stdio: 'ignore' }));
  }

  const logFile = (path: string) => join(directory, `${fileOf(path)}.log`);
  /** Sessions that were begun with this child, as its parent logs them. */
  const sessions = (child: string) => {
    try {
      return readFileSync(logFile(child === 'eu' ? 'center' : 'eu'), 'utf8')
        .split('\n')
        .filter((line) => line.includes('a child is attached') && line.includes(`"child":"${child}"`)).length;
    } catch {
      return 0;
    }
  };
  /** On the host of the node whose API it is. */
  function kubectl(context: string, args: readonly string[], input?: string): Ran {
    const node = context.startsWith('space/') ? context.split('/')[1]! : context.slice(context.indexOf('/') + 1);
    const [command, ...before] = [...hosts.at(hostOf(node)), kubectlProgram, '--request-timeout=10s'];
    const options = ['--kubeconfig', join(tree.data, 'kubeconfig'), '--context', context];
    const ran = spawnSync(command!, [...before, ...options, ...args], {
      encoding: 'utf8',
      ...(input === undefined ? {} : { input }),
      env: { ...process.env, KUBECACHEDIR: join(directory, 'kubecache') },
    });
    return { code: ran.status ?? -1, out: `${ran.stdout}${ran.stderr}`, stdout: ran.stdout };
  }
  const get = (context: string, ...args: string[]): Shown | undefined => {
    const { code, stdout } = kubectl(context, ['get', ...args, '-o', 'json']);
    return code === 0 ? (JSON.parse(stdout) as Shown) : undefined;
  };
  /** A namespace of this name with a ConfigMap, and the placement that sends both to all production clusters. */
  function place(space: string, name: string, text: string): void {
    const placement = placedInProduction(name);
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    const configMap = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'word', namespace: name },
      data: { text },
    };
    const list = { apiVersion: 'v1', kind: 'List', items: [namespace, configMap, placement] };
    const { code, out } = kubectl(space, ['apply', '-f', '-'], JSON.stringify(list));
    expect(code, out).toBe(0);
  }
  const configMapAt = (cluster: string, name: string) => get(`cluster/${cluster}`, 'configmap', 'word', '-n', name);
  const available = (space: string, name: string) => get(space, 'epl', name)?.status?.summary?.available;

  it('carry a placement from host to host', async () => {
    place(center, 'far', 'first');
    await until('both have it', () => available(center, 'far') === 2);
  });

  it('continue in the same session after a cable was pulled for a moment', async () => {
    hosts.pull(hostOf(shop), 'site');
    place(center, 'far', 'second');
    await until('the other one has it', () => configMapAt(kiosk, 'far')?.data?.text === 'second');
    expect(configMapAt(shop, 'far')?.data?.text).toBe('first');
    hosts.plug(hostOf(shop), 'site');
    await until('it has come', () => configMapAt(shop, 'far')?.data?.text === 'second');
    expect(sessions('shop')).toBe(1);
  });

  it('let a region work while it is cut off, and an agent in it change its address, and all reach the exact state afterwards', async () => {
    const before = [shop, kiosk].map((cluster) => configMapAt(cluster, 'far')?.metadata.uid);
    hosts.pull('eu', 'wide');
    hosts.move(hostOf(kiosk), 'site', places[kiosk]!.site!, kioskMovesTo);
    place(center, 'far', 'third');
    place(region, 'near', 'first');
    await until('the region delivers its own', () => configMapAt(shop, 'near')?.data?.text === 'first');
    expect(configMapAt(shop, 'far')?.data?.text).toBe('second');
    // Three beats that nobody receives: both sides of both lines give up by themselves.
    await until('the agent is attached from where it is now', () => sessions('kiosk') === 2, 100);
    await until('it has what it missed', () => configMapAt(kiosk, 'near')?.data?.text === 'first');
    await until('the region counts both', () => available(region, 'near') === 2);
    hosts.plug('eu', 'wide');
    const both = () => [shop, kiosk].every((cluster) => configMapAt(cluster, 'far')?.data?.text === 'third');
    await until('what was said meanwhile arrives', both);
    await until('the center counts both', () => available(center, 'far') === 2);
    expect([shop, kiosk].map((cluster) => configMapAt(cluster, 'far')?.metadata.uid)).toEqual(before);
    expect(sessions('shop')).toBe(1);
    expect(readFileSync(logFile('eu'), 'utf8')).not.toContain('clone');
  }, 200_000);
});
