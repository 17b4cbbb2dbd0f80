/** Every command with bad input: the exit code of the table, a message with field, value and remedy, and nothing printed as a result. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, describe, expect, it } from 'vitest';
import { codeOfError, exitCode, exitCodeMeanings } from '../../../../center/cli/exit-codes.ts';
import { commandTable, makeProgram } from '../../../../center/cli/program.ts';
import { cliCommand } from '../../../../core/runtime/cli-command.ts';
import { BanyanError, describeError } from '../../../../core/runtime/errors.ts';

const empty = mkdtempSync(join(tmpdir(), 'banyan-exit-codes-'));
// `up` lets the process make only private files. Other tests may run in this process later.
const umask = process.umask();
afterAll(() => {
  process.umask(umask);
  rmSync(empty, { recursive: true, force: true });
});
const nowhere = join(empty, 'nowhere');

/** Runs a command in this process. */
async function run(...args: string[]): Promise<{ code: number; message: string; printed: string }> {
  let [code, printed, message]: [number, string, string] = [exitCode.done, '', ''];
  const print = (text: string) => {
    printed += text;
  };
  const screen = { isTerminal: false, hasColours: false, write: print };
  const exitWith = (chosen: number) => {
    code = chosen;
  };
  const program = makeProgram({ screen, print, warn: () => {}, exitWith });
  silence(program, (text) => {
    message += text;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    code = codeOfError(error);
    message += describeError(error);
  }
  return { code, message, printed };
}

function silence(command: Command, write: (text: string) => void): void {
  command.configureOutput({ writeErr: write, writeOut: write });
  for (const one of command.commands) silence(one, write);
}

function leavesOf(command: Command, words: string[] = []): string[] {
  return command.commands.length === 0
    ? [words.join(' ')]
    : command.commands.flatMap((one) => leavesOf(one, [...words, one.name()]));
}

/** Bad input for each command, and what the message says. */
const bad: Readonly<Record<string, readonly (readonly [args: string, message: RegExp])[]>> = {
  up: [
    [`-f ${nowhere}`, /nowhere/],
    ['', /required option '-f, --file <topology>'/],
    ['-f x --timeout 0', /--timeout: "0" is not a number of seconds above 0/],
  ],
  down: [['more', /too many arguments/]],
  'topology validate': [[`-f ${nowhere}`, /nowhere/]],
  'topology render': [
    [`-o ${nowhere}`, /required option '-f, --file <topology>'/],
    ['-f x', /required option '-o, --output <folder>'/],
    [`-f ${nowhere} -o ${nowhere}`, /nowhere/],
  ],
  'topology diff': [
    ['', /required option '-f, --file <topology>'/],
    ['-f x -o text', /Allowed choices/],
  ],
  'topology apply': [
    ['', /required option '-f, --file <topology>'/],
    [`-f ${nowhere} --timeout 0`, /--timeout: "0" is not a number of seconds above 0/],
  ],
  cordon: [['', /missing required argument 'path'/]],
  uncordon: [['', /missing required argument 'path'/]],
  drain: [['eu --timeout 0', /--timeout: "0" is not a number of seconds above 0/]],
  remove: [['', /missing required argument 'path'/]],
  init: [
    ['center', /required option '--dir <dir>'/],
    [`nothing --dir ${nowhere}`, /Allowed choices are center, relay, agent/],
    [`relay --dir ${nowhere}`, /--join/],
    [`center --dir ${nowhere} --name UP`, /--name: "UP" is neither an IP address nor a DNS name/],
  ],
  center: [['', /required option '--config <file>'/]],
  relay: [['', /required option '--config <file>'/]],
  agent: [['', /required option '--config <file>'/]],
  demo: [['--timeout soon', /--timeout: "soon"/]],
  tree: [
    ['a::b', /"a::b" is no path of a node, such as eu:paris or center: name 2 of 3 is empty/],
    ['-o xml', /argument 'xml' is invalid. Allowed choices are json, yaml, wide, name/],
  ],
  status: [
    ['deploy/x', /"deploy\/x" is not of the form epl\/NAME; write epl\/x/],
    ['--space node/center', /--space: "node\/center" is no context of a space/],
  ],
  why: [
    ['deployment --at hq', /not of the form KIND\/NAME/],
    ['deployment/x', /required option '--at <path>'/],
  ],
  version: [['-o text', /Allowed choices/]],
  kubeconfig: [
    ['--server http://x', /--server: "http:\/\/x" is no URL of a node; write https:\/\/HOST:PORT/],
    ['--at a::b', /"a::b" is no path/],
  ],
  ping: [['eu~1', /"eu~1" is one replica of eu/]],
  plan: [['', /name what to plan: a file with -f, or a cluster with --at/]],
  history: [['x/y/z', /not of the form epl\/NAME/]],
  undo: [['epl/x --to 0', /--to: "0" is no number of a revision/]],
  'approve-deletions': [['a:', /"a:" is no path of a node/]],
  enroll: [['eu:a --secret A_B', /--secret: "A_B"/]],
  'join-token': [
    ['eu:a --ttl 5', /--ttl: "5": the unit is missing; write 5m, 5h or 5d/],
    ['eu:a --label x', /--label: "x" is not of the form key=value/],
  ],
  revoke: [['center', /the name is the root's/]],
  'user add': [['system:x', /names with system: belong to Kubernetes itself/]],
  'user revoke': [['alice --at a::b', /"a::b" is no path/]],
  'authority show': [['-o text', /Allowed choices are json, yaml/]],
  'authority add': [['more', /too many arguments/]],
  'authority use': [['more', /too many arguments/]],
  'authority sign': [['', /missing required argument 'files'/]],
  'authority drop': [['', /missing required argument 'id'/]],
  rekey: [['--timeout 0', /--timeout: "0"/]],
  completion: [
    ['csh', /Allowed choices are bash, zsh, fish/],
    ['', /missing required argument 'shell'/],
  ],
};

/** The commands that ask a tree, with good arguments. */
const asking = [
  'tree',
  'status',
  'why deployment/x --at hq',
  'version',
  'kubeconfig',
  'ping hq',
  'plan --at hq',
  'history epl/x',
  'undo epl/x',
  'approve-deletions hq',
  'enroll eu:a',
  'join-token eu:a',
  'revoke eu:a',
  'user add alice',
  'user revoke alice',
  'authority show',
  'authority add',
  'authority use',
  'authority drop 0',
];

describe('bad input', () => {
  it('is tried with every command', () => {
    expect(Object.keys(bad).sort()).toEqual(
      leavesOf(commandTable())
        .filter((name) => name !== 'complete')
        .sort(),
    );
  });

  it.each(
    Object.entries(bad).flatMap(([name, cases]) => cases.map(([args, message]) => [name, args, message] as const)),
  )('%s %s ends with 2', async (name, args, message) => {
    const ran = await run(...name.split(' '), ...args.split(' ').filter((word) => word !== ''));
    expect(ran).toEqual({ code: exitCode.usage, message: expect.stringMatching(message), printed: '' });
    expect(readdirSync(empty)).toEqual([]);
  });

  it.each(Object.keys(bad))('%s with an unknown option ends with 2, and points to its help', async (name) => {
    const { code, message } = await run(...name.split(' '), '--nonsense');
    expect(code).toBe(exitCode.usage);
    expect(message).toContain(`see: ${cliCommand(...name.split(' '), '--help')}`);
  });

  it.each(asking)('%s without a tree ends with 1, and names the file and what to do', async (line) => {
    const { code, message, printed } = await run(...line.split(' '), '--kubeconfig', nowhere);
    expect(code).toBe(exitCode.failed);
    expect(message + printed).toMatch(/no kubeconfig at .*nowhere: start a tree with/);
  });

  it.each(['nonsense', 'user nonsense', 'topology'])('%s is no command, and ends with 2', async (line) => {
    expect((await run(...line.split(' '))).code).toBe(exitCode.usage);
  });
});

it('every exit code has a meaning, and a time-out has its own', () => {
  expect(Object.keys(exitCodeMeanings)).toEqual(Object.keys(exitCode));
  expect(codeOfError(new BanyanError('Timeout', 't'))).toBe(exitCode.timeout);
  expect(codeOfError(new BanyanError('NotFound', 'n'))).toBe(exitCode.failed);
});

it.each(['--help', '--version', 'tree --help'])('%s ends with 0', async (line) => {
  expect((await run(...line.split(' '))).code).toBe(exitCode.done);
});
