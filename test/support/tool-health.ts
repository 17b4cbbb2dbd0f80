/** Asks the own code of kubectl, helm 3, Argo CD and Flux about objects (tool-health/main.go). */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { KubeObject } from '../../core/object/meta.ts';
import { builtOnce, type GoModule, notBuilt } from './go-programs.ts';

const name = 'tool-health';
const modules: readonly GoModule[] = [
  { directory: join(import.meta.dirname, name), packages: { [name]: '.' }, sources: ['main.go'] },
];

/** `helm3jobs`: helm 3 with `--wait-for-jobs`. */
export const tools = ['kubectl', 'helm3', 'helm3jobs', 'argo', 'flux', 'kstatus'] as const;
export type Tool = (typeof tools)[number];

export interface Verdict {
  /** `none`: the tool has no rule for the kind. */
  readonly verdict: 'ready' | 'failed' | 'waiting' | 'none';
  readonly message?: string;
}

/** A text for the titles of tests that can't run. */
export const withoutToolHealth = notBuilt(name, modules);

/** Builds the program if it is missing. */
export async function toolHealthProgram(): Promise<string> {
  return join(await builtOnce(name, modules), name);
}

/** Returns what each tool says about the first object of each group. The other objects of the group are in the cluster that the tools see. */
export async function verdictsOf(groups: readonly (readonly KubeObject[])[]): Promise<Record<Tool, Verdict>[]> {
  const program = await toolHealthProgram();
  const input = groups.map((group) => `${JSON.stringify(group)}\n`).join('');
  const { status, stdout, stderr } = spawnSync(program, { input, encoding: 'utf8', maxBuffer: 1 << 28 });
  if (status !== 0) throw new Error(`${name} ended with ${status}: ${stderr}`);
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Record<Tool, Verdict>);
}
