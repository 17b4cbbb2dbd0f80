/** Runs the kubectl commands of test/fixtures/sessions against an API server, and compares the answers of two servers. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Answered {
  readonly command: string;
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface Accepted {
  /** The commands that have the difference: all that begin with one of these texts. */
  readonly commands: readonly string[];
  readonly reason: string;
  /** Texts that are removed from both answers. Absent: only the exit codes are compared. */
  readonly without?: readonly RegExp[];
}

const folder = join(import.meta.dirname, '../fixtures/sessions');
/** Some commands wait for a condition. */
const commandMsMax = 60_000;

export const sessionCommands: readonly string[] = readFileSync(join(folder, 'commands.txt'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));

/** Runs all commands in the namespace `session`, as the current user of the kubeconfig. */
export function runSession(kubectl: string, kubeconfig: string): Answered[] {
  // Discovery that another version of kubectl or another server has left would change the answers.
  const home = mkdtempSync(join(tmpdir(), 'banyan-session-'));
  const run = (command: string): Answered => {
    const args = command.replaceAll('{dir}', folder).split(' ');
    const { status, stdout, stderr } = spawnSync(kubectl, ['--kubeconfig', kubeconfig, '-n', 'session', ...args], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, HOME: home },
      timeout: commandMsMax,
    });
    return { command, code: status ?? -1, out: masked(stdout), err: masked(stderr) };
  };
  try {
    return sessionCommands.map(run);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** What is different at every server and in every run. */
const masks: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UID'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME'],
  [/"resourceVersion":"\d+"/g, 'RESOURCE-VERSION'],
  [/https:\/\/127\.0\.0\.1:\d+(\/spaces\/[a-z]+)?/g, 'SERVER'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'TOKEN'],
  [/(?<=\s)\d+(s|m\d*s?)$/gm, 'AGE'],
  [/\/tmp\/(LIVE|MERGED)-\d+/g, '$1'],
];

function masked(text: string): string {
  return masks.reduce((all, [pattern, name]) => all.replaceAll(pattern, name), text);
}

/** The answers that differ, except for accepted differences. */
export function differences(
  ours: readonly Answered[],
  theirs: readonly Answered[],
): { ours: Answered; theirs: Answered }[] {
  return ours.flatMap((one, at) => {
    const other = theirs[at]!;
    const [left, right] = [one, other].map((answered) => JSON.stringify(comparable(answered)));
    return left === right ? [] : [{ ours: one, theirs: other }];
  });
}

function comparable({ command, code, out, err }: Answered): object {
  const found = accepted.filter(({ commands }) => commands.some((text) => command.startsWith(text)));
  if (found.some(({ without }) => without === undefined)) return { code };
  const strip = (text: string) =>
    found.flatMap(({ without = [] }) => without).reduce((all, pattern) => all.replaceAll(pattern, ''), text);
  return { code, out: strip(out), err: strip(err) };
}

/** The accepted differences between a workload space and a real control plane. */
export const accepted: readonly Accepted[] = [
  {
    commands: ['api-versions'],
    reason:
      'a space has the kinds of the mesh, and no devices (dynamic resource allocation), which no workload in a space uses',
    without: [/edge\.banyan\.io\/v1alpha1\n/g, /resource\.k8s\.io\/v1\n/g],
  },
  {
    commands: ['api-resources --api-group= '],
    reason:
      'ComponentStatus has been deprecated since 1.19: its answers are about processes that a space does not have',
    without: [/componentstatuses .*\n/g, / +/g],
  },
  {
    commands: ['patch deployment web --type=json -p [{"op":"test"'],
    reason: 'the message also names the operation that failed',
    without: [/: testing value .* failed: test failed/g],
  },
  {
    commands: ['patch deployment web --type=merge -p {"spec":{"replicas":"many"}}'],
    reason: 'the message of Kubernetes repeats the whole object; here it names the value and the field',
  },
  {
    commands: ['patch pod walker -p {"spec":{"nodeName"'],
    reason: 'Kubernetes adds a difference of Go values',
    without: [/\n?@@[\s\S]*$/g, /\s+$/g],
  },
  {
    commands: ['create token'],
    reason: 'the ServiceAccounts of a workload space are cargo, and sign in at edge clusters only',
  },
  {
    commands: ['get events', 'get deployment web -o jsonpath={.metadata.managedFields'],
    reason: 'no controller works on the objects of a workload space',
  },
];
