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

  /** Objects with a body of more than 64 KiB. */
  function writesLargeObjects(): void {
    const file = join(directory, 'large.yaml');
    const data = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`key-${i}`, 'value']));
    const apply = (more: object, ...args: string[]) => {
      const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'large' }, data, ...more };
      writeFileSync(file, JSON.stringify(object));
      return tree.kubectl('node/center', ['apply', '--server-side', '-f', file, ...args]);
    };
    const get = (path: string) =>
      tree.kubectl('node/center', ['get', 'configmap', 'large', '-o', `jsonpath={${path}}`]).stdout;
    expect(apply({})).toMatchObject({ code: 0, stdout: 'configmap/large serverside-applied\n' });
    expect(get('.data.key-9999')).toBe('value');
    const version = get('.metadata.resourceVersion');
    // Another manager, which would take the fields of the first one.
    const conflict = apply({ data: { ...data, 'key-5': 'other' } }, '--field-manager=other');
    expect([conflict.code, conflict.out]).toEqual([1, expect.stringContaining('conflict with "kubectl": .data.key-5')]);
    const wrong = apply({ wrong: 1 });
    expect([wrong.code, wrong.out]).toEqual([1, expect.stringContaining('.wrong: field not declared in schema')]);
    expect(get('.metadata.resourceVersion')).toBe(version);
  }

  /** The pages of a list that kubectl asks for, and the number that remains behind the first page. */
  function listsInPages(): void {
    const file = join(directory, 'maps.yaml');
    const names = Array.from({ length: 7 }, (_, i) => `page-${i}`);
    const items = names.map((name) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'default', labels: { page: 'yes' } },
    }));
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    tree.ok('node/center', 'apply', '-f', file);
    const listed = (...args: string[]) =>
      tree
        .ok('node/center', 'get', 'configmaps', '-n', 'default', '-o', 'name', ...args)
        .trim()
        .split('\n')
        .map((line) => line.replace('configmap/', ''));
    const all = listed('--chunk-size=0');
    expect(all).toEqual(expect.arrayContaining(names));
    expect(listed('--chunk-size=3')).toEqual(all);
    expect(listed('--chunk-size=3', '-l', 'page')).toEqual(names);
    const path = '/api/v1/namespaces/default/configmaps?limit=3';
    const page = JSON.parse(tree.ok('node/center', 'get', '--raw', path)) as {
      metadata: { remainingItemCount: number };
      items: unknown[];
    };
    expect([page.items.length, page.metadata.remainingItemCount]).toEqual([3, all.length - 3]);
  }

  it('stores large objects, lists in pages, starts the node again after kill -9, and ends properly', async () => {
    const topology = { apiVersion: 'banyan.io/v1alpha1', kind: 'Topology', metadata: { name: 'one' }, spec: {} };
    writeFileSync(join(directory, 'topology.yaml'), JSON.stringify(topology));
    await tree.up();
    writesLargeObjects();
    listsInPages();
    const before = tree.pid('center');
    tree.kill('center');
    await until('the node is back', () => ![0, before].includes(tree.pid('center')), 30);
    await until('the node serves', () => tree.kubectl('node/center', ['get', 'nodes']).code === 0, 30);
    expect(await tree.down()).toBe(0);
  });
});
