/** A tree with one node: nothing else keeps `banyan up` alive while the node is away. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { withoutKubectl } from '../support/kubectl.ts';
import { LocalTree, until } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';

describe.skipIf(withoutKubectl)(`a tree with one node${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-one-node-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('starts the node again after kill -9, and ends properly', async () => {
    const topology = { apiVersion: 'banyan.io/v1alpha1', kind: 'Topology', metadata: { name: 'one' }, spec: {} };
    writeFileSync(join(directory, 'topology.yaml'), JSON.stringify(topology));
    await tree.up();
    const before = tree.pid('center');
    tree.kill('center');
    await until('the node is back', () => ![0, before].includes(tree.pid('center')), 30);
    await until('the node serves', () => tree.kubectl('node/center', ['get', 'nodes']).code === 0, 30);
    expect(await tree.down()).toBe(0);
  });
});
