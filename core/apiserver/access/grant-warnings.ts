/**
 * Warnings about an AccessGrant that names what is not there. The write is not refused: files are applied in any order. But a misspelt name gives no right and no
 * error, and a grant for a space that was removed gives rights in the next space of this name.
 */
import type { AccessGrantObject } from '../../access/access-grant.ts';
import type { GrantScope } from '../../access/grant-scope.ts';
import { rbacResource } from '../../access/rbac-objects.ts';
import { childPath, objectName, parentOf, pathShownAs, shownPath } from '../../identity/node-path.ts';
import { parseBody } from '../../object/canonical.ts';
import { accessGrantResource } from '../kinds/access-grant-kind.ts';
import { inventoryGroup } from '../kinds/inventory-kinds.ts';
import { nodeResource, spaceResource } from '../kinds/mesh-kinds.ts';
import type { WriteAdmission } from '../space.ts';
import type { SpaceStorage } from '../storage.ts';

export interface GrantWarningPorts {
  /** Of the system space. */
  readonly storage: SpaceStorage;
  /** The path of the node that has the grant. */
  readonly path: string;
  /** Whether a node above has the space of the source. */
  isServedAbove(source: string): boolean;
}

export function grantWarnings(ports: GrantWarningPorts, { spec }: AccessGrantObject): string[] {
  const { storage, path: ownPath } = ports;
  const has = (of: { readonly group: string; readonly resource: string }, name: string, namespace = '') =>
    storage.get({ group: of.group, resource: of.resource, namespace, name }) !== undefined;
  const missing: string[] = [];
  const { roleRef, subjects, scope } = spec;
  if (!has(rbacResource('ClusterRole'), roleRef.name))
    missing.push(`spec.roleRef.name: this node has no ClusterRole ${JSON.stringify(roleRef.name)}`);
  for (const [i, { kind, name, namespace = '' }] of subjects.entries())
    if (kind === 'ServiceAccount' && !has({ group: '', resource: 'serviceaccounts' }, name, namespace))
      missing.push(`spec.subjects[${i}]: this node has no ServiceAccount ${JSON.stringify(`${namespace}/${name}`)}`);
  const hasNode = (path: string) =>
    has(nodeResource, objectName(path)) ||
    (path !== '' && parentOf(path) === ownPath && has(syncTargets, path.slice(path.lastIndexOf(':') + 1)));
  const hasSpace = (name: string) => has(spaceResource, name) || ports.isServedAbove(name);
  missing.push(...missingInScope(scope, ownPath, { hasNode, hasSpace }));
  return missing.map((one) => `${one}: the grant gives no right there until somebody makes one`);
}

/** Warns the author of a new space about grants that name it already. */
export function warnOfFormerGrants(
  storage: SpaceStorage,
  { operation, key, user, warn }: Parameters<WriteAdmission>[0],
): void {
  if (operation !== 'create' || !user || !warn) return;
  const grants = storage.scan(accessGrantResource).map(({ body }) => parseBody(body) as AccessGrantObject);
  const names = grants.filter(({ spec }) => spec.scope.space?.name === key.name).map(({ metadata }) => metadata.name);
  if (names.length === 0) return;
  const shown = [...names.slice(0, namedMax), ...(names.length > namedMax ? [`${names.length - namedMax} more`] : [])];
  warn(
    `AccessGrants already give rights in a space of this name: ${shown.join(', ')}. Delete those that were for a former space`,
  );
}

/** A person reads some names, and asks kubectl for the rest. */
const namedMax = 10;
const syncTargets = { group: inventoryGroup, resource: 'synctargets' } as const;

interface Known {
  hasNode(path: string): boolean;
  hasSpace(name: string): boolean;
}

function missingInScope(
  { space, mailboxes, subtree, clusters }: GrantScope,
  ownPath: string,
  { hasNode, hasSpace }: Known,
): string[] {
  if (space)
    return hasSpace(space.name) ? [] : [`spec.scope.space.name: this node has no space ${JSON.stringify(space.name)}`];
  if (mailboxes)
    return mailboxes.children.flatMap((child, i) =>
      hasNode(childPath(ownPath, child))
        ? []
        : [`spec.scope.mailboxes.children[${i}]: this node has no child ${JSON.stringify(child)}`],
    );
  const path = pathShownAs((subtree ?? clusters)!.path);
  // Only the parent of an agent knows the agent.
  const mayBeAgent = path !== '' && parentOf(path) !== ownPath && hasNode(parentOf(path));
  if (hasNode(path) || mayBeAgent) return [];
  const field = `spec.scope.${subtree ? 'subtree' : 'clusters'}.path`;
  return [`${field}: this node knows no node ${JSON.stringify(shownPath(path))}`];
}
