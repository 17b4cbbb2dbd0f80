/** The tree that a command asks: chosen by its options and the environment, as kubectl chooses a cluster. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { type Kubeconfig, readKubeconfig } from '../../core/kubeconfig/kubeconfig.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { DataDirectory } from '../supervisor/data-directory.ts';
import { NodeApiClient } from './api-client.ts';
import { didYouMean } from './arguments.ts';
import { dataOf } from './data-of.ts';
import { isNodeContext } from './node-contexts.ts';
import type { TreeKubeconfig } from './tree-routes.ts';

export interface TreeOptions {
  readonly data?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** A client for the tree. If the kubeconfig has no context of a node, the client reaches the tree through the context in use. */
export async function openTree(options: TreeOptions): Promise<NodeApiClient> {
  const tree = treeKubeconfig(options);
  const api = new NodeApiClient(tree);
  const isNamed = isOfTree(tree.current) || options.context === undefined;
  if (!(isNamed && tree.config.contexts.some(({ name }) => isNodeContext(name)))) await api.enter();
  return api;
}

/** Throws NotFound and BadRequest, with the remedy. */
export function treeKubeconfig(options: TreeOptions): TreeKubeconfig {
  const files = kubeconfigFiles(options);
  const present = files.filter((file) => existsSync(file));
  const file = files.join(delimiter);
  if (present.length === 0) {
    const start = `start a tree with: ${cliCommand('up', '-f', 'TOPOLOGY')}`;
    throw new BanyanError(
      'NotFound',
      `no kubeconfig at ${file}: ${start}; or name its directory with --data, or a kubeconfig with --kubeconfig`,
    );
  }
  const config = present.map(readKubeconfig).reduce(merged);
  const current = options.context ?? config['current-context'];
  const names = config.contexts.map(({ name }) => name);
  if (names.includes(current)) return { config, file, current };
  const field = options.context === undefined ? 'current-context' : '--context';
  const remedy = didYouMean(current, names, `choose one with --context: ${names.slice(0, namesMax).join(', ')}`);
  if (options.context === undefined && names.some(isOfTree)) return { config, file, current };
  throw new BanyanError('NotFound', `${file}: ${field}: there is no context "${current}": ${remedy}`);
}

/** Contexts in a message. */
const namesMax = 10;

/** Options have precedence over the environment of the terminal; then comes a tree of the present folder, and then kubectl's own file. */
export function kubeconfigFiles({ data, kubeconfig }: TreeOptions): string[] {
  if (kubeconfig !== undefined) return [kubeconfig];
  if (data !== undefined) return [dataOf({ data }).kubeconfig];
  const named = (process.env.KUBECONFIG ?? '').split(delimiter).filter((file) => file !== '');
  if (named.length > 0) return named;
  const local = dataOf({}).kubeconfig;
  const own = join(homedir(), '.kube', 'config');
  return [existsSync(local) || !existsSync(own) ? local : own];
}

/** The data directory of the tree, if the tree runs on this machine: `--data`, or else the folder of the kubeconfig. */
export function directoryOf(options: TreeOptions): DataDirectory {
  return options.data === undefined ? new DataDirectory(dirname(kubeconfigFiles(options)[0]!)) : dataOf(options);
}

/**
 * The data directory of the tree that is asked. Undefined: the tree is asked by another kubeconfig than that of the directory, so it may be another tree with
 * nodes of the same paths.
 */
export function ownDirectoryOf(options: TreeOptions): DataDirectory | undefined {
  const directory = directoryOf(options);
  return resolve(kubeconfigFiles(options)[0]!) === resolve(directory.kubeconfig) ? directory : undefined;
}

/** As kubectl merges several files: of two entries with one name, the first counts. */
function merged(first: Kubeconfig, second: Kubeconfig): Kubeconfig {
  const both = <T extends { readonly name: string }>(some: readonly T[], more: readonly T[]): T[] => [
    ...some,
    ...more.filter(({ name }) => !some.some((one) => one.name === name)),
  ];
  return {
    'current-context': first['current-context'] || second['current-context'],
    contexts: both(first.contexts, second.contexts),
    clusters: both(first.clusters, second.clusters),
    users: both(first.users, second.users),
  };
}

/** Whether the name has the form of a context of a tree. */
export function isOfTree(context: string): boolean {
  return /^(node|space|fleet|cluster|mailbox|reported)\/./.test(context);
}
