/** Stock kubectl: the machine's own, or a build from its Go module. */
import { dirname, join } from 'node:path';
import { builtOnce, directoryOf, foundOrBuilt, type GoModule, notBuilt } from './go-programs.ts';

const name = 'kubectl';
const modules: readonly GoModule[] = [
  {
    directory: join(import.meta.dirname, 'kubectl'),
    packages: { [name]: '.' },
    variables: { 'k8s.io/component-base/version.gitVersion': 'v1.34.1' },
  },
];
const found = foundOrBuilt(name, modules);
const oldName = 'kubectl27';
const oldModules: readonly GoModule[] = [
  {
    directory: join(import.meta.dirname, oldName),
    packages: { kubectl: '.' },
    variables: { 'k8s.io/component-base/version.gitVersion': 'v1.27.16' },
  },
];

/** A text for the titles of tests that can't run: they need the oldest kubectl that spaces support. */
export const withoutKubectl27 = notBuilt(oldName, oldModules);
export const kubectl27Program = join(directoryOf(oldName, oldModules), 'kubectl');

/** A text for the titles of tests that can't run. */
export const withoutKubectl = found ? undefined : notBuilt(name, modules);

/** The program for child processes. A test that uses it without a check of `withoutKubectl` fails with the plain name. */
export const kubectlProgram = found ?? name;

/** The environment for shells. Commands that people type find kubectl, even if it was built by the tests. */
export const withKubectlOnPath: NodeJS.ProcessEnv = {
  ...process.env,
  PATH: found ? `${dirname(found)}:${process.env.PATH ?? ''}` : process.env.PATH,
};

/** Builds kubectl if the machine has no kubectl. */
export async function buildKubectl(): Promise<void> {
  if (!found) await builtOnce(name, modules);
}

export async function buildKubectl27(): Promise<void> {
  await builtOnce(oldName, oldModules);
}
