/** The commands of the pages docs/fleet.md, docs/operations/children.md and docs/operations/kubeconfigs.md, as they stand there. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withKubectlOnPath, withoutKubectl } from '../support/kubectl.ts';
import { fixture, LocalTree } from './local-tree.ts';
import { blocksOf } from './page-blocks.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';

const objects = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'till', namespace: 'shop', labels: { app: 'till' } },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'till' } },
      template: { metadata: { labels: { app: 'till' } }, spec: { containers: [{ name: 'till', image: 'till:1' }] } },
    },
  },
  {
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'EdgePlacement',
    metadata: { name: 'till' },
    spec: {
      locationSelectors: [{ matchLabels: { env: 'prod' } }],
      downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['shop'] }],
      associated: [{ resources: ['pods'] }],
    },
  },
];

describe.skipIf(withoutKubectl)(`pages with commands${why}`, () => {
  const tree = new LocalTree('deploy/topologies/shop.yaml');
  const files = mkdtempSync(join(tree.data, 'files-'));
  const linesOf = (page: string) =>
    blocksOf(readFileSync(fixture(page), 'utf8'), (line) => line).flatMap(({ commands }) =>
      commands.trimEnd().split('\n'),
    );
  const sh = (command: string) => {
    const path = [files, withKubectlOnPath.PATH].join(delimiter);
    const env = { ...withKubectlOnPath, PATH: path, KUBECONFIG: join(tree.data, 'kubeconfig') };
    const ran = spawnSync('bash', ['-c', command], { encoding: 'utf8', env, cwd: files });
    return { code: ran.status, out: `${ran.stdout}${ran.stderr}` };
  };

  beforeAll(async () => {
    await tree.up();
    // The commands run in a folder of their own, because they write files.
    const banyan = `exec '${process.execPath}' '${fixture('center/cli/banyan.ts')}' "$@"`;
    writeFileSync(join(files, 'npm'), `#!/bin/sh\n[ "$1 $2 $3" = "exec -- banyan" ] || exit 127\nshift 3\n${banyan}\n`);
    chmodSync(join(files, 'npm'), 0o755);
    const list = { apiVersion: 'v1', kind: 'List', items: objects };
    expect(tree.apply('space/center/retail', list)).toMatchObject({ code: 0 });
    tree.ok('space/center/retail', 'wait', 'epl/till', '--for=condition=Ready', '--timeout=60s');
  });
  afterAll(() => tree[Symbol.asyncDispose]());

  it.each([
    ['-A  ', 0, /eu:paris:rivoli/],
    ['get pods', 0, /CLUSTER/],
    ['# 409', 1, /eu:paris:rivoli/],
    ['-l banyan.io/path', 0, /us:market/],
    ['get --raw', 0, /"name":"till"/],
  ])('docs/fleet.md: the command with "%s" ends with %d', (part, code, output) => {
    const found = linesOf('docs/fleet.md').filter((line) => line.includes(part));
    expect(found).toHaveLength(1);
    expect(sh(found[0]!)).toEqual({ code, out: expect.stringMatching(output) });
  });

  it('docs/fleet.md has no other commands', () => {
    expect(linesOf('docs/fleet.md')).toHaveLength(5);
  });

  it('docs/operations/children.md: each command works', () => {
    const lines = linesOf('docs/operations/children.md');
    expect(lines).toHaveLength(2);
    for (const line of lines) expect(sh(line)).toMatchObject({ code: 0, out: expect.stringContaining('patched') });
  });

  it.each([
    ['> tree.kubeconfig', /^$/],
    ['get-contexts', /cluster\/eu:paris:rivoli[\s\S]*space\/eu\/center\.retail/],
    ['get epl', /till +available 3\/3/],
    ['get namespaces', /shop +Active/],
    ['> eu.kubeconfig', /^$/],
    ['banyan tree', /center +Center[\s\S]*rivoli +Agent/],
    ['version -o json', /"client"[\s\S]*"path": "eu:paris:rivoli"/],
    ['-o wide', /till +Ready +available 5\/5 +5 +5/],
  ])('docs/operations/kubeconfigs.md: the command with "%s" works', (part, output) => {
    const found = linesOf('docs/operations/kubeconfigs.md').filter((line) => line.includes(part));
    expect(found).toHaveLength(1);
    expect(sh(found[0]!)).toEqual({ code: 0, out: expect.stringMatching(output) });
  });

  it('docs/operations/kubeconfigs.md has no other commands', () => {
    expect(linesOf('docs/operations/kubeconfigs.md')).toHaveLength(8);
  });
});
