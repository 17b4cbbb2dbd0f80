/**
 * The programs of a real control plane: where KUBEBUILDER_ASSETS says (the convention of envtest), or built once from the Go modules beside this
 * file and kept outside the checkout by the hash of their go.sum. kwok has a module of its own: it wants another minor version of the libraries.
 */
import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export type Program = 'etcd' | 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'kubectl' | 'kwok';
/** The path of each. */
export type Binaries = Readonly<Record<Program, string>>;

const modules: readonly {
  readonly directory: string;
  readonly packages: Readonly<Partial<Record<Program, string>>>;
}[] = [
  {
    directory: import.meta.dirname,
    packages: {
      etcd: 'go.etcd.io/etcd/server/v3',
      'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
      'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
      'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler',
      kubectl: 'k8s.io/kubernetes/cmd/kubectl',
    },
  },
  { directory: join(import.meta.dirname, 'kwok'), packages: { kwok: 'sigs.k8s.io/kwok/cmd/kwok' } },
];
const programs = modules.flatMap(({ packages }) => Object.keys(packages) as Program[]);
/** From nothing on two cores it takes ten minutes; a machine under load may need three times that. */
const buildMsMax = 40 * 60_000;

/** For the titles of what can't run: a test says why. Undefined: it can run, perhaps after a build. */
export function withoutControlPlane(): string | undefined {
  const given = process.env.KUBEBUILDER_ASSETS;
  if (given) {
    const lacking = programs.filter((program) => !existsSync(join(given, program)));
    return lacking.length > 0 ? `KUBEBUILDER_ASSETS=${given} lacks ${lacking.join(', ')}` : undefined;
  }
  if (existsSync(builtDirectory()) || spawnSync('go', ['version']).status === 0) return undefined;
  return 'there is neither KUBEBUILDER_ASSETS nor Go on this machine';
}

export async function controlPlaneBinaries(): Promise<Binaries> {
  const problem = withoutControlPlane();
  if (problem) throw new Error(problem);
  const directory = process.env.KUBEBUILDER_ASSETS || (await build());
  return Object.fromEntries(programs.map((program) => [program, join(directory, program)])) as Binaries;
}

function builtDirectory(): string {
  const hash = createHash('sha256');
  for (const { directory } of modules) hash.update(readFileSync(join(directory, 'go.sum')));
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  return join(cache, 'banyan', `control-plane-${hash.digest('hex').slice(0, 16)}`);
}

/** Into a directory beside, renamed when whole: two that build at once do work twice and harm nothing. */
async function build(): Promise<string> {
  const built = builtDirectory();
  if (existsSync(built)) return built;
  const making = `${built}.${process.pid}`;
  mkdirSync(making, { recursive: true });
  try {
    for (const { directory, packages } of modules) {
      const version = kubernetesVersionIn(directory);
      const flags = `-s -w${version ? ` -X k8s.io/component-base/version.gitVersion=${version}` : ''}`;
      await promisify(execFile)('go', ['build', '-ldflags', flags, '-o', `${making}/`, ...Object.values(packages)], {
        cwd: directory,
        timeout: buildMsMax,
        maxBuffer: 1 << 24,
      });
    }
    // Go names etcd's program for its directory.
    renameSync(join(making, 'server'), join(making, 'etcd'));
    if (!existsSync(built)) renameSync(making, built);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
  return built;
}

/** Without it the API server calls itself v0.0.0, and clients doubt what it can do. */
function kubernetesVersionIn(directory: string): string | undefined {
  return /k8s\.io\/kubernetes (v\S+)/.exec(readFileSync(join(directory, 'go.mod'), 'utf8'))?.[1];
}
