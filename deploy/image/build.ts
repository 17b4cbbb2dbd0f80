/** `npm run image -- [--out FILE] [--name NAME:TAG]`: makes the image of all roles as one file. This needs neither a registry nor a container engine. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { platform, writeArchive } from './oci-archive.ts';
import { userId, writeProgram, writeRuntime } from './root-files.ts';

const usage = 'usage: npm run image -- [--out FILE] [--name NAME:TAG]';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
const { name, out } = readArguments();
const { os, architecture } = platform();
const stage = mkdtempSync(join(tmpdir(), 'banyan-image-'));
try {
  const [runtime, program] = [join(stage, 'runtime'), join(stage, 'program')];
  writeRuntime(runtime);
  writeProgram(program);
  mkdirSync(dirname(out), { recursive: true });
  const { packedBytes, bytes } = writeArchive(out, {
    name,
    layers: [runtime, program],
    config: {
      User: `${userId}:${userId}`,
      // The arguments of a container are `agent`, `relay` or `center`, and --config FILE.
      Entrypoint: ['/usr/bin/node', '/app/dist/banyan.js'],
      Env: ['PATH=/usr/bin'],
      WorkingDir: '/data',
      Labels: { 'org.opencontainers.image.title': 'banyan', 'org.opencontainers.image.version': version },
    },
  });
  const megabytes = (count: number) => `${(count / 1e6).toFixed(0)} MB`;
  console.log(
    `${out}: ${name} for ${os}/${architecture}, ${megabytes(packedBytes)} packed, ${megabytes(bytes)} on a node`,
  );
} finally {
  rmSync(stage, { recursive: true, force: true });
}

function readArguments(): { name: string; out: string } {
  try {
    const { values } = parseArgs({ options: { out: { type: 'string' }, name: { type: 'string' } } });
    const { name = `banyan:${version}`, out = 'banyan-image.tar' } = values;
    if (!/^[a-z0-9]([-a-z0-9._/]|:\d+\/)*:[A-Za-z0-9_][-A-Za-z0-9._]{0,127}$/.test(name)) {
      fail(`--name ${name}: a name and a tag, such as registry.example.com/banyan:${version}\n${usage}`);
    }
    return { name, out: resolve(out) };
  } catch (error) {
    fail(`${(error as Error).message}\n${usage}`);
  }
}

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}
