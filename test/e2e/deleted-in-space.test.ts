/** Objects with finalizers that are deleted in their space. One test runs the commands of docs/delivery.md. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubectlProgram, withoutKubectl } from '../support/kubectl.ts';
import { banyan, LocalTree, until } from './local-tree.ts';
import { placedInProduction } from './placements.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const retail = 'space/center/retail';
const clusters = ['eu:paris:rivoli', 'eu:berlin:mitte', 'us:market'];

interface Placement {
  readonly metadata: { readonly generation: number };
  readonly status?: {
    readonly display?: string;
    readonly observedGeneration?: number;
    readonly failures?: readonly { readonly path: string }[];
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
  };
}

describe.skipIf(withoutKubectl)(`an object with finalizers that is deleted in its space${why}`, () => {
  const tree = new LocalTree('test/e2e/moves-topology.yaml');
  const at = (name: string) =>
    clusters.filter((cluster) => tree.json(`cluster/${cluster}`, 'configmap', name, '-n', 'shop') !== undefined);
  const placement = () => tree.json<Placement>(retail, 'epl', 'shop');
  const condition = (type: string) => placement()?.status?.conditions?.find((one) => one.type === type);
  const setFinalizers = (kind: string, name: string, finalizers: string[] | null, ...more: string[]) =>
    tree.ok(retail, 'patch', kind, name, ...more, '--type=merge', '-p', JSON.stringify({ metadata: { finalizers } }));
  const place = async () => {
    expect(tree.apply(retail, placedInProduction('shop')).code).toBe(0);
    await until('all are available', () => placement()?.status?.display === 'available 3/3');
  };

  beforeAll(async () => {
    await tree.up('--no-restart');
    tree.ok(retail, 'create', 'namespace', 'shop');
    for (const name of ['till', 'prices']) tree.ok(retail, 'create', 'configmap', name, '-n', 'shop');
    await place();
  });
  afterAll(() => tree[Symbol.asyncDispose]());

  it('is removed from the clusters at once, and `banyan why` says so', async () => {
    setFinalizers('configmap', 'till', ['shop.example.com/audit'], '-n', 'shop');
    tree.ok(retail, 'delete', 'configmap', 'till', '-n', 'shop', '--wait=false');
    await until('no cluster has it', () => at('till').length === 0);
    expect(tree.json(retail, 'configmap', 'till', '-n', 'shop')).toBeDefined();
    expect(at('prices')).toEqual(clusters);
    const question = [
      'why',
      'configmap/till',
      '-n',
      'shop',
      '--space',
      retail,
      '--at',
      'us:market',
      '--data',
      tree.data,
    ];
    const { out } = banyan(...question);
    expect(out).toMatch(/it was deleted at \S+Z, so no EdgePlacement sends it any more.*shop\.example\.com\/audit/);
    setFinalizers('configmap', 'till', null, '-n', 'shop');
    expect(tree.json(retail, 'configmap', 'till', '-n', 'shop')).toBeUndefined();
  });

  it('is Withdrawn, if it is a placement, when all copies are gone: the commands of the page', async () => {
    const page = readFileSync('docs/delivery.md', 'utf8');
    const [, commands = ''] = /^```sh\n(.*?Withdrawn.*?)^```$/ms.exec(page)!;
    const programs = mkdtempSync(join(tree.data, 'programs-'));
    symlinkSync(kubectlProgram!, join(programs, 'kubectl'));
    const env = {
      ...process.env,
      PATH: `${programs}${delimiter}${process.env.PATH}`,
      KUBECONFIG: join(tree.data, 'kubeconfig'),
    };
    tree.ok(retail, 'config', 'use-context', retail);
    const { status, stdout, stderr } = spawnSync('sh', ['-e', '-c', commands], { env, encoding: 'utf8' });
    expect(status, stdout + stderr).toBe(0);
    expect(stdout).toContain('condition met');
    expect([at('prices'), placement()]).toEqual([[], undefined]);
  });

  it('is not Withdrawn while a destination is not connected', async () => {
    await place();
    setFinalizers('epl', 'shop', ['shop.example.com/database']);
    tree.kill('us:market');
    tree.ok(retail, 'delete', 'epl', 'shop', '--wait=false');
    await until('the others have removed it', () => at('prices').length === 0);
    await until('the status says who has not', () =>
      Boolean(placement()?.status?.failures?.some(({ path }) => path === 'us:market')),
    );
    await until('the status is about the deletion', () => {
      const { metadata, status } = placement()!;
      return status?.observedGeneration === metadata.generation;
    });
    expect(condition('Withdrawn')).toMatchObject({ status: 'False', reason: 'Removing' });
    expect(condition('Ready')).toMatchObject({ status: 'False', reason: 'Terminating' });
    setFinalizers('epl', 'shop', null);
    expect(placement()).toBeUndefined();
  });
});
