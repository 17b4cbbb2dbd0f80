/** `npm run image -- [--out FILE] [--name NAME:TAG] [--arch x64|arm64]`: makes the image of all roles as one file. This needs no container engine. */
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runtime } from './runtime.ts';
import { writeImage } from './write-image.ts';

const usage = 'usage: npm run image -- [--out FILE] [--name NAME:TAG] [--arch x64|arm64]';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
const { name, out, arch } = readArguments();
mkdirSync(dirname(out), { recursive: true });
console.log(writeImage(out, { name, version, arch }));

function readArguments(): { name: string; out: string; arch: string } {
  try {
    const { values } = parseArgs({
      options: { out: { type: 'string' }, name: { type: 'string' }, arch: { type: 'string' } },
    });
    const { name = `banyan:${version}`, out = 'banyan-image.tar', arch = process.arch } = values;
    if (!(arch in runtime.sha256)) fail(`--arch ${arch}: write ${Object.keys(runtime.sha256).join(' or ')}\n${usage}`);
    if (!/^[a-z0-9]([-a-z0-9._/]|:\d+\/)*:[A-Za-z0-9_][-A-Za-z0-9._]{0,127}$/.test(name)) {
      fail(`--name ${name}: a name and a tag, such as registry.example.com/banyan:${version}\n${usage}`);
    }
    return { name, out: resolve(out), arch };
  } catch (error) {
    fail(`${(error as Error).message}\n${usage}`);
  }
}

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}
