/** The end-to-end suite of Kubernetes: a program of its packages whose conformance tests run no pod, from its Go module. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { builtOnce, directoryOf, type GoModule, notBuilt } from './go-programs.ts';
import { kubectlProgram } from './kubectl.ts';

const name = 'conformance';
const directory = join(import.meta.dirname, name);
const modules: readonly GoModule[] = [{ directory, packages: { [name]: '.' }, sources: ['main.go'] }];

/** A text for the titles of tests that can't run. */
export const withoutConformance = notBuilt(name, modules);

export async function buildConformance(): Promise<void> {
  await builtOnce(name, modules);
}

/** The full names of the conformance tests that run no pod. A real API server passes them all, with its controllers of Namespaces and garbage. */
export const withoutPods: readonly string[] = readFileSync(
  join(import.meta.dirname, '../fixtures/conformance/without-pods.txt'),
  'utf8',
)
  .split('\n')
  .filter((line) => line !== '');

export interface ConformanceRun {
  readonly passed: readonly string[];
  /** The message of each failed test, keyed by the name of the test. */
  readonly failed: ReadonlyMap<string, string>;
}

/** The parts of Ginkgo's JSON report that this code reads: https://pkg.go.dev/github.com/onsi/ginkgo/v2/types#Report */
interface Report {
  readonly SpecReports: readonly {
    readonly ContainerHierarchyTexts: readonly string[] | null;
    readonly LeafNodeText: string;
    readonly LeafNodeType: string;
    readonly State: string;
    readonly Failure?: { readonly Message: string };
  }[];
}

/** Runs the tests against the current context of the kubeconfig, without any flag that changes what they check. `report`: the file of the report. */
export async function runConformance(
  kubeconfig: string,
  tests: readonly string[],
  report: string,
): Promise<ConformanceRun> {
  const focus = `(${tests.map((test) => test.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')})$`;
  const program = join(directoryOf(name, modules), name);
  const flags = [
    '--ginkgo.focus',
    focus,
    '--ginkgo.no-color',
    '--ginkgo.json-report',
    report,
    '--kubectl-path',
    kubectlProgram,
  ];
  const child = spawn(program, flags, {
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => (output = `${output}${data}`.slice(-outputCharactersMax)));
  await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
  return readReport(report, output);
}

/** The end of the output says why the suite has not begun. */
const outputCharactersMax = 4_000;

function readReport(file: string, output: string): ConformanceRun {
  const reports = (JSON.parse(readFileSync(file, 'utf8')) as Report[]).flatMap(({ SpecReports }) => SpecReports);
  const run = reports.filter(({ State }) => State !== 'skipped' && State !== 'pending');
  const failed = new Map<string, string>();
  const passed: string[] = [];
  for (const { ContainerHierarchyTexts, LeafNodeText, LeafNodeType, State, Failure } of run) {
    const title = LeafNodeText === '' ? LeafNodeType : [...(ContainerHierarchyTexts ?? []), LeafNodeText].join(' ');
    if (State !== 'passed') failed.set(title, Failure?.Message ?? State);
    else if (LeafNodeType === 'It') passed.push(title);
  }
  if (passed.length + failed.size === 0) failed.set('the suite', output);
  return { passed, failed };
}
