/** Runs programs of Go clients against an API server (client-programs/): client-go, controller-runtime, Flux and Argo CD. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { builtOnce, directoryOf, type GoModule, notBuilt } from './go-programs.ts';

const name = 'client-programs';
const sources = ['main', 'typed', 'dynamic', 'informer', 'leader', 'operator', 'sync'].map((file) => `${file}.go`);
const modules: readonly GoModule[] = [
  {
    directory: join(import.meta.dirname, name),
    packages: { [name]: '.' },
    sources: [...sources, 'synced.yaml'],
  },
];

export const clientPrograms = ['typed', 'dynamic', 'informer', 'leader', 'operator', 'flux', 'argo'] as const;

/** Longer than a program may take by its own limit. */
const programMsMax = 5 * 60_000;

/** A text for the titles of tests that can't run. */
export const withoutClientPrograms = notBuilt(name, modules);

/** Builds the programs if they are missing. */
export async function buildClientPrograms(): Promise<void> {
  await builtOnce(name, modules);
}

/** Returns the checks that the program has passed, one a line. Throws with the program's message if a check fails. */
export function runClientProgram(
  program: (typeof clientPrograms)[number],
  kubeconfig: string,
  namespace: string,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const args = [kubeconfig, namespace, program];
    execFile(join(directoryOf(name, modules), name), args, { timeout: programMsMax }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${program} at ${kubeconfig}: ${stdout}${stderr}`));
      else resolve(stdout);
    });
  });
}
