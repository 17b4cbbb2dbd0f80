/** The store of an agent has a format, so that a program that does not know the format does not change the store. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { silentLogger } from '../../core/runtime/logger.ts';
import { asText, text } from '../../core/store/bytes.ts';
import { currentFormat } from '../../core/store/format.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import { LmdbStore } from '../../core/store/lmdb/lmdb-store.ts';
import { fixture, LocalTree } from '../e2e/local-tree.ts';

const topology = `apiVersion: banyan.io/v1alpha1
kind: Topology
metadata: {name: format}
spec:
  center: {spaces: [{name: retail}]}
  clusters: [{name: hq}]
`;

let directory: string;
let tree: LocalTree;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'banyan-agent-store-'));
  writeFileSync(join(directory, 'topology.yaml'), topology);
  tree = new LocalTree(join(directory, 'topology.yaml'));
});
afterEach(async () => {
  await tree[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

async function withStore<T>(act: (store: LmdbStore) => T): Promise<T> {
  await using store = LmdbStore.open({ directory: join(tree.data, 'nodes/hq/store') }, silentLogger);
  return act(store);
}

const formatOf = (store: LmdbStore): unknown => {
  const record = store.read((reader) => reader.get(prefixOf('format')));
  return record && (JSON.parse(asText(record)) as { format: number }).format;
};

it('and a store of a later format is refused, as is a store without a format', async () => {
  await tree.up();
  await tree.down();
  expect(await withStore(formatOf)).toBe(currentFormat);
  const config = join(tree.data, 'config/hq.yaml');
  // A process that a signal ends has no status: the message names the signal.
  const start = () => {
    const { status, signal, stderr } = spawnSync(process.execPath, [fixture('edge-agent/main.ts'), '--config', config]);
    return status ?? `${signal}: ${stderr}`;
  };
  const newerFormat = text(JSON.stringify({ format: currentFormat + 1, createdAt: '' }));
  await withStore((store) => store.write((t) => t.put(prefixOf('format'), newerFormat)));
  expect(start()).toBe(1);
  await withStore((store) => store.write((t) => t.remove(prefixOf('format'))));
  expect(start()).toBe(1);
});
