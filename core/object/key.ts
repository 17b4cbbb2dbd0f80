/** The key of an object inside one space: group and plural resource (no version), namespace (empty if cluster-scoped), name. */
import { BanyanError } from '../runtime/errors.ts';

export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

export interface ObjectKey extends GroupResource {
  readonly namespace: string;
  readonly name: string;
}

/** `apps/deployments/shop/till`. The group of core kinds and the namespace of cluster-scoped objects are empty. No part can contain a slash. */
export function formatKey(key: ObjectKey): string {
  return `${key.group}/${key.resource}/${key.namespace}/${key.name}`;
}

export function parseKey(text: string): ObjectKey {
  const parts = text.split('/');
  if (parts.length !== 4) throw new BanyanError('Protocol', `not the key of an object: ${text}`);
  return { group: parts[0]!, resource: parts[1]!, namespace: parts[2]!, name: parts[3]! };
}

/** `deployments.apps`, as Kubernetes writes a resource in messages. */
export function formatGroupResource(of: GroupResource): string {
  return of.group === '' ? of.resource : `${of.resource}.${of.group}`;
}

/** `deployments.apps shop/till`, for people. */
export function displayKey(key: ObjectKey): string {
  return `${formatGroupResource(key)} ${key.namespace === '' ? '' : `${key.namespace}/`}${key.name}`;
}
