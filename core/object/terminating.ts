/** Messages about an object that is being deleted. A deletion may be stuck, so the messages name the reasons for which it waits. */
import type { KubeObject } from './meta.ts';

/** The state of an object that is being deleted. The state is not a failure: most objects disappear within seconds. */
export const terminating = 'Terminating';

/** Whether the object was deleted and waits for its finalizers. */
export function isTerminating({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

interface NamespaceCondition {
  readonly type?: string;
  readonly status?: string;
  readonly message?: string;
}

/** Conditions of a Namespace that can't be deleted yet: https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/ */
const blocking =
  /^Namespace(ContentRemaining|FinalizersRemaining|DeletionContentFailure|DeletionDiscoveryFailure|DeletionGroupVersionParsingFailure)$/;
/** One or two lines. The status of the object has the full text. */
const reasonCharactersMax = 500;

/** The message for an object that a placement still wants. */
export function terminatingMessage(object: KubeObject): string {
  return withReasons(object, `${deletedSince(object)}, and is applied again when it is gone`);
}

/** The message for an object that no placement wants any more. */
export function removalMessage(object: KubeObject): string {
  return withReasons(object, `${deletedSince(object)}, as nobody wants it any more`);
}

function deletedSince({ metadata }: KubeObject): string {
  return `the object is being deleted since ${metadata.deletionTimestamp ?? ''}`;
}

function withReasons({ metadata, status }: KubeObject, begin: string): string {
  const conditions = (status as { conditions?: readonly NamespaceCondition[] } | undefined)?.conditions;
  const messages = (Array.isArray(conditions) ? conditions : [])
    .filter((one) => one.status === 'True' && blocking.test(one.type ?? ''))
    .map(({ message = '' }) => message);
  const finalizers = metadata.finalizers ?? [];
  if (messages.length > 0) return `${begin}; it waits: ${messages.join(' ').slice(0, reasonCharactersMax)}`;
  if (finalizers.length === 0) return begin;
  return `${begin}; it waits for ${finalizers.join(', ').slice(0, reasonCharactersMax)}: if the controller that sets them does not run any more, remove them from metadata.finalizers`;
}
