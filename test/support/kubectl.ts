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

/** The minor versions, from the oldest that spaces support, with the version that each program reports. 1.34 is the version of the control plane. */
const olderVersions = { 27: 'v1.27.16', 29: 'v1.29.15', 31: 'v1.31.14', 32: 'v1.32.8' } as const;
export type OlderKubectl = keyof typeof olderVersions;

function modulesOf(minor: OlderKubectl): readonly GoModule[] {
  return [
    {
      directory: join(import.meta.dirname, name),
      modfile: `${minor}.mod`,
      packages: { kubectl: '.' },
      variables: { 'k8s.io/component-base/version.gitVersion': olderVersions[minor] },
    },
  ];
}

/** A text for the titles of tests that can't run: they need a kubectl of this version. */
export function withoutOlderKubectl(minor: OlderKubectl): string | undefined {
  return notBuilt(`kubectl${minor}`, modulesOf(minor));
}

export function olderKubectlProgram(minor: OlderKubectl): string {
  return join(directoryOf(`kubectl${minor}`, modulesOf(minor)), 'kubectl');
}

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

export async function buildOlderKubectls(): Promise<void> {
  for (const minor of [27, 29, 31, 32] as const) await builtOnce(`kubectl${minor}`, modulesOf(minor));
}
