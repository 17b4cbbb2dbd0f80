/** An object that is applied again without a change does not change, for kubectl and for watchers. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ownDefinitions } from '../../core/apiserver/kinds/kinds-of-space.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { fixture, LocalTree, until } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const reference = fixture('docs/reference');
/** Only their node writes these kinds. */
const writtenByNode = ['Space', 'Node', 'Mailbox'];
const contexts: Readonly<Record<string, string>> = {
  'edge.banyan.io': 'space/center/retail',
  'mesh.banyan.io': 'node/eu:paris',
  'inventory.banyan.io': 'node/eu:paris',
};

const examples = readdirSync(reference)
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => parse(readFileSync(`${reference}/${name}`, 'utf8')) as Example)
  .filter(({ kind }) => !writtenByNode.includes(kind));

interface Example {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly ownerReferences?: object[] };
}

describe.skipIf(withoutKubectl)(`the example of each kind, applied a second time${why}`, () => {
  const tree = new LocalTree('test/e2e/apply-twice-topology.yaml');
  beforeAll(async () => {
    await tree.up('--no-restart');
    tree.ok('space/center/retail', 'create', 'namespace', 'shop');
  });
  afterAll(() => tree[Symbol.asyncDispose]());

  it('has every kind', () => {
    const kinds = ownDefinitions.map(({ spec }) => spec.names.kind).filter((kind) => !writtenByNode.includes(kind));
    expect(examples.map(({ kind }) => kind).sort()).toEqual(kinds.sort());
  });

  describe.each(examples.map((one) => [one.kind, one] as const))('%s', (kind, example) => {
    // Its owner does not exist: the garbage collector would delete it.
    const { ownerReferences: _, ...metadata } = example.metadata;
    const file = `${tree.data}/${kind}.json`;
    beforeAll(() => writeFileSync(file, JSON.stringify({ ...example, metadata })));
    const context = contexts[example.apiVersion.split('/')[0]!]!;
    const namespace = metadata.namespace === undefined ? [] : ['-n', metadata.namespace];
    const revision = () =>
      tree.ok(context, 'get', kind, metadata.name, ...namespace, '-o', 'jsonpath={.metadata.resourceVersion}');

    /** The node writes statuses at the same time: an apply that changes nothing leaves the revision unchanged in a moment without such a write. */
    const untilUnchanged = (apply: () => void) =>
      until('an apply leaves the revision as it was', () => {
        const before = revision();
        apply();
        return revision() === before;
      });

    it('is unchanged, by kubectl apply', async () => {
      tree.ok(context, 'apply', '-f', file);
      await untilUnchanged(() => expect(tree.ok(context, 'apply', '-f', file)).toMatch(/ unchanged$/m));
    });

    it('keeps its resourceVersion, by kubectl apply --server-side', async () => {
      tree.ok(context, 'apply', '--server-side', '--force-conflicts', '-f', file);
      await untilUnchanged(() => tree.ok(context, 'apply', '--server-side', '-f', file));
    });
  });
});
