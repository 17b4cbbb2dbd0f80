/** The programs of a real node of a cluster, and the reasons why a machine can't be one. */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { builtOnce, type GoModule, notBuilt } from '../go-programs.ts';
import { withoutHosts } from '../hosts.ts';
import { impossible } from '../impossible.ts';

/** Folders where the programs may be. Debian has some of them only in folders of root's path. */
const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/sbin'];
/** Folders of the package containernetworking-plugins. Some distributions use the second one. */
const networkFolders = ['/usr/lib/cni', '/opt/cni/bin'];
const networkPlugins = ['bridge', 'host-local', 'loopback'];
const name = 'kubelet';
const modules: readonly GoModule[] = [
  { directory: import.meta.dirname, packages: { kubelet: 'k8s.io/kubernetes/cmd/kubelet' } },
  { directory: import.meta.dirname, packages: { pause: './pause' }, isStatic: true },
];

export interface Programs {
  readonly kubelet: string;
  readonly pause: string;
  readonly containerd: string;
  readonly ctr: string;
  /** A folder. */
  readonly networkPlugins: string;
}

/** A text for the titles of tests that can't run. Undefined: the machine can be a node, and every program exists. */
export function withoutNode(): string | undefined {
  return withoutHost() ?? notBuilt(name, modules);
}

/** Why this machine can't be a node, whatever is built. Undefined: it can. */
export function withoutHost(): string | undefined {
  if (process.platform !== 'linux') return 'a node of a cluster is Linux';
  if (withoutHosts) return withoutHosts;
  const lacking = ['containerd', 'ctr', 'runc'].find((program) => !find(program));
  if (lacking) return `there is no ${lacking} on this machine: .ci/run installs it`;
  if (!networkFolder()) return `there are no network plugins in ${networkFolders.join(' or ')}: .ci/run installs them`;
  return withoutControlGroups();
}

/** Builds the missing programs. */
export async function nodePrograms(): Promise<Programs> {
  const problem = withoutHost();
  if (problem) throw new Error(problem);
  const built = await builtOnce(name, modules);
  return {
    kubelet: join(built, 'kubelet'),
    pause: join(built, 'pause'),
    containerd: find('containerd')!,
    ctr: find('ctr')!,
    networkPlugins: networkFolder()!,
  };
}

function find(program: string): string | undefined {
  return folders.map((folder) => join(folder, program)).find((file) => existsSync(file));
}

function networkFolder(): string | undefined {
  return networkFolders.find((folder) => networkPlugins.every((plugin) => existsSync(join(folder, plugin))));
}

/**
 * Why the machine has no usable control groups. Either version of cgroups works, if groups can be created: a container of many CI systems may only read them.
 */
function withoutControlGroups(): string | undefined {
  const controller = ['/sys/fs/cgroup/memory', '/sys/fs/cgroup'].find((folder) =>
    existsSync(join(folder, 'cgroup.procs')),
  );
  try {
    accessSync(controller ?? '', constants.W_OK);
    const mounted = spawnSync('findmnt', ['-no', 'OPTIONS', '-T', controller!], { encoding: 'utf8' }).stdout;
    return /(^|,)ro(,|$)/.test(mounted) ? `${impossible}: ${controller} is mounted read-only` : undefined;
  } catch {
    return `${impossible}: control groups can not be made`;
  }
}
