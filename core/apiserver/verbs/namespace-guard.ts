/** Checks the namespace of a write, like the admission plugin NamespaceLifecycle of the Kubernetes API server. */

import { bodyMentions, parseBody } from '../../object/canonical.ts';
import type { ObjectKey } from '../../object/key.ts';
import { isTerminating } from '../../object/terminating.ts';
import type { Cause } from '../../runtime/errors.ts';
import { forbidden, notFound } from '../status-errors.ts';
import type { SpaceStorage } from '../storage.ts';
import { isNamespace } from './kind-strategy.ts';

export const namespaceResource = { group: '', resource: 'namespaces' };

/** Namespaces that every cluster has. Users are not allowed to delete them. */
const permanentNamespaces: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public']);

/** Throws NotFound if the namespace of a new object does not exist, and Forbidden if the namespace is being deleted. */
export function checkNamespaceTakesObjects(storage: SpaceStorage, key: ObjectKey): void {
  if (key.namespace === '') return;
  const namespaceKey: ObjectKey = { ...namespaceResource, namespace: '', name: key.namespace };
  const stored = storage.get(namespaceKey);
  if (!stored) throw notFound(namespaceKey);
  // Every create runs this check. So the code first searches the bytes, and parses the namespace only if they contain a deletionTimestamp.
  if (!bodyMentions(stored.body, '"deletionTimestamp"') || !isTerminating(parseBody(stored.body))) return;
  const cause: Cause = {
    reason: 'NamespaceTerminating',
    message: `namespace ${key.namespace} is being terminated`,
    field: 'metadata.namespace',
  };
  const why = `unable to create new content in namespace ${key.namespace} because it is being terminated`;
  throw forbidden(key, why, [cause]);
}

export function checkMayBeDeleted(key: ObjectKey): void {
  if (isNamespace(key) && permanentNamespaces.has(key.name)) {
    throw forbidden(key, 'this namespace may not be deleted');
  }
}
