/** The programs of a real node of a cluster, and the reasons why a machine can't be one. */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { builtOnce, type GoModule, notBuilt } from '../go-programs.ts';
import { withoutHosts } from '../hosts.ts';
import { impossible } from '../impossible.ts';

/** Debian keeps some of them in folders of root's path only. */
const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/sbin'];
/** From the package containernetworking-plugins; the second folder is used elsewhere. */
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

/** For the titles of tests that cannot run. Undefined: the machine can be a node, and every program is there. */
export function withoutNode(): string | undefined {
  return withoutHost() ?? notBuilt(name, modules);
}

/** The reason why this machine cannot be a node, whatever is built. */
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

/** Either version of cgroups, if groups can be created: a container of many CI systems may only read them. */
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
