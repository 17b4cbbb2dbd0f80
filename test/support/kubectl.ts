/** Stock kubectl: the machine's own, or built from its Go module. */
import { dirname, join } from 'node:path';
import { builtOnce, foundOrBuilt, type GoModule, notBuilt } from './go-programs.ts';

const name = 'kubectl';
const modules: readonly GoModule[] = [
  {
    directory: join(import.meta.dirname, 'kubectl'),
    packages: { [name]: '.' },
    variables: { 'k8s.io/component-base/version.gitVersion': 'v1.34.1' },
  },
];
const found = foundOrBuilt(name, modules);

/** For the titles of tests that cannot run. */
export const withoutKubectl = found ? undefined : notBuilt(name, modules);

/** For child processes; a test that runs it without a check of `withoutKubectl` fails with the name alone. */
export const kubectlProgram = found ?? name;

/** For shells: commands that people type find kubectl, even if it was built here. */
export const withKubectlOnPath: NodeJS.ProcessEnv = {
  ...process.env,
  PATH: found ? `${dirname(found)}:${process.env.PATH ?? ''}` : process.env.PATH,
};

/** Builds kubectl if the machine has none. */
export async function buildKubectl(): Promise<void> {
  if (!found) await builtOnce(name, modules);
}
