/** `npm start`, and each of the commands that it suggests. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withKubectlOnPath, withoutKubectl } from '../support/kubectl.ts';
import { fixture, until } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const program = fixture('center/cli/bin.js');

describe.skipIf(withoutKubectl)(`npm start${why}`, () => {
  // A space in the name: the commands are for a shell.
  const home = join(mkdtempSync(join(tmpdir(), 'banyan-demo-')), 'my trees');
  let demo: ChildProcess;
  let output = '';
  let ended: Promise<number | null>;
  let commands: readonly string[] = [];
  /** Earlier commands in the terminal stay in effect: the folder and the variables. */
  let terminal: readonly string[] = [];

  beforeAll(async () => {
    mkdirSync(home, { recursive: true });
    demo = spawn(process.execPath, [program, 'demo'], { cwd: home, stdio: ['ignore', 'pipe', 'pipe'] });
    ended = new Promise((done) => demo.once('exit', done));
    for (const stream of [demo.stdout!, demo.stderr!]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk;
      });
    }
    await until(
      'it prints what to try',
      () => output.includes('Ctrl-C ends all of it.') || demo.exitCode !== null,
      150,
    );
    const all = /Next things to try, in another terminal:\n([\s\S]*)\nCtrl-C/.exec(output)?.[1]?.split('\n') ?? [];
    const isSetting = (line: string) => /^ *(cd|export) /.test(line);
    terminal = all.filter(isSetting);
    commands = all.filter((line) => !isSetting(line)).map((line) => line.trim());
  });
  afterAll(async () => {
    demo.kill('SIGTERM');
    await ended;
    rmSync(join(home, '..'), { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });

  const run = (command: string) => {
    const script = ['set -e', ...terminal, command].join('\n');
    const ran = spawnSync('bash', ['-c', script], {
      encoding: 'utf8',
      cwd: tmpdir(),
      timeout: 150_000,
      env: withKubectlOnPath,
    });
    return { code: ran.status, out: `${ran.stdout}${ran.stderr}` };
  };
  const printed = (part: string) => {
    const found = commands.filter((command) => command.includes(part));
    expect(found, `one command of: ${commands.join('\n')}`).toHaveLength(1);
    return found[0]!;
  };

  it('shows the workload becoming available', () => {
    expect(output).toMatch(/^available 5\/5$/m);
  });

  it('prints only commands whose result this test knows', () => {
    expect(commands).toHaveLength(8);
  });

  it.each([
    ['kubectl get epl,deploy', /guestbook.*available 5\/5[\s\S]*deployment\.apps\/frontend/],
    ['get pods', /frontend-.*Running/],
    ['fleet/center/retail', /NAMESPACE +NAME +CLUSTER[\s\S]*frontend +\S*rivoli/],
    ['space/eu/center.retail', /guestbook.*available 3\/3/],
    ['banyan tree', /center +Center[\s\S]*rivoli +Agent +Connected/],
    ['banyan why', /cluster\/eu:paris:rivoli: it is there/],
  ])('the command with "%s" has the announced result', (part, expected) => {
    expect(run(printed(part))).toEqual({ code: 0, out: expect.stringMatching(expected) });
  });

  it('the label makes a sixth cluster available', () => {
    expect(run(printed('label location lab'))).toMatchObject({ code: 0 });
    expect(run(printed('kubectl wait'))).toMatchObject({ code: 0 });
    expect(run(printed('kubectl get epl,deploy')).out).toContain('available 6/6');
  });

  it('ends with exit code 0, also after two signals', async () => {
    demo.kill('SIGINT');
    demo.kill('SIGINT');
    expect(await ended).toBe(0);
  });
});

describe('npm start that cannot finish', () => {
  const home = mkdtempSync(join(tmpdir(), 'banyan-demo-late-'));
  afterAll(() => rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  const start = (...args: string[]) => {
    const ran = spawnSync(process.execPath, [program, 'demo', ...args], {
      cwd: home,
      encoding: 'utf8',
      timeout: 60_000,
    });
    return { code: ran.status, out: `${ran.stdout}${ran.stderr}` };
  };

  it('ends at its time-out with exit code 3, and says which clusters it waited for and where to look', () => {
    const { code, out } = start('--timeout', '0.2');
    expect(code).toBe(3);
    expect(out).toMatch(
      /not ready after 200 ms: \d+ of 11 nodes have not joined \(center: .*all nodes were ended\. Their logs are in .*\/logs; --timeout/,
    );
    expect(processesOf(home)).toBe('');
  });

  it.each(['0', 'soon'])('refuses --timeout %s', (text) => {
    expect(start('--timeout', text)).toMatchObject({
      code: 2,
      out: expect.stringContaining(`--timeout: "${text}" is not`),
    });
  });

  it('ends with exit code 0 when it gets a signal during its start', async () => {
    const demo = spawn(process.execPath, [program, 'demo'], { cwd: home, stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = new Promise<number | null>((done) => demo.once('exit', done));
    await new Promise<void>((done) => {
      demo.stdout.on('data', (chunk: Buffer) => {
        if (chunk.includes('starting 11 nodes')) done();
      });
    });
    demo.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(processesOf(home)).toBe('');
  });
});

/** Processes that still run on a data directory. */
function processesOf(directory: string): string {
  return spawnSync('pgrep', ['-af', directory], { encoding: 'utf8' }).stdout.trim();
}
