/** An agent whose machine's clock is off by a year, either way: what it goes on doing, and in what words it is told. The clock is libfaketime's. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { banyan, fixture, kubectlBy, LocalTree, until, withoutKubectl } from './local-tree.ts';
import { placedInProduction } from './placements.ts';

const fakeTime = ['x86_64', 'aarch64']
  .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`)
  .find((file) => existsSync(file));
const missing = withoutKubectl ?? withoutControlPlane() ?? (fakeTime ? undefined : 'there is no libfaketime');
const why = missing ? ` [not run: ${missing}]` : '';
const retail = 'space/center/retail';
const buildMsMax = 3_600_000;

interface Told {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message: string }[];
  };
}

describe.skipIf(missing)(`an agent whose clock is off by a year${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-clocks-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const log = join(directory, 'log');
  let plane: ControlPlane;
  let agent: ChildProcess | undefined;

  const start = (offset?: string): void => {
    // Only the time of day: what measures time on a machine does not jump with its clock.
    const clock = offset ? { LD_PRELOAD: fakeTime, FAKETIME: offset, DONT_FAKE_MONOTONIC: '1' } : {};
    const args = [fixture('edge-agent/main.ts'), '--config', join(directory, 'agent.yaml')];
    rmSync(log, { force: true });
    agent = spawn(process.execPath, args, { stdio: 'inherit', env: { ...process.env, ...clock } });
  };
  const stop = async (): Promise<void> => {
    if (!agent || agent.exitCode !== null || agent.signalCode !== null) return;
    const ended = once(agent, 'exit');
    agent.kill('SIGTERM');
    await ended;
  };
  const site = (...args: string[]) => kubectlBy(plane.kubeconfig, args);
  const price = () => site('get', 'cm/prices', '-n', 'shop', '-o', 'jsonpath={.data.bread}').out;
  const conditions = () => tree.json<Told>('node/eu', 'synctarget', 'rivoli')?.status?.conditions ?? [];
  const told = () =>
    conditions().find(({ type, status }) => type === 'ClusterTrouble' && status === 'True')?.message ?? '';
  const said = () => (existsSync(log) ? readFileSync(log, 'utf8') : '');

  beforeAll(async () => {
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    [plane] = await Promise.all([ControlPlane.start({ directory: join(directory, 'plane') }), tree.up()]);
    const enrolled = banyan('enroll', 'eu:rivoli', '--label', 'env=prod', '--data', tree.data);
    const [secret] = parseAllDocuments(enrolled.out).map((one) => one.toJS() as { stringData: Record<string, string> });
    const pki = Object.fromEntries(
      Object.entries({ ca: 'ca.crt', cert: 'tls.crt', key: 'tls.key' }).map(([part, name]) => {
        const file = join(directory, name);
        writeFileSync(file, secret?.stringData[name] ?? '', { mode: 0o600 });
        return [part, file];
      }),
    );
    const relay = parse(readFileSync(join(tree.data, 'config/eu.yaml'), 'utf8')) as { mesh: { port: number } };
    const config = {
      path: 'eu:rivoli',
      data: join(directory, 'data'),
      logFile: log,
      api: { host: '127.0.0.1', port: 0 },
      parent: { path: 'eu', address: `127.0.0.1:${relay.mesh.port}` },
      pki,
      cluster: { kubernetes: { kubeconfig: plane.kubeconfig } },
    };
    writeFileSync(join(directory, 'agent.yaml'), stringify(config));
    tree.ok(retail, 'create', 'namespace', 'shop');
    tree.ok(retail, 'create', 'configmap', 'prices', '-n', 'shop', '--from-literal=bread=1');
    expect(tree.apply(retail, placedInProduction('shop')).code).toBe(0);
    start();
    await until('the prices have come', () => price() === '1');
    await stop();
  }, buildMsMax);
  afterAll(async () => {
    await stop();
    await tree[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  }, 60_000);

  it('goes on where certificates are still valid, and its node says which clock is to be set', async () => {
    start('+365d');
    await until('its node tells of it', () => told() !== '');
    expect(told()).toMatch(/the clock of the agent's machine is 365 days ahead of that of https.*set the one/);
    tree.ok(retail, 'patch', 'configmap', 'prices', '-n', 'shop', '-p', '{"data":{"bread":"2"}}');
    await until('the new price has come', () => price() === '2');
    await stop();
  }, 90_000);

  it('says that its certificates are not valid yet, and to compare clocks, where it is a year behind', async () => {
    start('-365d');
    const parent =
      /the parent's certificate is not accepted: .* is valid only from .*: compare the clocks of both ends/;
    await until('it says why there is no parent', () => parent.test(said()));
    const cluster =
      /API server https.* can't be reached: certificate is not yet valid; .*set the clock of this machine/;
    await until('it says why there is no cluster', () => cluster.test(said()));
    // Nothing is taken away for it.
    expect(price()).toBe('2');
    await stop();
  }, 90_000);

  it('is what it was when the clock is right again', async () => {
    start();
    tree.ok(retail, 'patch', 'configmap', 'prices', '-n', 'shop', '-p', '{"data":{"bread":"3"}}');
    await until('the new price has come', () => price() === '3');
    await until('nothing is told any more', () => told() === '');
  }, 90_000);
});

const topology = {
  apiVersion: 'banyan.io/v1alpha1',
  kind: 'Topology',
  metadata: { name: 'clocks' },
  spec: { center: { spaces: [{ name: 'retail', type: 'Workload' }] }, relays: [{ name: 'eu' }], clusters: [] },
};
