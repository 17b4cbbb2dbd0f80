/** The parts that all commands share: their output, and the tree that a command asks. */
import { type Command, Option } from 'commander';
import type { NodeApiClient } from './api-client.ts';
import { checkOrigin, spaceContext } from './arguments.ts';
import { openTree, type TreeOptions } from './open-tree.ts';
import type { Screen } from './screen.ts';

export interface CommandRun {
  readonly screen: Screen;
  print(line: string): void;
  /** For the standard error: standard output has only the result. */
  warn(line: string): void;
  /** Ends the program with this exit code after the command. Without a call, the exit code is 0. */
  exitWith(code: number): void;
}

/** The options of a command that asks a tree. */
export function asksTree(command: Command, data = 'data directory of the tree', kubeconfig = 'kubeconfig of the tree') {
  return command
    .option('--data <dir>', data)
    .option('--kubeconfig <file>', kubeconfig)
    .option('--context <context-name>', 'context of the kubeconfig (default: its current context)');
}

/** Runs a command with a client for its tree. */
export async function withTree<T>(options: TreeOptions, use: (api: NodeApiClient) => Promise<T>): Promise<T> {
  const api = await openTree(options);
  try {
    return await use(api);
  } finally {
    api.close();
  }
}

export function spaceOption(description: string): Option {
  return new Option('--space <context>', `${description} (default: the context in use)`).argParser((context) =>
    spaceContext(context),
  );
}

/** The space that the option names, or else the current context. */
export function spaceOf(api: NodeApiClient, { space }: { readonly space?: string }): string {
  return space ?? spaceContext(api.currentContext(), 'the context in use');
}

/** A space at the node that has it: only this node knows what was promoted, and only there can a person write. */
export function originSpace(api: NodeApiClient, options: { readonly space?: string }): string {
  const space = spaceOf(api, options);
  checkOrigin(space);
  return space;
}
