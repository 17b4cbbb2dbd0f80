/**
 * The files of the image: Node with the libraries that it is linked to, the bundles, and lmdb with the packages that it needs. There is no shell, no package
 * manager and no home directory. The libraries are copied from this machine, so the image is for this machine's architecture.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { foreignRuntime, runtime } from './runtime.ts';

const root = join(import.meta.dirname, '../..');
const modules = join(root, 'node_modules');
/** The user id of the agent in the image. The chart uses the same number. */
export const userId = 65_532;
/** Libraries that glibc before 2.34 loads by name, to find hosts: https://sourceware.org/glibc/wiki/Release/2.34 */
const loadedByName = ['libnss_dns.so.2', 'libnss_files.so.2', 'libresolv.so.2'];

/** The lower layer of the image. It changes only when Node changes. Throws unless Node is the program of `runtime.json`. */
export function writeRuntime(directory: string): void {
  const node = join(modules, 'node/bin/node');
  const foreign = foreignRuntime(readFileSync(node), process.arch, runtime);
  if (foreign !== undefined) throw new Error(foreign);
  put(directory, node, 'usr/bin/node');
  for (const library of librariesOf([node, ...nativeModules()])) put(directory, library, library);
  text(directory, 'etc/passwd', `root:x:0:0:root:/:/none\nbanyan:x:${userId}:${userId}:banyan:/data:/none\n`);
  text(directory, 'etc/group', `root:x:0:\nbanyan:x:${userId}:\n`);
  // Without this file, glibc asks the network for localhost.
  text(directory, 'etc/nsswitch.conf', 'hosts: files dns\n');
  for (const folder of ['data', 'tmp']) mkdirSync(join(directory, folder), { recursive: true });
}

/** The upper layer of the image. It changes with the program. */
export function writeProgram(directory: string): void {
  const app = join(directory, 'app');
  execFileSync(process.execPath, [join(root, 'test/support/build.ts'), join(app, 'dist')], { cwd: root });
  for (const file of ['package.json', 'LICENSE']) put(directory, join(root, file), `app/${file}`);
  for (const name of packagesBelow('lmdb')) {
    cpSync(join(modules, name), join(app, 'node_modules', name), {
      recursive: true,
      dereference: true,
      filter: (file) =>
        !/\/(dependencies|src|test|tests|dict|README\.md)$|\.(map|d\.ts|d\.cts)$|\.musl\.node$/.test(file),
    });
  }
}

/** Copies a package, and all installed packages that it needs at run time. A nested copy is copied together with its owner. */
function packagesBelow(name: string, found = new Set<string>()): Set<string> {
  const file = join(modules, name, 'package.json');
  if (found.has(name) || !existsSync(file)) return found;
  found.add(name);
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, object>;
  for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) packagesBelow(needed, found);
  return found;
}

export function nativeModules(): string[] {
  const built = join(modules, `@lmdb/lmdb-linux-${process.arch}/node.napi.glibc.node`);
  if (existsSync(built)) return [built];
  throw new Error(`there is no ${built}: an image is built on Linux with glibc, after npm ci`);
}

/** The libraries that the dynamic loader finds, and the loader itself. */
export function librariesOf(programs: readonly string[]): Set<string> {
  const lddOutput = programs.map((program) => execFileSync('ldd', [program], { encoding: 'utf8' })).join('\n');
  const lacking = /^\s*(\S+) => not found/m.exec(lddOutput)?.[1];
  if (lacking) throw new Error(`${lacking} is not on this machine, and Node needs it: install it`);
  const linked = [...lddOutput.matchAll(/(?:=> |^\s*)(\/\S+) \(0x/gm)].map((match) => match[1]!);
  const folder = dirname(linked.find((file) => /\/libc\.so/.test(file)) ?? '');
  return new Set([...linked, ...loadedByName.map((name) => join(folder, name)).filter((file) => existsSync(file))]);
}

function put(directory: string, from: string, to: string): void {
  const target = join(directory, to);
  mkdirSync(dirname(target), { recursive: true });
  cpSync(realpathSync(from), target);
}

function text(directory: string, file: string, content: string): void {
  mkdirSync(dirname(join(directory, file)), { recursive: true });
  writeFileSync(join(directory, file), content);
}
