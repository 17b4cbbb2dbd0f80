/**
 * A fresh clone: `npm ci`, and then the commands of README.md under "Your own tree", by each Node that people have.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blocksOf } from '../e2e/page-blocks.ts';
import { withKubectlOnPath, withoutKubectl } from '../support/kubectl.ts';
import { knownNodes, withoutNodes } from '../support/other-nodes.ts';

const root = join(import.meta.dirname, '../..');
const scratch = mkdtempSync(join(tmpdir(), 'banyan-fresh-clone-'));
const clone = join(scratch, 'clone');
const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';

beforeAll(() => {
  // The clone has the files of the last commit, and nothing that a person has only in the working folder.
  expect(spawnSync('git', ['clone', '-q', '--depth', '1', `file://${root}`, clone]).status).toBe(0);
  const installed = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: clone, encoding: 'utf8' });
  expect(installed.status, installed.stderr).toBe(0);
  copyFileSync(join(clone, 'deploy/topologies/shop.yaml'), join(clone, 'tree.yaml'));
}, 600_000);
afterAll(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

describe.skipIf(withoutKubectl).each(knownNodes())(`a fresh clone with Node %d${why}`, (major, node) => {
  const bin = join(scratch, `bin-${major}`);
  const sh = (command: string) => {
    const env = { ...withKubectlOnPath, PATH: [bin, withKubectlOnPath.PATH].join(delimiter) };
    const ran = spawnSync('bash', ['-c', `export KUBECONFIG=.banyan/kubeconfig\n${command}`], {
      cwd: clone,
      encoding: 'utf8',
      env,
      timeout: 300_000,
    });
    return { code: ran.status, out: `${ran.stdout}${ran.stderr}` };
  };
  const page = readFileSync(join(root, 'README.md'), 'utf8');
  const block = blocksOf(page, (line) => line).find(({ commands }) => commands.includes('topology validate'))!;
  const lines = block.commands.trimEnd().split('\n');
  const isUp = (line: string) => line.includes('banyan up');
  const isSetting = (line: string) => line.startsWith('export ');

  beforeAll(() => {
    mkdirSync(bin);
    symlinkSync(node, join(bin, 'node'));
  });
  afterAll(() => {
    sh('npm exec -- banyan down');
    rmSync(join(clone, '.banyan'), { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });

  it('starts the tree of README.md, in the background, as its comment says', () => {
    const [up, ...others] = lines.filter(isUp);
    expect(others).toEqual([]);
    expect(sh(up!.replace(/\s+#.*/, ' --detach --timeout 240'))).toMatchObject({ code: 0 });
  }, 300_000);

  it.each(lines.filter((line) => !isUp(line) && !isSetting(line)))('runs: %s', (line) => {
    expect(sh(line)).toMatchObject({ code: 0 });
  });
});

const missing = withoutNodes();

it.skipIf(missing)(`every Node is tried${missing ? ` [not run: ${missing}]` : ''}`, () => {
  expect(knownNodes().length).toBeGreaterThanOrEqual(3);
});
