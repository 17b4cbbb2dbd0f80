/** Runs the commands of test/fixtures/sessions (kubectl, helm) against an API server, and compares the answers of two servers. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { AcceptedCommand } from './accepted-answers.ts';
import type { ControlPlaneOptions } from './control-plane/control-plane.ts';

export interface Answered {
  readonly command: string;
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const folder = join(import.meta.dirname, '../fixtures/sessions');
/** Some commands wait for a condition. */
const commandMsMax = 60_000;
/** The longest answers are the fields of a kind with their descriptions. */
const outputBytesMax = 1 << 24;

/**
 * A real control plane with the controllers that a workload space has too. The others work on workloads, which no space runs: with them, most answers would
 * differ for this one reason.
 */
export const likeSpaces: Pick<ControlPlaneOptions, 'components' | 'controllers'> = {
  components: ['etcd', 'kube-apiserver', 'kube-controller-manager'],
  controllers: [
    'namespace-controller',
    'garbage-collector-controller',
    'serviceaccount-controller',
    'root-ca-certificate-publisher-controller',
    'persistentvolume-protection-controller',
    'persistentvolumeclaim-protection-controller',
  ],
};

export function commandsOf(session: string): string[] {
  const lines = readFileSync(join(folder, `${session}.txt`), 'utf8').split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('#'));
}

/**
 * Runs the commands one after the other, as the current user of the kubeconfig. A session is a file of commands, and has a namespace of the same name.
 * `programs`: the programs that the commands use, by the names that the commands have for them.
 */
export async function runSession(
  session: string,
  programs: Readonly<Record<string, string>>,
  kubeconfig: string,
): Promise<Answered[]> {
  // Discovery that another version of kubectl or another server has left would change the answers.
  const home = mkdtempSync(join(tmpdir(), 'banyan-session-'));
  for (const [name, program] of Object.entries(programs)) {
    const text = `#!/bin/sh\nexec "${program}" --kubeconfig "${kubeconfig}" -n ${session} "$@"\n`;
    writeFileSync(join(home, name), text, { mode: 0o755 });
  }
  const env = { PATH: `${home}:${process.env.PATH}`, HOME: home };
  const run = (command: string): Promise<Answered> =>
    new Promise((resolve) => {
      const options = { cwd: folder, env, timeout: commandMsMax, maxBuffer: outputBytesMax };
      const child = execFile('sh', ['-c', command], options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
        resolve({ command, code, out: masked(stdout), err: masked(stderr) });
      });
      child.stdin?.end();
    });
  try {
    const answers: Answered[] = [];
    for (const command of commandsOf(session)) answers.push(await run(command));
    return answers;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** What is different at every server and in every run. */
const masks: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UID'],
  [/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| \+0000( UTC)?)/g, 'TIME'],
  [/[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}/g, 'TIME'],
  [/[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d \+0000/g, 'TIME'],
  // The program of a client logs its features in any order.
  [/^I\d{4} .* envvar\.go:\d+\].*\n/gm, ''],
  // helm 4 cancels its own watches at the end, and sometimes logs this as an error of the server.
  [/^.* reflector\.go.*context canceled.*\n/gm, ''],
  [/^[IWE]\d{4} [\d:.]+ +\d+ /gm, 'LOG '],
  [/(resource ?version"?:?\s*"?)\d+/gi, '$1REVISION'],
  [/((?:created|modified)At(?:=|"?: ?"?))\d+/g, '$1TIME'],
  [/(resource version to be 1, was )\d+/g, '$1REVISION'],
  [/"continue":"[^"]+"/g, '"continue":"TOKEN"'],
  [/https:\/\/127\.0\.0\.1:\d+(\/spaces\/[a-z0-9-]+)?/g, 'SERVER'],
  [/\b\d{1,3}(\.\d{1,3}){3}\b/g, 'ADDRESS'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'TOKEN'],
  [/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----(\\n)?/g, 'CERTIFICATE'],
  [/(?<=\s)\d+(s|m\d*s?)$/gm, 'AGE'],
  [/(?<=\s)\d+(s|m\d+s)(?=\s)/gm, 'AGE'],
  [/\/tmp\/(LIVE|MERGED|kubectl-edit)-\d+/g, '$1'],
  [/\b(kube-api-access|debugger)-[a-z0-9]{5}\b/g, '$1'],
  // The width of a column depends on the masked texts.
  [/(?<=\S) {2,}/g, '  '],
  [/ +(?=\t)/g, ''],
];

function masked(text: string): string {
  const lines = text.startsWith('{') ? inOneOrder(text) : text;
  return withOrderedManagers(masks.reduce((all, [pattern, name]) => all.replaceAll(pattern, name), lines));
}

/** YAML with the managed fields ordered by their text. Their own order depends on the second in which each write came. */
function withOrderedManagers(text: string): string {
  return text.replaceAll(/(?<=^ {2}managedFields:\n)( {2}- .*\n( {4}.*\n)*)+/gm, (list) =>
    list
      .split(/^(?= {2}- )/m)
      .sort()
      .join(''),
  );
}

/** JSON with the fields ordered by name: one document, or one a line. The order of fields means nothing to clients. */
function inOneOrder(text: string): string {
  const ordered = (_: string, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  const again = (one: string) => JSON.stringify(JSON.parse(one), ordered);
  try {
    return again(text);
  } catch {
    try {
      return text.trim().split('\n').map(again).join('\n');
    } catch {
      return text;
    }
  }
}

/** The answers that differ, except for accepted differences. Adds to `needed` which accepted differences there were. */
export function differences(
  ours: readonly Answered[],
  theirs: readonly Answered[],
  acceptedCommands: readonly AcceptedCommand[],
  needed: Set<string>,
): { ours: Answered; theirs: Answered }[] {
  return ours.flatMap((one, at) => {
    const other = theirs[at]!;
    const found = acceptedCommands.filter(({ commands }) => commands.includes(one.command));
    const isSame = (accepted: readonly AcceptedCommand[]) =>
      isDeepStrictEqual(comparable(one, accepted), comparable(other, accepted));
    for (const entry of found) {
      if (!isSame(found.filter((another) => another !== entry))) needed.add(named(entry, one.command));
    }
    return isSame(found) ? [] : [{ ours: one, theirs: other }];
  });
}

/** The accepted differences of commands that no answer has needed. `needed` is from `differences`. */
export function unneeded(acceptedCommands: readonly AcceptedCommand[], needed: ReadonlySet<string>): string[] {
  const all = acceptedCommands.flatMap((entry) => entry.commands.map((command) => named(entry, command)));
  return all.filter((one) => !needed.has(one));
}

function named({ reason }: AcceptedCommand, command: string): string {
  return `${command} (${reason})`;
}

function comparable({ code, out, err }: Answered, accepted: readonly AcceptedCommand[]): object {
  if (accepted.some(({ otherAnswer }) => otherAnswer)) return {};
  const strip = (text: string) =>
    accepted.flatMap(({ without = [] }) => without).reduce((all, pattern) => all.replaceAll(pattern, ''), text);
  const isOtherWords = accepted.some(({ without }) => without === undefined);
  return { code, out: strip(out), ...(isOtherWords ? {} : { err: strip(err) }) };
}
