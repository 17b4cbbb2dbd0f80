/**
 * The files of the image: Node with the libraries that it is linked to, the bundles, and lmdb with the packages that it needs. There is no shell, no package
 * manager and no home directory.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { filesFor } from './architecture-files.ts';
import { foreignRuntime, runtime } from './runtime.ts';

const root = join(import.meta.dirname, '../..');
/** The user id of the agent in the image. The chart uses the same number. */
export const userId = 65_532;

/** The lower layer of the image. It changes only when Node changes. Throws unless Node is the program of `runtime.json`. */
export function writeRuntime(directory: string, arch: string): void {
  const files = filesFor(arch);
  put(directory, nodeFor(arch), 'usr/bin/node');
  for (const [place, file] of files.libraries()) put(directory, file, place);
  text(directory, 'etc/passwd', `root:x:0:0:root:/:/none\nbanyan:x:${userId}:${userId}:banyan:/data:/none\n`);
  text(directory, 'etc/group', `root:x:0:\nbanyan:x:${userId}:\n`);
  // Without this file, glibc asks the network for localhost.
  text(directory, 'etc/nsswitch.conf', 'hosts: files dns\n');
  for (const folder of ['data', 'tmp']) mkdirSync(join(directory, folder), { recursive: true });
}

/** The upper layer of the image. It changes with the program. */
export function writeProgram(directory: string, arch: string): void {
  writeApp(join(directory, 'app'), arch);
}

/** The bundles with lmdb, in a folder of any name. */
export function writeApp(app: string, arch: string): void {
  const { modules } = filesFor(arch);
  execFileSync(process.execPath, [join(root, 'test/support/build.ts'), join(app, 'dist')], { cwd: root });
  for (const file of ['package.json', 'LICENSE']) put(app, join(root, file), file);
  for (const name of packagesBelow(modules, 'lmdb')) {
    cpSync(join(modules, name), join(app, 'node_modules', name), {
      recursive: true,
      dereference: true,
      filter: (file) =>
        !/\/(dependencies|src|test|tests|dict|README\.md)$|\.(map|d\.ts|d\.cts)$|\.musl\.node$/.test(file),
    });
  }
}

/** The program of Node. Throws unless it is the program of `runtime.json`. */
export function nodeFor(arch: string): string {
  const { node } = filesFor(arch);
  const foreign = foreignRuntime(readFileSync(node), arch, runtime);
  if (foreign !== undefined) throw new Error(foreign);
  return node;
}

/** Copies a package, and all installed packages that it needs at run time. A nested copy is copied together with its owner. */
function packagesBelow(modules: string, name: string, found = new Set<string>()): Set<string> {
  const file = join(modules, name, 'package.json');
  if (found.has(name) || !existsSync(file)) return found;
  found.add(name);
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, object>;
  for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) packagesBelow(modules, needed, found);
  return found;
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
