/** Where an AccessGrant gives its role, and which requests it reaches there. */
import { isAtOrBelow, pathShownAs, shownPath } from '../identity/node-path.ts';
import { splitReplica } from '../identity/replica.ts';
import { type AccessAttributes, isForResource } from './attributes.ts';

/** Exactly one field is present. Paths are as people write them: `eu:paris`, or `center` for the whole tree. */
export interface GrantScope {
  /** A space of this node; or the read-only copy of a space of a node above, by its source: `center.retail`. */
  readonly space?: { readonly name: string; readonly namespaces?: readonly string[] };
  /** The mailboxes of these children of this node. */
  readonly mailboxes?: { readonly children: readonly string[] };
  /** The node at the path, with its spaces and mailboxes, and all nodes and edge clusters at and below the path. */
  readonly subtree?: { readonly path: string };
  /** The edge clusters at and below the path. */
  readonly clusters?: { readonly path: string; readonly namespaces?: readonly string[] };
}

/** Where a request goes. The paths are those of the tree, where the center has the empty path. */
export type AccessPlace =
  | { readonly space: string }
  | { readonly mailbox: string }
  | { readonly node: string }
  | { readonly cluster: string };

/** A part of a scope. Without a namespace: the whole place. For a node or cluster, the part has everything below the path too. */
export interface ScopePart {
  readonly place: AccessPlace;
  readonly namespace?: string;
}

/** `ownPath` is the path of the node that has the grant. */
export function scopeHasPlace(scope: GrantScope, place: AccessPlace, ownPath: string): boolean {
  const { subtree } = scope;
  const isInSubtree = (path: string) => subtree !== undefined && isAtOrBelow(path, pathShownAs(subtree.path));
  if ('space' in place) return scope.space?.name === place.space || isInSubtree(ownPath);
  if ('mailbox' in place) {
    return scope.mailboxes?.children.includes(splitReplica(place.mailbox).name) === true || isInSubtree(ownPath);
  }
  if ('node' in place) return isInSubtree(place.node);
  const { clusters } = scope;
  return isInSubtree(place.cluster) || (!!clusters && isAtOrBelow(place.cluster, pathShownAs(clusters.path)));
}

/** Undefined: the scope has all namespaces, and everything that is in no namespace. */
export function scopeNamespaces({ space, clusters }: GrantScope): readonly string[] | undefined {
  return (space ?? clusters)?.namespaces;
}

/** Whether a grant for some namespaces reaches a request. `namespaces`: see `scopeNamespaces`. */
export function reachesRequest(namespaces: readonly string[] | undefined, attributes: AccessAttributes): boolean {
  if (!namespaces) return true;
  if (!isForResource(attributes)) return false;
  const { apiGroup, resource, verb, name, namespace } = attributes;
  // A Namespace is in no namespace, although the request for it has one. Its reader needs to see it; its author could change everything in it.
  if (resource === 'namespaces') return apiGroup === '' && readingVerbs.has(verb) && namespaces.includes(name);
  return namespaces.includes(namespace);
}

const readingVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

/** The scope, split so that each part is in a held scope as a whole or not at all. */
export function scopeParts(scope: GrantScope): ScopePart[] {
  const { space, mailboxes, subtree, clusters } = scope;
  if (mailboxes) return mailboxes.children.map((mailbox) => ({ place: { mailbox } }));
  if (subtree) return [{ place: { node: pathShownAs(subtree.path) } }];
  const place = space ? { space: space.name } : { cluster: pathShownAs(clusters!.path) };
  return scopeNamespaces(scope)?.map((namespace) => ({ place, namespace })) ?? [{ place }];
}

export function scopeHasPart(scope: GrantScope, { place, namespace }: ScopePart, ownPath: string): boolean {
  if (!scopeHasPlace(scope, place, ownPath)) return false;
  const namespaces = scopeNamespaces(scope);
  return !namespaces || (namespace !== undefined && namespaces.includes(namespace));
}

/** For messages: `in the namespace "shop" of the space "retail"`. */
export function describePart({ place, namespace }: ScopePart): string {
  const where =
    'space' in place
      ? `the space ${JSON.stringify(place.space)}`
      : 'mailbox' in place
        ? `the mailbox of ${JSON.stringify(place.mailbox)}`
        : 'node' in place
          ? `the subtree of ${shownPath(place.node)}`
          : `the edge clusters of ${shownPath(place.cluster)}`;
  return namespace === undefined ? `in ${where}` : `in the namespace ${JSON.stringify(namespace)} of ${where}`;
}
