import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture, LocalTree, until } from '../e2e/local-tree.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const clusters = ['a:b:c:d:deep', 'a:b:near'];

interface Shown {
  metadata: { uid: string; annotations?: Record<string, string> };
  data?: Record<string, string>;
  status?: { summary?: Record<string, number> };
}

describe.skipIf(withoutKubectl)(`a chain of five levels${why}`, () => {
  const tree = new LocalTree('deploy/topologies/chain.yaml');
  const configMapAt = (cluster: string) =>
    tree.json<Shown>(`cluster/${cluster}`, 'configmap', 'greeting', '-n', 'guestbook');
  const summary = (space: string) => tree.json<Shown>(`space/${space}`, 'epl', 'guestbook')?.status?.summary ?? {};

  beforeAll(() => tree.up('--no-restart'));
  afterAll(() => tree[Symbol.asyncDispose]());

  it('carries a placement of a relay in the middle to its own subtree, with its summary at each level below', async () => {
    tree.ok('space/a:b/ops', 'apply', '-f', fixture('docs/examples/guestbook.yaml'));
    tree.ok('space/a:b/ops', 'wait', 'epl/guestbook', '--for=condition=Ready', '--timeout=60s');
    for (const cluster of clusters) expect(configMapAt(cluster)?.data).toEqual({ text: 'Good morning' });
    expect(summary('a:b/ops')).toMatchObject({ expected: 2, available: 2 });
    await until('the level below agrees', () => summary('a:b:c/a.b.ops').available === 1);
    await until('the last level agrees', () => summary('a:b:c:d/a.b.ops').available === 1);
  });

  it('lets the source nearer the center win an object that two sources deliver, and hands it back without making it anew', async () => {
    const before = clusters.map((cluster) => configMapAt(cluster)!.metadata.uid);
    tree.ok('space/center/retail', 'apply', '-f', fixture('docs/examples/guestbook.yaml'));
    tree.ok('space/center/retail', 'wait', 'epl/guestbook', '--for=condition=Ready', '--timeout=60s');
    await until('the other one reads that it lost', () => summary('a:b/ops').conflicted === 2);
    tree.ok('space/center/retail', 'delete', 'epl', 'guestbook');
    await until('the other one has it back', () => summary('a:b/ops').available === 2);
    expect(clusters.map((cluster) => configMapAt(cluster)!.metadata.uid)).toEqual(before);
  });

  it('recovers a thousand objects when a relay has lost its store, and sends only the differences to the nodes below', async () => {
    const names = Array.from({ length: 1_000 }, (_, i) => `bulk-${i}`);
    const text = 'x'.repeat(2_000);
    const items = names.map((name) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'guestbook' },
      data: { text },
    }));
    const sent = tree.kubectl(
      'space/a:b/ops',
      ['create', '-f', '-'],
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    );
    expect(sent.code, sent.out.slice(0, 500)).toBe(0);
    const held = (cluster: string) =>
      tree
        .ok(`cluster/${cluster}`, 'get', 'cm', '-n', 'guestbook', '-o', 'jsonpath={.items[*].metadata.uid}')
        .split(' ');
    await until('all are everywhere', () => clusters.every((cluster) => held(cluster).length > names.length));
    await until('and available', () => summary('a:b/ops').available === 2);
    const before = clusters.map(held);
    await tree.down();
    rmSync(join(tree.data, 'nodes', 'a.b.c.d'), { recursive: true });
    rmSync(join(tree.data, 'logs'), { recursive: true });
    await tree.up('--no-restart');
    tree.ok('space/a:b/ops', 'annotate', 'cm', 'greeting', '-n', 'guestbook', 'after=loss');
    await until('the change is there', () =>
      clusters.every((c) => configMapAt(c)?.metadata.annotations?.after === 'loss'),
    );
    await until('all are available', () => summary('a:b/ops').available === 2);
    expect(clusters.map(held)).toEqual(before);
    await tree.down();
    const ended = readFileSync(join(tree.data, 'logs', 'a.b.c.d.log'), 'utf8')
      .split('\n')
      .filter((line) => line.includes('a child is detached'))
      .map((line) => JSON.parse(line) as { entries: { sent: number } });
    expect(ended.reduce((sum, { entries }) => sum + entries.sent, 0)).toBeLessThan(10);
    await tree.up('--no-restart');
  }, 240_000);

  it('continues when its supervisor dies, and the next supervisor takes it over', async () => {
    const before = clusters.map((cluster) => configMapAt(cluster)!.metadata.uid);
    await tree.loseSupervisor();
    tree.ok('space/a:b/ops', 'annotate', 'cm', 'greeting', '-n', 'guestbook', 'without=supervisor');
    await until('the change is there', () =>
      clusters.every((cluster) => configMapAt(cluster)?.metadata.annotations?.without === 'supervisor'),
    );
    await tree.up('--no-restart');
    await until('all are available', () => summary('a:b/ops').available === 2);
    expect(clusters.map((cluster) => configMapAt(cluster)!.metadata.uid)).toEqual(before);
  });

  it('lets an agent without a parent restore objects that were deleted on its cluster', async () => {
    tree.kill('a:b:c:d');
    const config = join(tree.data, 'config', 'a.b.c.d.deep.yaml');
    expect(
      tree.kubectl('cluster/a:b:c:d:deep', ['delete', 'cm', 'greeting', '-n', 'guestbook', '--wait=false']).code,
    ).toBe(0);
    tree.kill('a:b:c:d:deep');
    const start = () => spawn(process.execPath, ['edge-agent/main.ts', '--config', config], { stdio: 'ignore' });
    let agent = start();
    try {
      await until('it is there again', () => configMapAt('a:b:c:d:deep')?.data?.text === 'Good morning');
      // Killed while it reads a thousand objects: the next process may suspect none of them.
      agent.kill('SIGKILL');
      agent = start();
      await until('the next one answers', () => configMapAt('a:b:c:d:deep') !== undefined);
      tree.ok('cluster/a:b:c:d:deep', 'delete', 'deployment', 'frontend', '-n', 'guestbook');
      await until(
        'drift is corrected',
        () => tree.json('cluster/a:b:c:d:deep', 'deployment', 'frontend', '-n', 'guestbook') !== undefined,
      );
    } finally {
      const ended = once(agent, 'exit');
      agent.kill('SIGTERM');
      if (agent.exitCode === null && agent.signalCode === null) await ended;
    }
  });
});
