/** An object that is being deleted: what it waits for, in its own words, since it may be stuck. */
import type { KubeObject } from './meta.ts';

/** Said of it as long as it lasts, and no failure: most are gone within seconds. */
export const terminating = 'Terminating';

interface NamespaceCondition {
  readonly type?: string;
  readonly status?: string;
  readonly message?: string;
}

/** Of https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/ the conditions of one that does not go. */
const blocking =
  /^Namespace(ContentRemaining|FinalizersRemaining|DeletionContentFailure|DeletionDiscoveryFailure|DeletionGroupVersionParsingFailure)$/;
/** A line or two: the status of the object has the rest. */
const wordsMax = 500;

/** Of one that is wanted. */
export function terminatingMessage(object: KubeObject): string {
  return waitingWords(object, `${begunWords(object)}, and is applied again when it is gone`);
}

/** Of one that is wanted no more. */
export function removalMessage(object: KubeObject): string {
  return waitingWords(object, `${begunWords(object)}, as nobody wants it any more`);
}

function begunWords({ metadata }: KubeObject): string {
  return `the object is being deleted since ${metadata.deletionTimestamp ?? ''}`;
}

function waitingWords({ metadata, status }: KubeObject, begun: string): string {
  const conditions = (status as { conditions?: readonly NamespaceCondition[] } | undefined)?.conditions;
  const said = (Array.isArray(conditions) ? conditions : [])
    .filter((one) => one.status === 'True' && blocking.test(one.type ?? ''))
    .map(({ message = '' }) => message);
  const finalizers = metadata.finalizers ?? [];
  if (said.length > 0) return `${begun}; it waits: ${said.join(' ').slice(0, wordsMax)}`;
  if (finalizers.length === 0) return begun;
  return `${begun}; it waits for ${finalizers.join(', ').slice(0, wordsMax)}: if who sets that does not run any more, take it out of metadata.finalizers`;
}
