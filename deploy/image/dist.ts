/**
 * `npm run dist -- [--out DIR] [--arch x64|arm64]…`: everything that is published for a version: for each architecture an archive with the program, its Node,
 * the chart and the examples, and an image.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { nodeFor, writeApp } from './root-files.ts';
import { runtime } from './runtime.ts';
import { writeImage } from './write-image.ts';

const root = join(import.meta.dirname, '../..');
const usage = 'usage: npm run dist -- [--out DIR] [--arch x64|arm64]…';
/** Finds the program from any symbolic link to it. */
const launcher = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here/../lib/node" "$here/../lib/dist/banyan.js" "$@"
`;

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
const { out, arches } = readArguments();
mkdirSync(out, { recursive: true });
for (const arch of arches) {
  console.log(writePackage(join(out, `banyan-${version}-linux-${arch}.tar.gz`), arch));
  console.log(
    writeImage(join(out, `banyan-${version}-image-${arch}.tar`), { name: `banyan:${version}`, version, arch }),
  );
}

/** The folder `banyan` with the command in `bin`. */
function writePackage(file: string, arch: string): string {
  const stage = mkdtempSync(join(tmpdir(), 'banyan-dist-'));
  try {
    const folder = join(stage, 'banyan');
    const lib = join(folder, 'lib');
    writeApp(lib, arch);
    cpSync(nodeFor(arch), join(lib, 'node'));
    mkdirSync(join(folder, 'bin'));
    writeFileSync(join(folder, 'bin/banyan'), launcher, { mode: 0o755 });
    for (const part of ['deploy/chart', 'deploy/topologies', 'docs/examples', 'CHANGELOG.md', 'LICENSE']) {
      cpSync(join(root, part), join(folder, part), { recursive: true });
    }
    const plain = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--mode=u+rwX,go+rX,go-w'];
    execFileSync('tar', [...plain, '-I', 'gzip -n', '-C', stage, '-cf', file, 'banyan']);
    return `${file}: ${(statSync(file).size / 1e6).toFixed(0)} MB`;
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

function readArguments(): { out: string; arches: readonly string[] } {
  const known = Object.keys(runtime.sha256);
  try {
    const options = { out: { type: 'string' }, arch: { type: 'string', multiple: true } } as const;
    const { out = 'release', arch = known } = parseArgs({ options }).values;
    const unknown = arch.find((one) => !known.includes(one));
    if (unknown !== undefined) throw new Error(`--arch ${unknown}: write ${known.join(' or ')}`);
    return { out: resolve(out), arches: arch };
  } catch (error) {
    console.error(`${(error as Error).message}\n${usage}`);
    process.exit(2);
  }
}
