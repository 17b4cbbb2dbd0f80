/**
 * The programs of a real control plane. If the folder KUBEBUILDER_ASSETS (the convention of envtest) has a program, that program is used. The missing
 * programs are built once, from the Go modules beside this file. kwok has its own module, because it needs another minor version of the libraries.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { builtOnce, type GoModule, notBuilt } from '../go-programs.ts';

type Program = 'etcd' | 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'kubectl' | 'kwok';
/** The path of each program. */
export type Binaries = Readonly<Record<Program, string>>;

const all: readonly GoModule[] = [
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
const programs = all.flatMap(({ packages }) => Object.keys(packages) as Program[]);

/** A text for the titles of tests that can't run. Undefined: every program exists. */
export function withoutControlPlane(): string | undefined {
  const { name, modules } = lacking();
  return modules.length === 0 ? undefined : notBuilt(name, modules);
}

/** Builds the missing programs. */
export async function controlPlaneBinaries(): Promise<Binaries> {
  const { name, modules } = lacking();
  const built = modules.length === 0 ? '' : await builtOnce(name, modules);
  const directoryOf = (program: Program) => given(program) ?? built;
  return Object.fromEntries(programs.map((program) => [program, join(directoryOf(program), program)])) as Binaries;
}

/**
 * The programs that have to be built: envtest itself has only etcd, kube-apiserver and kubectl. The folder is named after these programs, so that builds of
 * other sets of programs stay beside it.
 */
function lacking(): { readonly name: string; readonly modules: readonly GoModule[] } {
  const isLacking = ([program]: [string, string]) => given(program) === undefined;
  const modules = all
    .map((one) => ({ ...one, packages: Object.fromEntries(Object.entries(one.packages).filter(isLacking)) }))
    .filter(({ packages }) => Object.keys(packages).length > 0);
  const names = modules.flatMap(({ packages }) => Object.keys(packages));
  return { name: ['control-plane', ...(names.length < programs.length ? names : [])].join('-'), modules };
}

/** The folder of a program that need not be built. Undefined: it has to be built. */
function given(program: string): string | undefined {
  const { KUBEBUILDER_ASSETS: directory } = process.env;
  return directory && existsSync(join(directory, program)) ? directory : undefined;
}
