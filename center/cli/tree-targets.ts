/** The clusters at and below a path, as the parents of their agents have them: for commands that cordon, drain and remove parts of a tree. */
import {
  childPath,
  comparePaths,
  isAtOrBelow,
  nameOf,
  parentOf,
  sharedPath,
  shownPath,
} from '../../core/identity/node-path.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import type { NodeApiClient } from './api-client.ts';
import { didYouMean } from './arguments.ts';
import { isNodeContext, nodeContexts, nodeIn } from './node-contexts.ts';
import { nodeObjects, syncTargets } from './object-paths.ts';
import { UsageError } from './usage-error.ts';

export type TreeApi = Pick<NodeApiClient, 'contexts' | 'get' | 'list' | 'write' | 'apply'>;

/** A SyncTarget at one replica of its agent's parent. */
export interface TreeTarget {
  readonly context: string;
  /** The path of the agent. */
  readonly path: string;
  readonly target: KubeObject;
}

export interface FoundTargets {
  readonly targets: readonly TreeTarget[];
  /** Contexts that did not answer, with the reason. */
  readonly silent: ReadonlyMap<string, string>;
}

/** Asks the parent of the path, and every relay at or below it that the kubeconfig has. */
export async function targetsAt(api: TreeApi, path: string): Promise<FoundTargets> {
  const contexts = api.contexts();
  const below = contexts.filter((context) => isNodeContext(context) && isAtOrBelow(sharedPath(nodeIn(context)), path));
  const above = path === '' ? [] : nodeContexts(contexts, parentOf(path));
  const silent = new Map<string, string>();
  const targets = await Promise.all(
    [...new Set([...above, ...below])].map(async (context): Promise<TreeTarget[]> => {
      const parent = sharedPath(nodeIn(context));
      try {
        const found = await api.list(context, syncTargets);
        return found
          .map((target) => ({
            context,
            target,
            path: childPath(parent, target.metadata.name!),
          }))
          .filter((one) => isAtOrBelow(one.path, path));
      } catch (error) {
        if (!(error instanceof BanyanError && error.code === 'Unavailable')) throw error;
        silent.set(context, describeError(error));
        return [];
      }
    }),
  );
  return { targets: targets.flat().sort((a, b) => comparePaths(a.path, b.path)), silent };
}

/** Throws UsageError for the center, and NotFound if no parent knows the path. */
export async function checkKnown(api: TreeApi, path: string, command: string): Promise<void> {
  if (path === '') throw new UsageError(`${command}: "center" is the root: name a node below it, such as eu:paris`);
  const contexts = nodeContexts(api.contexts(), parentOf(path));
  const known: string[] = [];
  for (const context of contexts) {
    // A parent that does not answer may know the node.
    const found = await api.list(context, nodeObjects).catch(() => undefined);
    if (!found) return;
    known.push(...found.map(({ spec }) => (spec as { path?: string } | undefined)?.path ?? ''));
    if (known.includes(path) || (await api.get(context, `${syncTargets}/${nameOf(path)}`))) return;
  }
  const remedy = didYouMean(path, known, `for a list: ${cliCommand('tree')}`);
  throw new BanyanError('NotFound', `${command}: node/${shownPath(parentOf(path))} knows no node "${path}": ${remedy}`);
}

/** Changes fields of the SyncTarget. Throws the refusal of the node. A SyncTarget that is gone is no error. */
export async function patchTarget(api: TreeApi, { context, target }: TreeTarget, spec: object): Promise<void> {
  const path = `${syncTargets}/${target.metadata.name}`;
  const answer = await api.write(context, 'PATCH', path, { spec });
  if ('refused' in answer && answer.refused.code !== 'NotFound') {
    throw new BanyanError(answer.refused.code, `${context}: ${target.metadata.name}: ${answer.refused.message}`);
  }
}

/** Deletes the object. A missing object is no error. */
export async function removeObject(api: TreeApi, context: string, path: string): Promise<void> {
  const answer = await api.write(context, 'DELETE', path, {});
  if ('refused' in answer && answer.refused.code !== 'NotFound') {
    throw new BanyanError(answer.refused.code, `${context}: ${path}: ${answer.refused.message}`);
  }
}
