/** Two replicas behind one address of a load balancer: their children dial that address, and reach either replica. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { banyan, fixture, LocalTree, until } from '../e2e/local-tree.ts';
import { freePorts } from '../support/free-ports.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { RealProxies, withoutProxies } from '../support/real-proxies.ts';

const lacking = [withoutProxies, withoutKubectl].filter((reason) => reason !== undefined).join('; ');
const why = lacking === '' ? '' : ` [not run: ${lacking}]`;
const stores = ['store-1', 'store-2', 'store-3', 'store-4'];
const clusters = stores.map((store) => `eu:${store}`);
const space = 'space/center/retail';

interface Shown {
  metadata: { uid: string; annotations?: Record<string, string> };
  status?: {
    summary?: Record<string, number>;
    session?: { state: string };
    conditions?: { type: string; status: string; message: string }[];
  };
}

describe.skipIf(lacking !== '')(`two replicas behind a load balancer${why}`, () => {
  const proxies = new RealProxies();
  const started: ChildProcess[] = [];
  let tree: LocalTree;
  let before: (string | undefined)[] = [];
  let [first, second] = ['eu', 'eu~1'] as [string, string];

  const configMapAt = (cluster: string) =>
    tree.json<Shown>(`cluster/${cluster}`, 'configmap', 'greeting', '-n', 'guestbook');
  const uids = () => clusters.map((cluster) => configMapAt(cluster)?.metadata.uid);
  const notes = () => clusters.map((cluster) => configMapAt(cluster)?.metadata.annotations?.note);
  const everywhere = (note: string) => notes().every((one) => one === note);
  const change = (note: string) =>
    tree.ok(space, 'annotate', '--overwrite', 'cm', 'greeting', '-n', 'guestbook', `note=${note}`);
  const nodeAt = (replica: string, store: string) => tree.json<Shown>(`node/${replica}`, 'mn', `eu.${store}`)?.status;
  const start = (program: string, file: string) => {
    const args = [`${program}/main.ts`, '--config', join(tree.data, 'config', `${file}.yaml`)];
    started.push(spawn(process.execPath, args, { stdio: 'ignore', cwd: fixture('.') }));
  };
  const untilWhole = () =>
    until('all are available, each counted once', () => {
      const {
        expected = 0,
        fresh = 0,
        available = 0,
      } = tree.json<Shown>(space, 'epl', 'guestbook')?.status?.summary ?? {};
      expect(expected).toBeLessThanOrEqual(4);
      return expected === 4 && fresh === 4 && available === 4;
    });

  beforeAll(async () => {
    const [balancer] = (await freePorts(1)) as [number];
    const cluster = (name: string) => ({
      name,
      parent: 'eu',
      labels: { env: 'prod' },
      link: { endpoint: `127.0.0.1:${balancer}` },
    });
    const spec = {
      center: { spaces: [{ name: 'retail', type: 'Workload' }] },
      relays: [{ name: 'eu', replicas: 2 }],
      clusters: stores.map(cluster),
    };
    const topology = { apiVersion: 'banyan.io/v1alpha1', kind: 'Topology', metadata: { name: 'balanced' }, spec };
    tree = new LocalTree(proxies.write('topology.yaml', JSON.stringify(topology)));
    const up = tree.up('--no-restart');
    const files = ['eu', 'eu~1'].map((id) => join(tree.data, 'config', `${id}.yaml`));
    await until('the replicas have their ports', () => files.every((file) => existsSync(file)));
    const servers = files.map((file, i) => {
      const { mesh } = parse(readFileSync(file, 'utf8')) as { mesh: { port: number } };
      return `  server eu${i} 127.0.0.1:${mesh.port} check inter 500ms fall 1 rise 1`;
    });
    const listen = `listen eu\n  bind 127.0.0.1:${balancer}\n  balance roundrobin\n  option redispatch\n  retries 3`;
    await proxies.haproxy([balancer], [listen, ...servers].join('\n'));
    await up;
    tree.ok(space, 'apply', '-f', fixture('docs/examples/guestbook.yaml'));
    await untilWhole();
    before = uids();
  });
  afterAll(async () => {
    for (const node of started) node.kill('SIGTERM');
    await tree?.[Symbol.asyncDispose]();
    await proxies[Symbol.asyncDispose]();
  });

  it('serve their children wherever the balancer sends them, and the children of a killed replica at the other one', async () => {
    const at = (replica: string) => stores.filter((store) => nodeAt(replica, store)?.session?.state === 'Connected');
    expect([...at('eu'), ...at('eu~1')].sort()).toEqual(stores);
    if (at('eu').length === 0) [first, second] = [second, first];
    tree.kill(first);
    change('one-left');
    await until('all have the change', () => everywhere('one-left'));
    await untilWhole();
    expect(uids()).toEqual(before);
  });

  it('hold back a child that has received more than they have, and their Node objects show it', async () => {
    tree.kill('center');
    start('relay', first);
    tree.kill(second);
    const waits = () => nodeAt(first, 'store-1')?.conditions?.find(({ type }) => type === 'WaitsForParent');
    await until('the child says that it waits', () => waits()?.status === 'True');
    expect(waits()?.message).toMatch(/since .*: center\.retail is at revision \d+ there, and at \d+ here/);
    expect(banyan('tree', '--data', tree.data).out).toMatch(
      /store-1 .*WaitsForParent: has accepted nothing from this parent/,
    );
    expect([notes(), uids()]).toEqual([clusters.map(() => 'one-left'), before]);
    start('center', 'center');
    await until('it waits no longer', () => waits()?.status === 'False');
    change('caught-up');
    await until('all have the change', () => everywhere('caught-up'));
    await untilWhole();
    expect(uids()).toEqual(before);
  });
});
