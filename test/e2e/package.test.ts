import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** The package as a user gets it: unpacked below `node_modules`, where Node strips no types, with lmdb as its only neighbour. */
describe('the package of npm pack', () => {
  const home = mkdtempSync(join(tmpdir(), 'banyan-package-'));
  const installed = join(home, 'node_modules', 'banyan');
  const command = () => join(installed, 'center', 'cli', 'bin.js');
  const banyan = (...args: string[]) =>
    spawnSync(process.execPath, [command(), ...args], { encoding: 'utf8', cwd: home });

  beforeAll(() => {
    const packed = spawnSync('npm', ['pack', '--silent', '--pack-destination', home], { encoding: 'utf8' });
    expect(packed.status, packed.stderr).toBe(0);
    mkdirSync(installed, { recursive: true });
    const archive = join(home, packed.stdout.trim().split('\n').at(-1)!);
    expect(spawnSync('tar', ['-xzf', archive, '--strip-components=1', '-C', installed]).status).toBe(0);
    symlinkSync(resolve('node_modules/lmdb'), join(home, 'node_modules', 'lmdb'));
  });
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  it('has its command, which reports its version', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(banyan('--version').stdout.trim()).toBe(version);
  });

  it('has the licence texts of the packages that are bundled', () => {
    const texts = readFileSync(join(installed, 'dist', 'licences.txt'), 'utf8');
    expect(texts).toMatch(/^@grpc\/grpc-js [\d.]+ \(Apache-2.0\)\n\nApache License/m);
    expect(texts).toMatch(/^ws [\d.]+ \(MIT\)\n\nCopyright/m);
  });

  it('loads only the parts of Node that it uses, not every export of a module', () => {
    const script = "process.on('exit', () => console.log('loaded', process.moduleLoadList.join()))";
    const agent = spawnSync(
      process.execPath,
      ['--import', `data:text/javascript,${encodeURIComponent(script)}`, join(installed, 'dist', 'agent.js')],
      { encoding: 'utf8' },
    );
    expect(agent.stderr).toContain('usage: main.ts --config FILE');
    expect(agent.stdout).toMatch(/^loaded .*NativeModule http2,/);
    expect(agent.stdout).not.toContain('undici');
  });

  it('runs the example tree until it is available everywhere, and ends on SIGTERM with exit code 0', async () => {
    const demo = spawn(process.execPath, [command(), 'demo'], { cwd: home });
    let output = '';
    const ended = new Promise<number | null>((done) => demo.once('exit', done));
    const shown = new Promise<void>((done) => {
      for (const stream of [demo.stdout, demo.stderr])
        stream.on('data', (chunk: Buffer) => {
          output += chunk.toString();
          if (output.includes('Ctrl-C ends')) done();
        });
    });
    await Promise.race([shown, ended]);
    demo.kill('SIGTERM');
    expect({ code: await ended, output }).toMatchObject({ code: 0, output: expect.stringContaining('available 5/5') });
  });
});

/** The fields of https://spdx.github.io/spdx-spec/v2.3/ that every reader needs. */
interface Spdx {
  readonly spdxVersion: string;
  readonly packages: readonly {
    name: string;
    versionInfo: string;
    SPDXID: string;
    checksums?: readonly { algorithm: string; checksumValue: string }[];
  }[];
  readonly relationships: readonly { spdxElementId: string; relatedSpdxElement: string }[];
}

describe('npm run sbom', () => {
  it('lists each package that ships, Node and the system libraries, each with a digest', () => {
    const made = spawnSync('npm', ['run', '--silent', 'sbom'], { encoding: 'utf8', maxBuffer: 2 ** 26 });
    expect(made.stderr).toBe('');
    const { spdxVersion, packages, relationships } = JSON.parse(made.stdout) as Spdx;
    const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<
      'dependencies' | 'devDependencies',
      Record<string, string>
    >;
    expect(spdxVersion).toBe('SPDX-2.3');
    const listed = new Set(packages.map(({ name, versionInfo }) => `${name} ${versionInfo}`));
    const direct = Object.entries({ ...dependencies, node: devDependencies.node! });
    expect(direct.map((entry) => entry.join(' ')).filter((one) => !listed.has(one))).toEqual([]);
    const names = new Set(packages.map(({ name }) => name));
    expect([names.has('libc.so.6'), names.has('vitest')]).toEqual([true, false]);
    expect(packages.filter(({ name, checksums }) => name !== 'banyan' && !checksums?.length)).toEqual([]);
    const ids = new Set(packages.map(({ SPDXID }) => SPDXID));
    expect(ids.size).toBe(packages.length);
    for (const { relatedSpdxElement } of relationships) expect(ids).toContain(relatedSpdxElement);
  });

  it('refuses an unknown option with its usage', () => {
    const refused = spawnSync('npm', ['run', '--silent', 'sbom', '--', '--format', 'x'], { encoding: 'utf8' });
    expect([refused.status, refused.stderr]).toEqual([
      2,
      expect.stringContaining('usage: npm run sbom [-- --out FILE]'),
    ]);
  });
});
