/** The page docs/operations/change-the-tree.md: its commands, in order, in the tree that the page describes. Then the removal of a relay that will never come. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture, LocalTree, until } from '../e2e/local-tree.ts';
import { blocksOf } from '../e2e/page-blocks.ts';
import { placedInProduction } from '../e2e/placements.ts';
import { kubectlProgram, withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const page = readFileSync(fixture('docs/operations/change-the-tree.md'), 'utf8');
const blocks = blocksOf(page, (line) => line);
const [, topology = ''] = /^```yaml\n(.*?)^```$/ms.exec(page) ?? [];
/** A step takes ten to twenty seconds, and many times as much beside other tests. */
const limitMs = 300_000;

interface ShownNode {
  readonly status?: { readonly agents?: number };
}

describe.skipIf(withoutKubectl)(`the page about changes of the tree${why}`, () => {
  const files = mkdtempSync(join(tmpdir(), 'banyan-page-'));
  const tree = new LocalTree(join(files, 'tree.yaml'));
  const sh = (commands: string) => {
    const env = {
      ...process.env,
      PATH: [files, process.env.PATH].join(delimiter),
      KUBECONFIG: join(tree.data, 'kubeconfig'),
    };
    const ran = spawnSync('bash', ['-e', '-o', 'pipefail'], { input: commands, encoding: 'utf8', cwd: files, env });
    return { code: ran.status, out: `${ran.stdout}${ran.stderr}` };
  };

  beforeAll(async () => {
    writeFileSync(join(files, 'tree.yaml'), topology);
    symlinkSync(kubectlProgram, join(files, 'kubectl'));
    symlinkSync(tree.data, join(files, '.banyan'));
    const banyan = `exec ${process.execPath} ${fixture('center/cli/banyan.ts')} "$@"`;
    writeFileSync(join(files, 'npm'), `#!/bin/sh\n[ "$1 $2 $3" = "exec -- banyan" ] || exit 127\nshift 3\n${banyan}\n`);
    chmodSync(join(files, 'npm'), 0o755);
    await tree.up();
    tree.apply('space/center/retail', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
    tree.apply('space/center/retail', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'till', namespace: 'shop' },
    });
    tree.apply('space/center/retail', placedInProduction('shop'));
    await until('the workload is at both stores', () => available() === 2);
  }, limitMs);
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    rmSync(files, { recursive: true, force: true });
  });

  const summary = () =>
    tree.json<{ status?: { summary?: Record<string, number> } }>('space/center/retail', 'epl', 'shop')?.status?.summary;
  const available = () => summary()?.available;

  it.each(blocks.map(({ commands, output }) => [commands.trim().split('\n')[0]!, commands, output] as const))(
    'has commands that work as they stand: %s',
    (_first, commands, output) => {
      const { code, out } = sh(commands);
      expect(code, out).toBe(0);
      for (const line of output) expect(out).toContain(line.trim());
      if (commands.includes('cordon')) expect(out).toMatch(/store-2 +Agent .*cordoned/);
    },
    limitMs,
  );

  it(
    'leaves what the page removes out of the counts, and the rest as it was',
    async () => {
      await until('one store is left', () => summary()?.expected === 1 && available() === 1);
      await until(
        'nothing names it',
        () => !tree.ok('node/us', 'get', 'nodes.mesh.banyan.io,synctargets,locations,mailboxes').includes('store-2'),
      );
    },
    limitMs,
  );

  it(
    'removes a relay whose process is killed and never comes back, at every level and over a restart',
    async () => {
      await tree.down();
      // As `banyan remove` says: the file still names the removed cluster.
      const present = readFileSync(join(files, 'tree.yaml'), 'utf8');
      writeFileSync(join(files, 'tree.yaml'), present.replace(/^.*store-2.*\n/m, ''));
      // Whoever is killed now stays away.
      await tree.up('--no-restart');
      await until('the workload is at the store', () => available() === 1);
      for (const path of ['eu', 'eu:store-1']) tree.kill(path);
      const refused = sh('npm exec -- banyan remove eu');
      expect(refused).toEqual({
        code: 1,
        out: expect.stringMatching(/--delete-workloads deletes them first, --orphan leaves/),
      });
      const { code, out } = sh('npm exec -- banyan remove eu --orphan --force');
      expect(code, out).toBe(0);
      const counts = () => [
        summary()?.expected,
        tree.json<ShownNode>('node/center', 'nodes.mesh.banyan.io', 'center')?.status?.agents,
      ];
      await until('nothing below eu counts', () => counts().join() === '0,0', 10);
      expect(tree.ok('node/center', 'get', 'nodes.mesh.banyan.io,mailboxes')).not.toMatch(/\beu\b/);
      writeFileSync(
        join(files, 'tree.yaml'),
        topology.replace(/^.*\beu\b.*$\n/gm, '').replace('clusters:\n', 'clusters: []\n'),
      );
      expect(await tree.down()).toBe(0);
      await tree.up();
      await until('nothing below eu counts', () => counts().join() === '0,0');
      expect(tree.ok('node/center', 'get', 'nodes.mesh.banyan.io,mailboxes')).not.toMatch(/\beu\b/);
      expect(sh('npm exec -- banyan topology diff -f tree.yaml')).toMatchObject({ code: 0, out: 'no differences\n' });
    },
    limitMs,
  );

  it.each([
    ['remove us --orphan --delete-workloads', 2, 'give one of the two'],
    ['remove center', 2, '"center" is the root'],
    ['remove asia', 1, 'knows no node "asia"'],
    ['cordon us:nothing', 1, 'there is no cluster at or below "us:nothing"'],
    ['drain us:nothing', 1, 'there is no cluster at or below "us:nothing"'],
  ])(
    'bad input changes nothing: %s',
    (command, exit, words) => {
      const { code, out } = sh(`npm exec -- banyan ${command}`);
      expect([code, out]).toEqual([exit, expect.stringContaining(words)]);
    },
    limitMs,
  );
});
