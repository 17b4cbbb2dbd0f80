/**
 * Contexts that a kubeconfig does not have. From the URL of one node, every node at and below it is reached through `/tree/PATH`, so names of contexts such as
 * `space/eu/ops` lead there too.
 */
import { isAtOrBelow, nameOf, parentOf, pathShownAs, shownPath } from '../../core/identity/node-path.ts';
import { splitReplica } from '../../core/identity/replica.ts';
import type { KubeObject } from '../../core/object/meta.ts';

/** The node whose URL the kubeconfig has. */
export interface EntryNode {
  /** `https://center.example:6443`, without a slash at the end. */
  readonly url: string;
  readonly path: string;
}

export interface EntryUrl {
  readonly base: string;
  /** The part of the node, such as `/spaces/retail`. Empty: the URL is the node's system API. */
  readonly below: string;
}

/** Splits the URL of a context into the URL of the node and the part of it. What a gateway puts before `/spaces` belongs to the node. */
export function entryUrl({ origin, pathname }: URL): EntryUrl {
  const [, before = '', below = ''] =
    /^(.*?)(?:\/tree\/[^/]+)?((?:\/(?:spaces|fleet|mailboxes|reported)\/[^/]+|\/cluster)?)\/*$/.exec(pathname) ?? [];
  return { base: `${origin}${before}`, below };
}

/** The path below the URL of the entry node to which a context leads. Undefined: the name is none of a tree. */
export function pathOfContext(context: string, entry: string): string | undefined {
  const [kind = '', node = '', rest, ...more] = context.split('/');
  if (node === '' || more.length > 0) return undefined;
  const at = (path: string) => (path === entry ? '' : `/tree/${encodeURIComponent(shownPath(path))}`);
  const path = pathShownAs(node);
  if (rest !== undefined) return kind in partsOfNode ? `${at(path)}/${partsOfNode[kind]}/${rest}` : undefined;
  if (kind === 'node') return at(path);
  if (kind === 'cluster') return `/tree/${encodeURIComponent(shownPath(path))}/cluster`;
  return kind === 'mailbox' ? `${at(parentOf(path))}/mailboxes/${nameOf(path)}` : undefined;
}

const partsOfNode: Readonly<Record<string, string>> = { space: 'spaces', fleet: 'fleet', reported: 'reported' };

/** The context that leads to the part of the entry node. */
export function contextOfPart(below: string, entry: string): string {
  const [, part = '', name = ''] = below.split('/');
  const kind = Object.keys(partsOfNode).find((one) => partsOfNode[one] === part);
  return kind === undefined ? `node/${shownPath(entry)}` : `${kind}/${shownPath(entry)}/${name}`;
}

/** The path of the node that answered with these Node objects: it shows itself, and what is below it. */
export function ownPath(nodes: readonly KubeObject[]): string {
  return nodes.map(pathOf).reduce((shortest, path) => (path.length < shortest.length ? path : shortest));
}

/** The contexts of the nodes that the entry node shows: all relays, and the agents right below it. */
export function contextsThrough(nodes: readonly KubeObject[], entry: string): string[] {
  const shown = nodes.filter((node) => isAtOrBelow(pathOf(node), entry));
  const contexts = shown.flatMap((node) => {
    const path = pathOf(node);
    const mailbox = path === entry ? [] : [`mailbox/${path}`];
    return isAgent(node) ? [`cluster/${path}`, ...mailbox] : [`node/${shownPath(path)}`, ...mailbox];
  });
  return [...new Set(contexts)];
}

export function isAgent({ spec }: KubeObject): boolean {
  return (spec as { readonly role?: string } | undefined)?.role === 'Agent';
}

/** All replicas of a relay have one path, and through the tree one of them answers. */
export function pathOf({ spec }: KubeObject): string {
  return splitReplica((spec as { readonly path?: string } | undefined)?.path ?? '').name;
}
