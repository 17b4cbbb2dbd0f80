/**
 * The programs of a real control plane: where KUBEBUILDER_ASSETS says (the convention of envtest), or built once from the Go modules beside this
 * file. kwok has a module of its own: it wants another minor version of the libraries.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { builtOnce, type GoModule, withoutGo } from '../go-programs.ts';

type Program = 'etcd' | 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'kubectl' | 'kwok';
/** The path of each. */
export type Binaries = Readonly<Record<Program, string>>;

const name = 'control-plane';
const modules: readonly GoModule[] = [
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

/** For the titles of what can't run: a test says why. Undefined: it can run, perhaps after a build. */
export function withoutControlPlane(): string | undefined {
  const given = process.env.KUBEBUILDER_ASSETS;
  if (!given) return withoutGo(name, modules);
  const lacking = programs.filter((program) => !existsSync(join(given, program)));
  return lacking.length > 0 ? `KUBEBUILDER_ASSETS=${given} lacks ${lacking.join(', ')}` : undefined;
}

export async function controlPlaneBinaries(): Promise<Binaries> {
  const problem = withoutControlPlane();
  if (problem) throw new Error(problem);
  const directory = process.env.KUBEBUILDER_ASSETS || (await builtOnce(name, modules));
  return Object.fromEntries(programs.map((program) => [program, join(directory, program)])) as Binaries;
}
