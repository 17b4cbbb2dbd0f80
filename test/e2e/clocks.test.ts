/** An agent whose machine's clock is off by a year, either way: what it goes on doing, and in what words it is told. The clock is libfaketime's. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { EnrolledAgent } from './enrolled-agent.ts';
import { kubectlBy, LocalTree, until, withoutKubectl } from './local-tree.ts';
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
  let plane: ControlPlane;
  let agent: EnrolledAgent | undefined;

  const start = (offset?: string): void => {
    // Only the time of day: what measures time on a machine does not jump with its clock.
    const clock = offset ? { LD_PRELOAD: fakeTime, FAKETIME: offset, DONT_FAKE_MONOTONIC: '1' } : {};
    agent?.start({ env: clock });
  };
  const site = (...args: string[]) => kubectlBy(plane.kubeconfig, args);
  const price = () => site('get', 'cm/prices', '-n', 'shop', '-o', 'jsonpath={.data.bread}').out;
  const conditions = () => tree.json<Told>('node/eu', 'synctarget', 'rivoli')?.status?.conditions ?? [];
  const told = () =>
    conditions().find(({ type, status }) => type === 'ClusterTrouble' && status === 'True')?.message ?? '';
  beforeAll(async () => {
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    [plane] = await Promise.all([ControlPlane.start({ directory: join(directory, 'plane') }), tree.up()]);
    agent = new EnrolledAgent({
      tree,
      directory: join(directory, 'agent'),
      name: 'rivoli',
      kubeconfig: plane.kubeconfig,
    });
    tree.ok(retail, 'create', 'namespace', 'shop');
    tree.ok(retail, 'create', 'configmap', 'prices', '-n', 'shop', '--from-literal=bread=1');
    expect(tree.apply(retail, placedInProduction('shop')).code).toBe(0);
    start();
    await until('the prices have come', () => price() === '1');
    await agent?.stop();
  }, buildMsMax);
  afterAll(async () => {
    await agent?.stop();
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
    await agent?.stop();
  }, 90_000);

  it('says that its certificates are not valid yet, and to compare clocks, where it is a year behind', async () => {
    start('-365d');
    const parent =
      /the parent's certificate is not accepted: .* is valid only from .*: compare the clocks of both ends/;
    await until('it says why there is no parent', () => parent.test(agent?.said ?? ''));
    const cluster =
      /API server https.* can't be reached: certificate is not yet valid; .*set the clock of this machine/;
    await until('it says why there is no cluster', () => cluster.test(agent?.said ?? ''));
    // Nothing is taken away for it.
    expect(price()).toBe('2');
    await agent?.stop();
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
