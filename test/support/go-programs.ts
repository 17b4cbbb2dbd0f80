/** Builds programs from Go modules of the project, once. The hash of their sources names the folder, which is outside the checkout. */
import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';

export interface GoModule {
  /** The folder of the module, with go.mod and go.sum. */
  readonly directory: string;
  /** The file in the folder that is used instead of go.mod, with its own sums beside it: `27.mod` and `27.sum`. */
  readonly modfile?: string;
  /** The packages to build, keyed by the name of the program. */
  readonly packages: Readonly<Record<string, string>>;
  /** Files of modules that go.mod requires, such as definitions of kinds: the module and the path in it. They are copied as they are. */
  readonly files?: readonly (readonly [module: string, path: string])[];
  /** Files of the module besides go.sum whose change makes another program. */
  readonly sources?: readonly string[];
  /** True: the program is built without libc, for an image that has no libc. */
  readonly isStatic?: boolean;
  /** The values of variables that a release sets while it links, keyed by variable. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** Longest build. A control plane without any cache takes ten minutes on two cores. A machine under load may need three times as long. */
const buildMsMax = 40 * 60_000;

/** The folder of the built programs. */
export function directoryOf(name: string, modules: readonly GoModule[]): string {
  const hash = createHash('sha256');
  for (const { directory, modfile = 'go.mod', sources = [] } of modules)
    for (const file of [modfile.replace(/mod$/, 'sum'), ...sources]) hash.update(readFileSync(join(directory, file)));
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  return join(cache, 'banyan', `${name}-${hash.digest('hex').slice(0, 16)}`);
}

/**
 * A text for the titles of tests that can't run. Undefined: the programs are built. Tests never build: a build would use processor time, and tests would miss
 * their deadlines.
 */
export function notBuilt(name: string, modules: readonly GoModule[]): string | undefined {
  return existsSync(directoryOf(name, modules))
    ? undefined
    : `${name} is not built: "npm run programs" builds it with Go`;
}

/** The path of a program: the machine's own program if there is one, otherwise the built one. Undefined: there is neither. */
export function foundOrBuilt(program: string, modules: readonly GoModule[]): string | undefined {
  const folders = (process.env.PATH ?? '').split(':').filter((folder) => folder !== '');
  const built = join(directoryOf(program, modules), program);
  return [...folders.map((folder) => join(folder, program)), built].find((file) => existsSync(file));
}

/** Builds into another folder, and renames that folder when it is complete. Two builds at the same time do the work twice, but harm nothing. */
export async function builtOnce(name: string, modules: readonly GoModule[]): Promise<string> {
  const built = directoryOf(name, modules);
  if (existsSync(built)) return built;
  if (spawnSync('go', ['version']).status !== 0)
    throw new Error(`there is no Go on this machine to build ${name} with`);
  const making = `${built}.${process.pid}`;
  mkdirSync(making, { recursive: true });
  try {
    for (const one of modules) await build(one, making);
    if (!existsSync(built)) renameSync(making, built);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
  return built;
}

async function build(
  { directory, modfile = 'go.mod', packages, files = [], isStatic, variables = {} }: GoModule,
  out: string,
): Promise<void> {
  const set = Object.entries({ ...versionOf(directory), ...variables }).map(([name, value]) => ` -X ${name}=${value}`);
  const flags = [`-modfile=${modfile}`, '-ldflags', `-s -w${set.join('')}`];
  for (const [program, path] of Object.entries(packages)) {
    await promisify(execFile)('go', ['build', ...flags, '-o', join(out, program), path], {
      cwd: directory,
      timeout: buildMsMax,
      maxBuffer: 1 << 24,
      env: { ...process.env, ...(isStatic ? { CGO_ENABLED: '0' } : {}) },
    });
  }
  for (const [module, path] of files) {
    // Go compares what it downloads with go.sum.
    const options = { cwd: directory, timeout: buildMsMax };
    const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', module], options);
    copyFileSync(join((JSON.parse(stdout) as { Dir: string }).Dir, path), join(out, basename(path)));
  }
}

/** The version for the linker. Without it, the programs of Kubernetes report v0.0.0, and other programs treat them as too old. */
function versionOf(directory: string): Readonly<Record<string, string>> {
  const version = /k8s\.io\/kubernetes (v\S+)/.exec(readFileSync(join(directory, 'go.mod'), 'utf8'))?.[1];
  return version === undefined ? {} : { 'k8s.io/component-base/version.gitVersion': version };
}
