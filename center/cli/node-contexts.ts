/** The contexts of a node in the kubeconfig. Each replica of the path has one. */
import { pathShownAs } from '../../core/identity/node-path.ts';
import { splitReplica } from '../../core/identity/replica.ts';
import { BanyanError } from '../../core/runtime/errors.ts';

const prefix = 'node/';

/** Whether the context leads to the system API of a node. */
export function isNodeContext(context: string): boolean {
  return context.startsWith(prefix);
}

/** The id of the node: `eu:paris~1` for `node/eu:paris~1`, empty for `node/center`. */
export function nodeIn(context: string): string {
  return pathShownAs(context.slice(prefix.length));
}

/** For example `node/eu:paris` and `node/eu:paris~1`. For the center, whose path is empty: `node/center`. */
export function nodeContexts(contexts: readonly string[], path: string): string[] {
  return contexts.filter((context) => isNodeContext(context) && splitReplica(nodeIn(context)).name === path);
}

/** The contexts of a space at all replicas of a relay. `space` is the name of the space below its origin, such as `center.retail`. */
export function spaceContexts(contexts: readonly string[], relay: string, space: string): string[] {
  const unlisted = `space/${relay}/${space}`;
  const named = contexts.filter((context) => {
    const [kind, node = '', name] = context.split('/');
    return kind === 'space' && name === space && splitReplica(node).name === relay;
  });
  // If the kubeconfig has no such context, a request to this name fails with a clear message.
  return named.length > 0 ? named : [unlisted];
}

/**
 * Returns the answer of the first replica that has one. If no replica has an answer, returns the context of the first replica that responded. Throws
 * Unavailable if no replica responds.
 */
export async function askReplicas<T>(
  contexts: readonly string[],
  ask: (context: string) => Promise<T | undefined>,
): Promise<{ readonly context: string; readonly answer: T | undefined }> {
  let silent: BanyanError | undefined;
  let nothingAt: string | undefined;
  for (const context of contexts) {
    try {
      const answer = await ask(context);
      if (answer !== undefined) return { context, answer };
      nothingAt ??= context;
    } catch (error) {
      if (!(error instanceof BanyanError && error.code === 'Unavailable')) throw error;
      silent = error;
    }
  }
  if (nothingAt === undefined) throw silent ?? new BanyanError('NotFound', 'the kubeconfig has no such context');
  return { context: nothingAt, answer: undefined };
}
