/**
 * `npm run lock`: adds to package-lock.json the packages of other platforms that `npm install` left out. If a registry serves only some platforms, npm drops
 * the packages of the others, and `npm ci` then refuses the file everywhere. The added entries have version, platform, and the digest that the registry names. So a
 * machine of that platform fetches the packages as usual, and refuses others.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { entriesWithoutIntegrity, type LockedPackage } from './lock-file.ts';

interface LockEntry extends LockedPackage {
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

const systems = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32'];
const processors: Record<string, string> = {
  arm: 'arm',
  armv7: 'arm',
  arm64: 'arm64',
  ia32: 'ia32',
  loong64: 'loong64',
  mips64el: 'mips64el',
  ppc64: 'ppc64',
  ppc64le: 'ppc64',
  powerpc64le: 'ppc64',
  riscv64: 'riscv64',
  s390x: 's390x',
  wasm32: 'wasm32',
  x64: 'x64',
};

const file = join(import.meta.dirname, '../../package-lock.json');
const lock = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, LockEntry> };
const added: string[] = [];
for (const entry of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const key = `node_modules/${name}`;
    if (lock.packages[key]) continue;
    lock.packages[key] = {
      version: version.replace(/^[~^]/, ''),
      ...platformOf(name),
      ...(entry.dev ? { dev: true } : {}),
      optional: true,
    };
    added.push(name);
  }
}
let digests = 0;
for (const [key, entry] of entriesWithoutIntegrity(lock)) {
  const name = key.slice(key.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const answer = execFileSync('npm', ['view', `${name}@${entry.version}`, 'dist.integrity'], {
    encoding: 'utf8',
  }).trim();
  if (!answer.startsWith('sha512-'))
    throw new Error(`the registry names no SHA-512 for ${name}@${entry.version}: ${answer}`);
  entry.integrity = answer;
  digests++;
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${added.length} packages of other platforms added, and ${digests} digests`);

/** Reads the platform from the name of a platform package. */
function platformOf(name: string): { os?: string[]; cpu?: string[]; libc?: string[] } {
  const parts = name.split(/[/-]/);
  const os = parts.find((part) => systems.includes(part));
  const cpu = parts.map((part) => processors[part]).find((found) => found !== undefined);
  const libc = parts.includes('musl')
    ? 'musl'
    : parts.includes('gnu') || parts.includes('gnueabihf')
      ? 'glibc'
      : undefined;
  return { ...(os ? { os: [os] } : {}), ...(cpu ? { cpu: [cpu] } : {}), ...(libc ? { libc: [libc] } : {}) };
}
