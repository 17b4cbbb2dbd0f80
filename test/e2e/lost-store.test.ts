import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutKubectl } from '../support/kubectl.ts';
import { banyan, fixture, LocalTree, until } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const space = 'space/center/retail';
const market = 'cluster/us:market';

interface Shown {
  metadata: { uid: string };
  data?: Record<string, string>;
}
interface Placement {
  status?: { summary?: Record<string, number>; failures?: { path: string; reason: string }[] };
}
describe.skipIf(withoutKubectl)(`a relay that has lost its store while a customization fails${why}`, () => {
  const tree = new LocalTree('deploy/topologies/shop.yaml');
  let relay: ChildProcess | undefined;
  const map = () => tree.json<Shown>(market, 'configmap', 'greeting', '-n', 'shopfront');
  const customize = (value: string) => {
    const replacements = [{ path: '$.data.text', value }];
    const metadata = { name: 'greeting', namespace: 'shopfront' };
    const object = { apiVersion: 'edge.banyan.io/v1alpha1', kind: 'Customizer', metadata, spec: { replacements } };
    const { code, out } = tree.apply(space, object);
    expect(code, out).toBe(0);
  };
  const start = () => {
    relay = spawn(process.execPath, ['relay/main.ts', '--config', join(tree.data, 'config', 'us.yaml')], {
      stdio: 'ignore',
    });
  };
  const below = () => tree.json<Placement>('space/us/center.retail', 'epl', 'shopfront')?.status;

  beforeAll(async () => {
    await tree.up('--no-restart');
    tree.ok(space, 'apply', '-f', fixture('docs/examples/greeting.yaml'));
    tree.ok(space, 'wait', 'epl/shopfront', '--for=condition=Ready', '--timeout=60s');
  });
  afterAll(async () => {
    relay?.kill('SIGTERM');
    await tree[Symbol.asyncDispose]();
  });

  it('takes no object from its agents that it cannot make anew, and sends the object again when it can', async () => {
    const before = map()!;
    expect(before.data?.text).toBe('Welcome to Market');
    customize('In ${{ location.metadata.labels.zone }}');
    await until('it fails', () => below()?.summary?.failed === 1);
    tree.kill('us');
    rmSync(join(tree.data, 'nodes', 'us'), { recursive: true });
    start();
    await until(
      'the relay has its agent again, and says what fails',
      () => below()?.failures?.[0]?.reason === 'CustomizationFailed',
    );
    // Made for this agent, and not customized: when it is here, the agent has reconciled.
    const sign = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'later', namespace: 'shopfront' }, data: {} };
    expect(tree.apply(space, sign).code).toBe(0);
    await until(
      'the agent has what came later',
      () => tree.json(market, 'configmap', 'later', '-n', 'shopfront') !== undefined,
    );
    expect(map()).toMatchObject({ metadata: { uid: before.metadata.uid }, data: { text: 'Welcome to Market' } });
    const question = ['-n', 'shopfront', '--at', 'us:market', '--space', space, '--data', tree.data];
    const expected = [
      'mailbox/us:market: it is meant for this cluster, and not in its mailbox',
      'shopfront: CustomizationFailed: Customizer shopfront/greeting',
    ];
    // The relay shows its Locations up to a second after it has matched them, and no failure of a cluster while the cluster is away.
    await until('banyan why knows where the object belongs, and why it does not get there', () => {
      const answer = banyan('why', 'configmap/greeting', ...question).out;
      return expected.every((line) => answer.includes(line));
    });
    tree.ok('node/us', 'label', 'location', 'market', 'zone=manhattan');
    await until('it can be made', () => map()?.data?.text === 'In manhattan');
    expect(map()?.metadata.uid).toBe(before.metadata.uid);
    tree.ok(space, 'delete', 'configmap', 'greeting', '-n', 'shopfront');
    await until('it goes when nobody wants it', () => map() === undefined);
  });

  it('removes the kept object when no placement wants it any more', async () => {
    tree.ok(space, 'apply', '-f', fixture('docs/examples/greeting.yaml'));
    await until('it is back', () => map()?.data?.text === 'Welcome to Market');
    customize('In ${{ location.metadata.labels.nowhere }}');
    await until('it fails', () => below()?.summary?.failed === 1);
    relay!.kill('SIGKILL');
    await new Promise((done) => relay!.once('exit', done));
    rmSync(join(tree.data, 'nodes', 'us'), { recursive: true });
    start();
    await until('the relay is back', () => below()?.failures?.[0]?.reason === 'CustomizationFailed');
    expect(map()?.data?.text).toBe('Welcome to Market');
    tree.ok(space, 'delete', 'configmap', 'greeting', '-n', 'shopfront');
    await until('it has gone', () => map() === undefined);
  });
});
