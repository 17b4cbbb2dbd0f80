/** The command of a checkout and the examples, run by the Node that a machine has. */
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { majorOf, plainNode } from '../support/plain-node.ts';
import { fixture } from './local-tree.ts';

/** A Node that claims to be an old version; the processes that it starts see the real one. */
const pretendOld = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.8' } })`;
const old = ['--import', `data:text/javascript,${encodeURIComponent(pretendOld)}`];
/** Replaces the program: it prints its arguments, and ends as told. */
const program = `process.on('SIGTERM', () => process.exit(7));
console.log('given ' + process.argv.slice(2).join());
if (process.argv[2] === 'wait') setInterval(() => {}, 1000); else process.exitCode = 3;
`;

describe('the command of a checkout, started by a Node that is too old for the sources', () => {
  const checkout = mkdtempSync(join(tmpdir(), 'banyan-old-node-'));
  const bin = join(checkout, 'center/cli/bin.js');
  const bundled = join(checkout, 'package/center/cli/bin.js');
  const installed = join(checkout, 'node_modules/node/bin');

  beforeAll(() => {
    mkdirSync(join(checkout, 'center/cli'), { recursive: true });
    writeFileSync(join(checkout, 'package.json'), '{"type": "module"}');
    writeFileSync(join(checkout, 'center/cli/banyan.ts'), program);
    cpSync(fixture('center/cli/bin.js'), bin);
    cpSync(fixture('center/cli/bin.js'), bundled);
  });
  afterAll(() => rmSync(checkout, { recursive: true, force: true }));

  const run = (file: string) => spawnSync(process.execPath, [...old, file, 'tree'], { encoding: 'utf8' });

  it('names its version, the required version and the remedy in one sentence, and exits with 2', () => {
    expect(run(bin)).toMatchObject({
      status: 2,
      stdout: '',
      stderr:
        'banyan: this is Node 18.20.8, and Node 24 or later is needed: run npm ci, which brings a Node that is new enough along\n',
    });
    expect(run(bundled)).toMatchObject({
      status: 2,
      stderr: 'banyan: this is Node 18.20.8, and Node 20 or later is needed: install a newer Node\n',
    });
  });

  it('continues with the Node that npm has installed, and passes on arguments, signals and the exit code', async () => {
    mkdirSync(installed, { recursive: true });
    symlinkSync(process.execPath, join(installed, 'node'));
    expect(run(bin)).toMatchObject({ status: 3, stdout: 'given tree\n' });
    const child = spawn(process.execPath, [...old, bin, 'wait'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = new Promise<number | null>((done) => child.once('exit', done));
    await new Promise((done) => child.stdout.once('data', done));
    child.kill('SIGTERM');
    expect(await ended).toBe(7);
  });
});

describe(`by the Node of this machine, ${majorOf(plainNode())}`, () => {
  it('the command reports a usage error like any other Node', () => {
    const ran = spawnSync(plainNode(), [fixture('center/cli/bin.js'), 'tree', '--nonsense'], { encoding: 'utf8' });
    expect(ran).toMatchObject({ status: 2, stderr: expect.stringContaining("unknown option '--nonsense'") });
  });

  it.each(['carbon', 'threat-gate'])('the example %s starts', (name) => {
    const file = fixture(`docs/examples/${name}/${name}.mjs`);
    const ran = spawnSync(plainNode(), [file], { encoding: 'utf8' });
    expect(ran).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(new RegExp(`^usage: node ${name}\\.mjs FEED`)),
    });
  });
});
