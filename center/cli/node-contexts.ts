/** Which contexts of the kubeconfig are a node's: one each for siblings, which share a path. */
import { shownPath } from '../../core/identity/node-path.ts';
import { splitReplica } from '../../core/identity/replica.ts';
import { BanyanError } from '../../core/runtime/errors.ts';

const prefix = 'node/';

/** `node/eu:paris`, `node/eu:paris~1`; of the center, path '', `node/center`. */
export function nodeContexts(contexts: readonly string[], path: string): string[] {
  return contexts.filter(
    (context) => context.startsWith(prefix) && splitReplica(context.slice(prefix.length)).name === shownPath(path),
  );
}

/** Of a space, at a relay and at its siblings. `space`: the name that it has below its origin, such as `center.retail`. */
export function spaceContexts(contexts: readonly string[], relay: string, space: string): string[] {
  const own = `space/${relay}/${space}`;
  const named = contexts.filter((context) => {
    const [kind, node = '', name] = context.split('/');
    return kind === 'space' && name === space && splitReplica(node).name === relay;
  });
  // Where the kubeconfig has none, what is asked for says so.
  return named.length > 0 ? named : [own];
}

/** What the first of siblings says that has something, or that answers at all. Throws Unavailable when none does. */
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
