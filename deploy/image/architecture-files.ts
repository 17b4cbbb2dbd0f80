/**
 * The native files of an image: Node, the packages with compiled code, and the libraries to which both are linked. Those of this machine's architecture are in
 * the checkout and on the machine. Those of another one come from npm, checked against package-lock.json, and from the Debian packages for cross compilation.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { runtime } from './runtime.ts';

const root = join(import.meta.dirname, '../..');

export interface ArchitectureFiles {
  /** The program of Node. */
  readonly node: string;
  /** A folder `node_modules`. */
  readonly modules: string;
  /** The libraries that the dynamic loader finds, and the loader itself. Keyed by their place in the image. */
  libraries(): ReadonlyMap<string, string>;
}

/** Libraries that glibc before 2.34 loads by name, to find hosts: https://sourceware.org/glibc/wiki/Release/2.34 */
const loadedByName = ['libnss_dns.so.2', 'libnss_files.so.2', 'libresolv.so.2'];
/** The folder of the packages libc6-ARCH-cross and libstdc++6-ARCH-cross, and where the loader of that architecture looks. */
const crossNames: Readonly<Partial<Record<string, { triplet: string; loader: string; packages: string }>>> = {
  arm64: {
    triplet: 'aarch64-linux-gnu',
    loader: 'lib/ld-linux-aarch64.so.1',
    packages: 'libc6-arm64-cross libstdc++6-arm64-cross libgcc-s1-arm64-cross libatomic1-arm64-cross',
  },
  x64: {
    triplet: 'x86_64-linux-gnu',
    loader: 'lib64/ld-linux-x86-64.so.2',
    packages: 'libc6-amd64-cross libstdc++6-amd64-cross libgcc-s1-amd64-cross libatomic1-amd64-cross',
  },
};

export function filesFor(arch: string): ArchitectureFiles {
  return arch === process.arch ? ownFiles() : foreignFiles(arch);
}

function ownFiles(): ArchitectureFiles {
  const modules = join(root, 'node_modules');
  const node = join(modules, 'node/bin/node');
  return { node, modules, libraries: () => librariesOf([node, nativeModule(modules, process.arch)]) };
}

function nativeModule(modules: string, arch: string): string {
  const built = join(modules, `@lmdb/lmdb-linux-${arch}/node.napi.glibc.node`);
  if (existsSync(built)) return built;
  throw new Error(`there is no ${built}: an image is built on Linux with glibc, after npm ci`);
}

function librariesOf(programs: readonly string[]): Map<string, string> {
  const lddOutput = programs.map((program) => execFileSync('ldd', [program], { encoding: 'utf8' })).join('\n');
  const lacking = /^\s*(\S+) => not found/m.exec(lddOutput)?.[1];
  if (lacking) throw new Error(`${lacking} is not on this machine, and Node needs it: install it`);
  const linked = [...lddOutput.matchAll(/(?:=> |^\s*)(\/\S+) \(0x/gm)].map((match) => match[1]!);
  const folder = dirname(linked.find((file) => /\/libc\.so/.test(file)) ?? '');
  const all = [...linked, ...loadedByName.map((name) => join(folder, name)).filter((file) => existsSync(file))];
  return new Map(all.map((file) => [file, file]));
}

function foreignFiles(arch: string): ArchitectureFiles {
  const kept = join(root, 'node_modules/.cache/banyan-image', `${arch}-${runtime.version}`);
  if (!existsSync(kept)) fetchInto(kept, arch);
  const node = join(kept, 'node');
  const modules = join(kept, 'node_modules');
  return { node, modules, libraries: () => crossLibraries([node, nativeModule(modules, arch)], arch) };
}

/** `npm ci` compares every package with the digest in package-lock.json. Node is compared with runtime.json by the caller. */
function fetchInto(kept: string, arch: string): void {
  mkdirSync(dirname(kept), { recursive: true });
  const stage = mkdtempSync(`${kept}.`);
  try {
    const npm = (...args: string[]) => execFileSync('npm', args, { cwd: stage, stdio: ['ignore', 'pipe', 'inherit'] });
    for (const file of ['package.json', 'package-lock.json']) cpSync(join(root, file), join(stage, file));
    npm(
      'ci',
      '--omit=dev',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--os=linux',
      `--cpu=${arch}`,
      '--libc=glibc',
    );
    npm('pack', '--silent', `node-linux-${arch}@${runtime.version}`);
    const archive = readdirSync(stage).find((file) => file.endsWith('.tgz'))!;
    execFileSync('tar', ['-xzf', archive, '--strip-components=2', 'package/bin/node'], { cwd: stage });
    rmSync(join(stage, archive));
    renameSync(stage, kept);
  } catch (cause) {
    rmSync(stage, { recursive: true, force: true });
    throw new Error(`the files for ${arch} were not fetched from npm: look at the messages above, and try again`, {
      cause,
    });
  }
}

/** Follows the names of needed libraries as the loader does. `ldd` would run the loader, which is of another architecture. */
function crossLibraries(programs: readonly string[], arch: string): Map<string, string> {
  const { triplet, loader, packages } = crossNames[arch]!;
  const folder = `/usr/${triplet}/lib`;
  const found = new Map<string, string>();
  const queue = [...programs];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    const header = execFileSync('readelf', ['--dynamic', file], { encoding: 'utf8' });
    for (const [, name = ''] of header.matchAll(/\(NEEDED\).*\[(.+)\]/g)) {
      const place = name === basename(loader) ? loader : `lib/${triplet}/${name}`;
      if (found.has(place)) continue;
      const library = join(folder, name);
      if (!existsSync(library))
        throw new Error(`there is no ${library}, and Node for ${arch} needs it: apt-get install ${packages}`);
      found.set(place, library);
      queue.push(library);
    }
  }
  return found.set(loader, join(folder, basename(loader)));
}
