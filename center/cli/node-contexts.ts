/** Which contexts of the kubeconfig are a node's: one each for siblings, which share a path. */
import { splitReplica } from '../../core/identity/replica.ts';

const prefix = 'node/';

/** `node/eu:paris`, `node/eu:paris~1`; of the center, path '', `node/center`. */
export function nodeContexts(contexts: readonly string[], path: string): string[] {
  return contexts.filter(
    (context) =>
      context.startsWith(prefix) && splitReplica(context.slice(prefix.length)).name === (path === '' ? 'center' : path),
  );
}
