/** `npm run dist`: the archive for this machine, as a user unpacks it: with a Node of its own, and nothing else from a registry. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture, kubectlBy, until } from '../e2e/local-tree.ts';
import { freePorts } from '../support/free-ports.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const { version } = JSON.parse(readFileSync(fixture('package.json'), 'utf8')) as { version: string };
const buildMsMax = 600_000;

describe.skipIf(withoutKubectl)(`the archive with Node inside${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-dist-'));
  const command = join(directory, 'banyan-link');
  /** Without the Node of this checkout on the PATH. */
  const run = (...args: string[]) =>
    spawnSync(command, args, { encoding: 'utf8', cwd: directory, env: { PATH: '/usr/bin:/bin' } });
  const build = (...args: string[]) =>
    spawnSync(process.execPath, [fixture('deploy/image/dist.ts'), '--out', join(directory, 'out'), ...args], {
      encoding: 'utf8',
    });

  beforeAll(() => {
    const built = build('--arch', process.arch);
    expect(built.status, built.stderr).toBe(0);
    const archive = join(directory, 'out', `banyan-${version}-linux-${process.arch}.tar.gz`);
    expect(spawnSync('tar', ['-xzf', archive, '-C', directory]).status).toBe(0);
    symlinkSync(join(directory, 'banyan/bin/banyan'), command);
  }, buildMsMax);
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it('has the command, the chart, and the image beside it', () => {
    expect(run('--version').stdout.trim()).toBe(version);
    expect(existsSync(join(directory, 'banyan/deploy/chart/Chart.yaml'))).toBe(true);
    expect(existsSync(join(directory, 'out', `banyan-${version}-image-${process.arch}.tar`))).toBe(true);
  });

  it('starts a center as its unit for systemd says', async () => {
    const made = run('init', 'center', '--dir', join(directory, 'center'));
    expect(made.status, made.stderr).toBe(0);
    // Other programs of this machine may have the usual ports.
    const config = join(directory, 'center/center.yaml');
    const [api, mesh] = await freePorts(2);
    writeFileSync(config, readFileSync(config, 'utf8').replace('6443', `${api}`).replace('7443', `${mesh}`));
    const unit = readFileSync(join(directory, 'center/banyan-center.service'), 'utf8');
    const [program = '', ...args] = /^ExecStart=(.*)$/m.exec(unit)![1]!.split(' ');
    expect(program).toBe(join(directory, 'banyan/lib/node'));
    const center = spawn(program, args, { stdio: 'ignore', env: {} });
    const ended = new Promise<number | null>((done) => center.once('exit', done));
    const kubeconfig = join(directory, 'center/data/kubeconfig');
    await until('kubectl works there', () => kubectlBy(kubeconfig, ['get', 'namespaces']).code === 0, 60);
    center.kill('SIGTERM');
    expect(await ended).toBe(0);
  });

  it('refuses an architecture without a recorded Node', () => {
    const { status, stderr } = build('--arch', 'mips');
    expect([status, stderr]).toEqual([2, expect.stringMatching(/--arch mips: write x64 or arm64/)]);
  });
});
