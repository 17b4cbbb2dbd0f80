/** `banyan topology render`, `diff` and `apply` with a tree of machines: no supervisor, join tokens alone, and a person who follows the steps that are printed. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubectlBy, type Ran, until } from '../e2e/local-tree.ts';
import { Machines } from '../e2e/machines.ts';
import { blocksOf } from '../e2e/page-blocks.ts';
import { placedInProduction } from '../e2e/placements.ts';
import { freePorts } from '../support/free-ports.ts';
import { getObject } from '../support/kept-api/kept-api.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
/** Some commands and starts of processes, each some seconds beside other tests. */
const limitMs = 300_000;

interface Shown {
  readonly metadata: {
    readonly uid?: string;
    readonly labels?: Record<string, string>;
    readonly annotations?: Record<string, string>;
  };
  readonly spec?: Record<string, unknown>;
  readonly status?: { readonly summary?: Record<string, number>; readonly session?: { readonly state?: string } };
}

describe.skipIf(withoutKubectl)(`a topology and a tree that no supervisor runs${why}`, () => {
  const root = mkdtempSync(join(tmpdir(), 'banyan-deployed-'));
  const hosts: Record<string, string> = {
    '127.0.0.1': 'center',
    '127.0.0.2': 'eu',
    '127.0.0.3': 'us',
    '127.0.0.4': 'us-2',
  };
  /** The place `on the machine of eu.store-1` is the machine `store-1`: a node that moves keeps its machine. */
  const machines = new Machines(root, (place) => {
    const [, host = ''] = /^on (\S+)$/.exec(place) ?? [];
    return hosts[host] ?? /^on the machine of (?:.*[.:])?(\S+)$/.exec(place)?.[1];
  });
  const kubeconfig = join(machines.desk, 'admin.kubeconfig');
  const file = join(root, 'tree.yaml');
  let ports: number[] = [];
  let clusters: string[] = [];
  let relays: Record<string, string> = {};
  /** The last number of the address of each relay. */
  const addresses: Record<string, number> = { eu: 2, us: 3 };
  let spaces = '{name: retail, type: Workload}';
  const write = (name = 'shop') => {
    const node = (host: string, i: number) =>
      `deploy: {as: machine, names: [${host}]}, listen: {host: "${host}", apiPort: ${ports[2 * i]}, meshPort: ${ports[2 * i + 1]}}`;
    const relay = ([name, more]: [string, string]) =>
      `    - {name: ${name}, ${node(`127.0.0.${addresses[name]}`, addresses[name]! - 1)}${more}}`;
    writeFileSync(
      file,
      `apiVersion: banyan.io/v1alpha1
kind: Topology
metadata: {name: ${name}}
spec:
  center: {spaces: [${spaces}], ${node('127.0.0.1', 0)}}
  relays:
${Object.entries(relays).map(relay).join('\n') || '    []'}
  clusters:
${clusters.map((one) => `    - {${one}}`).join('\n') || '    []'}
`,
    );
  };
  const topology = (...args: string[]): Ran =>
    machines.run('desk', `banyan topology ${args.join(' ')} -f ${file} --kubeconfig ${kubeconfig}`);
  const diff = () => topology('diff');
  const applied = (...args: string[]): string => {
    const { code, out } = topology('apply', ...args);
    expect(code, out).toBe(0);
    return out;
  };
  const folder = join(root, 'rendered');
  const render = () => {
    const { code, out } = machines.run('desk', `banyan topology render -f ${file} -o ${folder}`);
    expect(code, out).toBe(0);
  };
  const json = (path: string, ...args: string[]) => getObject<Shown>(at(path), args);
  const at = (path: string) => {
    const copy = join(root, `${path.replaceAll(/[:/]/g, '.')}.kubeconfig`);
    if (!existsSync(copy)) {
      const server = `https://127.0.0.1:${ports[0]}${path}`;
      writeFileSync(copy, readFileSync(kubeconfig, 'utf8').replaceAll(/server: .*/g, `server: ${server}`));
    }
    return copy;
  };
  const apply = (path: string, object: object) => {
    const { code, out } = kubectlBy(at(path), ['apply', '-f', '-'], JSON.stringify(object));
    expect(code, out).toBe(0);
  };
  const isConnected = (path: string) => {
    const parent = path.includes(':') ? `/tree/${path.slice(0, path.lastIndexOf(':'))}` : '';
    return json(parent, 'nodes.mesh.banyan.io', path.replaceAll(':', '.'))?.status?.session?.state === 'Connected';
  };
  const joined = (...paths: string[]) => until(`${paths} have joined`, () => paths.every(isConnected), 120);
  const available = () => json('/spaces/retail', 'epl', 'shop')?.status?.summary?.available;

  beforeAll(async () => {
    ports = await freePorts(8);
    relays = { eu: ', labels: {region: eu}', us: '' };
    clusters = [
      'name: store-1, parent: eu, labels: {env: prod}, annotations: {store-name: Rivoli}',
      'name: store-2, parent: eu, labels: {env: prod}, properties: {power: "56"}, access: {fromAbove: cluster-admin}',
    ];
    write();
    render();
    const blocks = blocksOf(readFileSync(join(folder, 'README.md'), 'utf8'), (line) => line).map(({ commands }) => {
      const [place = '', ...lines] = commands.split('\n');
      return { place: place.slice(2), commands: lines.join('\n') };
    });
    // The first two blocks: the center, and the kubeconfig of its administrator.
    const [start, administrator] = blocks;
    const center = machines.run(start!.place, start!.commands.replaceAll(' ./', ` ${folder}/`));
    expect(center.code, center.out).toBe(0);
    await until('the center has its kubeconfig', () => existsSync(machines.file('center', 'data/kubeconfig')));
    await until(
      'an administrator has a kubeconfig',
      () => machines.run(administrator!.place, administrator!.commands).code === 0,
    );
    await until('the center answers', () => kubectlBy(kubeconfig, ['get', '--raw', '/readyz']).code === 0);
  }, limitMs);
  afterAll(async () => {
    await machines[Symbol.asyncDispose]();
    rmSync(root, { recursive: true, force: true });
  });

  it(
    'is admitted level by level: each run prints tokens and commands, and goes on',
    async () => {
      expect(diff()).toMatchObject({
        code: 4,
        out: expect.stringMatching(
          /\+ relay eu\n\+ relay us\n\+ cluster eu:store-1\n\+ cluster eu:store-2\nnot compared:\n/,
        ),
      });
      const first = applied();
      expect(first).toContain('eu:store-1 is admitted when eu has joined');
      // A lost token does not end the way: the next run names the command for another one.
      expect(applied()).toMatch(/eu is admitted, and has not joined[\s\S]*join-token eu --relay .*--again > eu\.token/);
      machines.follow(first, folder);
      await joined('eu', 'us');
      machines.follow(applied(), folder);
      await joined('eu:store-1', 'eu:store-2');
      expect(applied()).toContain('no differences');
      expect(diff()).toMatchObject({
        code: 0,
        out: expect.stringMatching(/^no differences\nnot compared:\n {4}center: deploy, listen/),
      });
      expect(json('/tree/eu', 'locations', 'store-1')?.metadata).toMatchObject({
        labels: { env: 'prod' },
        annotations: { 'store-name': 'Rivoli' },
      });
      expect(json('/tree/eu', 'synctargets', 'store-2')?.spec).toMatchObject({ properties: { power: '56' } });
    },
    limitMs,
  );

  it(
    'takes labels, annotations, properties, spaces, claims and quotas by the API alone',
    async () => {
      apply('/spaces/retail', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
      apply('/spaces/retail', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'till', namespace: 'shop' } });
      apply('/spaces/retail', placedInProduction('shop'));
      await until('the workload is at both stores', () => available() === 2);
      clusters = [
        'name: store-1, parent: eu, labels: {env: prod, tier: shop}, annotations: {}, quota: {entries: 5000}',
        'name: store-2, parent: eu, labels: {env: prod}, properties: {power: "70"}, access: {fromAbove: cluster-admin}',
      ];
      relays.us = ', claims: {labels: {size: [small]}, properties: {}}, spaces: [{name: ops, limits: {objects: 9}}]';
      write();
      const before = diff();
      expect(before.code).toBe(4);
      expect(before.out).toContain('    claims: none -> {"labels":{"size":["small"]},"properties":{}}');
      expect(before.out).toContain('~ cluster eu:store-1\n    annotations: {"store-name":"Rivoli"} -> {}');
      expect(applied('--yes')).toMatch(/\napplied\n$/);
      expect(diff().code).toBe(0);
      expect(json('/tree/eu', 'locations', 'store-1')?.metadata.labels).toEqual({ env: 'prod', tier: 'shop' });
      expect(json('/tree/eu', 'nodes.mesh.banyan.io', 'eu.store-1')?.spec).toMatchObject({ quota: { entries: 5000 } });
      expect(json('', 'nodes.mesh.banyan.io', 'us')?.spec).toMatchObject({ claims: { labels: { size: ['small'] } } });
      expect(json('/tree/us', 'spaces.mesh.banyan.io', 'ops')?.spec).toMatchObject({ limits: { objects: 9 } });
      const changed = JSON.parse(topology('diff', '-o', 'json').stdout) as {
        differences: [];
        notCompared: { path: string }[];
      };
      expect([changed.differences, changed.notCompared.map(({ path }) => path)]).toEqual([
        [],
        ['', 'eu', 'us', 'eu:store-2'],
      ]);
    },
    limitMs,
  );

  it(
    'moves a cluster to another parent: the person follows the steps, and no object is made anew',
    async () => {
      const uid = () => json('/tree/us:store-2/cluster', 'configmaps', 'till', '-n', 'shop')?.metadata.uid;
      const before = json('/tree/eu:store-2/cluster', 'configmaps', 'till', '-n', 'shop')?.metadata.uid;
      expect(before).toMatch(/./);
      clusters[1] = clusters[1]!.replace('parent: eu', 'parent: us');
      write();
      render();
      expect(topology('apply')).toMatchObject({
        code: 2,
        out: expect.stringContaining('to do it all the same, add --yes'),
      });
      expect(isConnected('eu:store-2')).toBe(true);
      const printed = applied('--yes');
      expect(printed).toContain('us:store-2 is admitted. Move eu:store-2 there:');
      expect(applied('--yes')).toContain('eu:store-2 has not moved to us:store-2 yet');
      machines.follow(printed, folder);
      await joined('us:store-2');
      expect(diff().out).toContain('- eu:store-2: runs no more; its parent still knows it');
      expect(applied()).toMatch(/eu:store-2 is removed\napplied\n$/);
      expect(diff().code).toBe(0);
      await until('the workload is at both stores', () => available() === 2);
      expect(uid()).toBe(before);
    },
    limitMs,
  );

  it(
    'refuses another place for a relay with spaces, and names the way by hand',
    () => {
      const before = relays.us!;
      relays.us += ', parent: eu';
      clusters[1] = clusters[1]!.replace('parent: us', 'parent: "eu:us"');
      write();
      expect(topology('apply', '--yes')).toMatchObject({
        code: 2,
        out: expect.stringMatching(
          /the relay "us" can't become "eu:us" while it has spaces \(ops\).*Add a relay with another name/,
        ),
      });
      relays.us = before;
      clusters[1] = clusters[1]!.replace('parent: "eu:us"', 'parent: us');
      write();
      expect(diff().code).toBe(0);
    },
    limitMs,
  );

  it(
    'removes a space of the API, and names the steps for what only a configuration has',
    async () => {
      relays.us = ', claims: {labels: {size: [small]}, properties: {}}';
      write();
      expect(topology('apply').code).toBe(2);
      // The configuration of `us` was rendered with the space, and the running node has the former one.
      expect(applied('--yes')).toMatch(/\napplied\n$/);
      expect(json('/tree/us', 'spaces.mesh.banyan.io', 'ops')).toBeUndefined();
      spaces = '';
      write();
      expect(applied('--yes')).toContain('center: its configuration has the space retail. Give it the new one:');
      expect(json('', 'spaces.mesh.banyan.io', 'retail')).toBeDefined();
      spaces = '{name: retail, type: Workload}';
      relays.eu = ', labels: {region: emea}';
      write();
      expect(diff().out).toContain('~ relay eu\n    labels: {"region":"eu"} -> {"region":"emea"}');
      render();
      const printed = applied('--yes');
      expect(printed).toContain('eu: its configuration has labels. Give it the new one:');
      machines.follow(printed, folder);
      await until('the relay has the labels', () => diff().code === 0);
    },
    limitMs,
  );

  it.each<[string, () => void, number, RegExp]>([
    ['another tree', () => write('other'), 2, /metadata\.name: "other" is another tree: the name "shop" is in all/],
    [
      'another type of a space',
      () => {
        spaces = '{name: retail, type: Inventory}';
        write();
      },
      2,
      /spaces of center: "retail" can't become Inventory/,
    ],
    [
      'replicas',
      () => {
        write();
        // Replicas can't share a port.
        const text = readFileSync(file, 'utf8').replace(/listen: \{host: "127.0.0.2".*?\}/, 'replicas: 2');
        writeFileSync(file, text);
      },
      2,
      /replicas of "eu": 1 -> 2: a relay that joins with a token has one process: write replicas: 1/,
    ],
    [
      'an agent where a relay is',
      () => {
        relays = { eu: '' };
        clusters = ['name: us'];
        write();
      },
      2,
      /the path "us" is taken: its role in the tree is relay, and not agent/,
    ],
    [
      'nothing left',
      () => {
        relays = {};
        clusters = [];
        write();
      },
      2,
      /nothing was changed, because this takes workloads away:/,
    ],
  ])(
    'refuses %s, and changes nothing',
    (_title, change, code, words) => {
      const kept = { spaces, relays: { ...relays }, clusters: [...clusters] };
      const names = () => kubectlBy(at(''), ['get', 'nodes.mesh.banyan.io,spaces.mesh.banyan.io', '-o', 'name']).out;
      const before = names();
      try {
        change();
        expect(topology('apply')).toMatchObject({ code, out: expect.stringMatching(words) });
        expect(names()).toBe(before);
      } finally {
        ({ spaces, relays, clusters } = kept);
        write();
      }
    },
    limitMs,
  );

  it(
    'gives a relay another place: another relay takes over its cluster, and no object is made anew',
    async () => {
      const uid = (store: string) => json(`/tree/${store}/cluster`, 'configmaps', 'till', '-n', 'shop')?.metadata.uid;
      const before = uid('us:store-2');
      expect(before).toMatch(/./);
      relays.us += ', parent: eu';
      addresses.us = 4;
      clusters[1] = clusters[1]!.replace('parent: us', 'parent: "eu:us"');
      write();
      render();
      expect(diff().out).toMatch(
        /~ relay eu\n {4}hosts: .*-> \["127.0.0.2","127.0.0.4"\]\n\+ relay eu:us, so far us\n- relay us\n> cluster eu:us:store-2, so far us:store-2\n/,
      );
      const first = applied('--yes');
      expect(first).toContain('eu:us is admitted. Install it, on another machine or in another namespace than us,');
      expect(first).toContain('eu:us:store-2 is admitted when eu:us has joined');
      expect(first).toContain('us is removed when us:store-2 has moved away');
      machines.follow(first, folder);
      await joined('eu:us');
      expect([isConnected('us:store-2'), available()]).toEqual([true, 2]);
      machines.follow(applied('--yes'), folder);
      await joined('eu:us:store-2');
      const last = applied('--yes');
      expect(last).toContain('us:store-2 is removed');
      expect(last).toContain('us is removed. End it:');
      await machines.end('us');
      expect(diff().code).toBe(0);
      await until('the workload is at both stores', () => available() === 2);
      expect(uid('eu:us:store-2')).toBe(before);
    },
    limitMs,
  );

  it(
    'removes a region with its cluster after --yes, once nothing of the workload is left there',
    async () => {
      const { us: _us, ...others } = relays;
      relays = others;
      clusters[1] = clusters[1]!.replace('parent: "eu:us"', 'parent: eu');
      write();
      // A cluster that is to leave the region is not drained: the region stays until the cluster has moved.
      expect(applied('--yes')).toContain('eu:us is removed when eu:us:store-2 has moved away');
      expect([isConnected('eu:us'), isConnected('eu:us:store-2'), available()]).toEqual([true, true, 2]);
      clusters = clusters.slice(0, 1);
      write();
      expect(topology('apply').code).toBe(2);
      expect(isConnected('eu:us')).toBe(true);
      const printed = applied('--yes');
      expect(printed).toContain('drained: eu:us:store-2');
      expect(printed).toContain('eu:us is removed. End it:');
      expect(json('/tree/eu', 'nodes.mesh.banyan.io', 'eu.us')).toBeUndefined();
      await machines.end('us-2');
      await machines.end('store-2');
      expect(diff().code).toBe(0);
      await until('one store counts', () => available() === 1);
    },
    limitMs,
  );

  it(
    'does not take silence for equality: a region or a center that is away',
    async () => {
      await machines.end('eu');
      await until('the center knows it', () => !isConnected('eu'));
      expect(diff()).toMatchObject({
        code: 1,
        out: expect.stringMatching(/eu: spaces, everything below \(it is not connected\)[\s\S]*nobody knows whether/),
      });
      relays = {};
      clusters = [];
      write();
      expect(topology('apply')).toMatchObject({ code: 2, out: expect.stringMatching(/whatever is at and below eu/) });
      expect(topology('apply', '--yes')).toMatchObject({
        code: 1,
        out: expect.stringMatching(/nothing was changed: eu is to be removed and can't be asked/),
      });
      await machines.end('center');
      expect(topology('apply', '--yes')).toMatchObject({ code: 1, out: expect.stringMatching(/does not answer/) });
    },
    limitMs,
  );
});
