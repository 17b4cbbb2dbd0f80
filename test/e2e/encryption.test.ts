/** Secrets at rest: a Secret goes every way that objects go in a tree, and then no byte of it is found in any file. The page docs/operations/encryption.md. */
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { withoutKubectl } from '../support/kubectl.ts';
import { LocalTree, until } from './local-tree.ts';
import { filesWith, formsOf } from './secret-traces.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const space = 'space/center/retail';
const nodes = ['center', 'eu', 'eu.one', 'eu.two'];
const stores = [
  'nodes/center/data.mdb',
  'nodes/eu.one/store/data.mdb',
  'nodes/eu.two/store/data.mdb',
  'nodes/eu/data.mdb',
];

function topology(encryption?: object): string {
  const off = encryption ? { encryption } : {};
  const cluster = (name: string) => ({ name, parent: 'eu', labels: { env: 'prod', place: name }, ...off });
  return stringify({
    apiVersion: 'banyan.io/v1alpha1',
    kind: 'Topology',
    metadata: { name: 'secrets' },
    spec: {
      center: { spaces: [{ name: 'retail' }], ...off },
      relays: [{ name: 'eu', ...off }],
      clusters: [cluster('one'), cluster('two')],
    },
  });
}

describe.skipIf(withoutKubectl)(`secrets at rest${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-encryption-'));
  const file = join(directory, 'topology.yaml');
  const tree = new LocalTree(file);
  const traces = (secret: string) => filesWith(formsOf(secret), tree.data);

  const apply = (...items: object[]) => {
    const { code, out } = tree.apply(space, { apiVersion: 'v1', kind: 'List', items });
    expect(code, out).toBe(0);
  };
  const secretAt = (context: string, name: string) =>
    tree.json<{ data?: Record<string, string> }>(context, 'secret', name, '-n', 'shop')?.data;
  const secret = (name: string, fields: object, annotations: object = {}, namespace = 'shop') => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, annotations },
    ...fields,
  });
  const isReady = () => tree.ok(space, 'wait', 'epl/shop', '--for=condition=Ready', '--timeout=90s');

  /** Sends Secrets with the text every way: data, stringData, annotations, customized, large, in waves, taken over, undone, upsynced, deleted. */
  async function secretsGoEverywhere(text: string) {
    const encoded = Buffer.from(`pin=${text}`).toString('base64');
    for (const cluster of ['cluster/eu:one', 'cluster/eu:two']) {
      expect(tree.apply(cluster, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }).code).toBe(0);
      expect(tree.apply(cluster, secret('taken', { stringData: { had: `had-${text}`, pin: text } })).code).toBe(0);
    }
    apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
      {
        apiVersion: 'edge.banyan.io/v1alpha1',
        kind: 'Customizer',
        metadata: { name: 'at', namespace: 'shop' },
        spec: {
          rules: [
            {
              target: { kind: 'Secret' },
              // biome-ignore lint/suspicious/noTemplateCurlyInString: an expression of a Customizer
              patch: [{ merge: { stringData: { at: '${{ path }}', own: 'added' } } }],
            },
          ],
        },
      },
      secret('plain', { data: { pin: encoded } }, { note: `note-${text}` }),
      secret('customized', { stringData: { pin: text } }, { 'edge.banyan.io/customizer': 'at' }),
      secret('taken', { stringData: { pin: text } }),
      secret('short-lived', { stringData: { pin: text } }),
      {
        apiVersion: 'edge.banyan.io/v1alpha1',
        kind: 'EdgePlacement',
        metadata: { name: 'shop' },
        spec: {
          locationSelectors: [{ matchLabels: { env: 'prod' } }],
          downsync: [{ apiGroup: '', resources: ['namespaces', 'secrets'], namespaces: ['shop'] }],
          upsync: [{ apiGroup: '', resources: ['secrets'], namespaces: ['born'], returnTo: 'Center' }],
          adopt: 'Always',
          rollout: {
            strategy: 'Progressive',
            waves: [
              { name: 'first', selector: { matchLabels: { place: 'one' } }, soakSeconds: 1 },
              { name: 'rest', fraction: 1 },
            ],
          },
        },
      },
    );
    isReady();
    for (const cluster of ['cluster/eu:one', 'cluster/eu:two']) {
      await until('the clusters have the Secrets', () => secretAt(cluster, 'plain')?.pin === encoded);
      await until('the customized one too', () => secretAt(cluster, 'customized')?.own !== undefined);
    }
    // Without the annotation of kubectl, which may not be so large.
    const large = secret('large', { stringData: { pin: `${text}${'x'.repeat(700_000)}${text}` } });
    const made = tree.kubectl(space, ['apply', '--server-side', '--force-conflicts', '-f', '-'], JSON.stringify(large));
    expect(made.code, made.out).toBe(0);
    await until('the large one', () => secretAt('cluster/eu:two', 'large') !== undefined);
    isReady();
    // Another release, with the former content in the history.
    apply(secret('plain', { data: { pin: encoded, more: Buffer.from(`more-${text}`).toString('base64') } }));
    await until('the second release', () => secretAt('cluster/eu:two', 'plain')?.more !== undefined);
    isReady();
    tree.ok(space, 'delete', 'secret', 'short-lived', '-n', 'shop', '--wait=false');
    await until('the deletion has arrived', () => secretAt('cluster/eu:two', 'short-lived') === undefined);
    const born = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'born' } };
    expect(tree.apply('cluster/eu:one', born).code).toBe(0);
    expect(tree.apply('cluster/eu:one', secret('born', { stringData: { pin: text } }, {}, 'born')).code).toBe(0);
    await until(
      'the Secret of the edge is at the center',
      () =>
        tree.kubectl('node/center', ['get', '--raw', '/reported/eu:one/api/v1/namespaces/born/secrets/born']).code ===
        0,
    );
  }

  beforeAll(async () => {
    writeFileSync(file, topology({ resources: [] }));
    await tree.up();
  });
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('finds the secrets in every store while nothing is sealed, and in no other file', async () => {
    await secretsGoEverywhere('four-seven-one-one');
    expect(await tree.down()).toBe(0);
    expect(traces('four-seven-one-one')).toEqual(stores);
  });

  it('seals what is there when it is turned on: no file has a trace, also not of what was deleted', async () => {
    writeFileSync(file, topology());
    await tree.up();
    expect(secretAt(space, 'plain')?.more).toBeDefined();
    expect(secretAt('cluster/eu:two', 'customized')?.own).toBeDefined();
    expect(traces('four-seven-one-one')).toEqual([]);
    expect(await tree.down()).toBe(0);
    expect(traces('four-seven-one-one')).toEqual([]);
  });

  it('leaves no trace of Secrets that go through the tree afterwards: not in a store, not in a log', async () => {
    await tree.up();
    await secretsGoEverywhere('eight-five-two-six');
    expect(traces('eight-five-two-six')).toEqual([]);
    tree.kill('eu');
    tree.kill('eu:one');
    expect(await tree.down()).toBe(0);
    expect(traces('eight-five-two-six')).toEqual([]);
  });

  it('makes files that only the user of the node may read', () => {
    const open = readdirSync(join(tree.data), { recursive: true, withFileTypes: true })
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => !path.includes('kubecache') && (statSync(path).mode & 0o077) !== 0);
    expect(open).toEqual([]);
    for (const node of nodes) expect(existsSync(join(tree.data, 'keys', node))).toBe(true);
  });
});
