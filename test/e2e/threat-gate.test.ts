import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutKubectl } from '../support/kubectl.ts';
import { plainNode } from '../support/plain-node.ts';
import { fixture, LocalTree, until } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const space = 'space/center/retail';
const shops = ['eu:paris:rivoli', 'eu:paris:bastille', 'eu:berlin:mitte', 'us:market', 'hq'];
const example = fixture('docs/examples/threat-gate');

interface Placement {
  status?: { rollout?: { phase: string; wave?: string; message: string }; summary?: { available: number } };
}

describe.skipIf(withoutKubectl)(`a gate that an external program answers${why}`, () => {
  const tree = new LocalTree('deploy/topologies/shop.yaml');
  const feed = join(tree.data, 'feed.json');
  let program: ChildProcess;

  const level = (now: string) => writeFileSync(feed, JSON.stringify({ level: now, reason: `a test of ${now}` }));
  const rollout = () => tree.json<Placement>(space, 'epl', 'till')?.status?.rollout;
  const price = (shop: string) =>
    tree.json<{ data: { espresso: string } }>(`cluster/${shop}`, 'configmap', 'prices', '-n', 'till')?.data.espresso;
  const having = (wanted: string) => shops.filter((shop) => price(shop) === wanted).length;

  beforeAll(async () => {
    await tree.up();
    level('elevated');
    program = spawn(plainNode(), [join(example, 'threat-gate.mjs'), feed, 'threat-level', space], {
      env: { ...process.env, KUBECONFIG: join(tree.data, 'kubeconfig') },
      stdio: 'ignore',
    });
    tree.ok(space, 'apply', '-f', join(example, 'placement.yaml'));
  });
  afterAll(async () => {
    program.kill();
    await tree[Symbol.asyncDispose]();
  });

  it('holds a release back at its first wave, with the program’s message', async () => {
    await until('it waits for the gate', () => rollout()?.message.includes('a test of elevated') ?? false);
    expect(rollout()).toMatchObject({ phase: 'WaitingForGate', wave: 'first' });
    expect(having('2.20')).toBe(1);
  });

  it('lets the release go out to all when the level is low', async () => {
    level('low');
    await until('all have it', () => having('2.20') === 5 && rollout()?.phase === 'Promoted');
    expect(tree.json<Placement>(space, 'epl', 'till')?.status?.summary?.available).toBe(5);
  });

  it('stops a release in place when the level is high', async () => {
    level('high');
    await until('the gate says so', () =>
      tree.ok(space, 'get', 'rolloutgate', 'threat-level', '-o', 'jsonpath={.status.phase}').includes('Failed'),
    );
    tree.ok(space, 'patch', 'configmap', 'prices', '-n', 'till', '--type=merge', '-p', '{"data":{"espresso":"9.90"}}');
    await until('it has stopped', () => rollout()?.phase === 'Paused');
    expect(rollout()?.message).toContain('a test of high');
    expect(having('2.20')).toBeGreaterThanOrEqual(4);
  });
});
