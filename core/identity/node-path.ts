/**
 * Paths of nodes: the names from the root down, for example `eu:paris:store-17`. The root (the center) has the empty path. All code that compares, splits
 * or joins paths uses these functions. A plain test for a text prefix would treat `eu-west` as a node below `eu`.
 */
import { nameFlaw } from '../object/plain-names.ts';
import { compareText } from '../object/text-order.ts';
import { splitReplica } from './replica.ts';

/** The names in the path. The path of the root has none. */
export function segmentsOf(path: string): string[] {
  return path === '' ? [] : path.split(':');
}

/** Number of hops to the root. */
export function depthOf(path: string): number {
  return segmentsOf(path).length;
}

export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf(':')));
}

/** The name by which the parent knows the node. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf(':') + 1);
}

/** The paths of all nodes above a path, the root first. */
export function ancestorsOf(path: string): string[] {
  const names = segmentsOf(path);
  return names.map((_, i) => names.slice(0, i).join(':'));
}

/** True if `path` is below `above`. Every node except the root is below the root. */
export function isBelow(path: string, above: string): boolean {
  return above === '' ? path !== '' : path.startsWith(`${above}:`);
}

export function isAtOrBelow(path: string, above: string): boolean {
  return path === above || isBelow(path, above);
}

/**
 * Whether the node of a source is above `path`. A source is the path of a node with dots, a dot, and the name of one of the node's spaces: `center.retail`,
 * `eu.paris.ops`.
 */
export function isSourceAbove(path: string, source: string): boolean {
  const node = source.slice(0, Math.max(0, source.lastIndexOf('.')));
  return path !== '' && (node === 'center' || path.replaceAll(':', '.').startsWith(`${node}.`));
}

/** The name of the child of `above` that is at `path` or has `path` below it. Undefined if `path` is not below `above`. */
export function childTowards(above: string, path: string): string | undefined {
  return isBelow(path, above) ? segmentsOf(path)[depthOf(above)] : undefined;
}

/**
 * Sorts parents before their children, and keeps each subtree together: `eu`, `eu:paris`, `eu~1`, `eu-west`. The order of texts would put `eu-west` second.
 */
export function comparePaths(a: string, b: string): number {
  const [names, otherNames] = [segmentsOf(a), segmentsOf(b)];
  for (const [i, name] of names.entries()) {
    const otherName = otherNames[i];
    if (otherName === undefined) return 1;
    const order = compareNames(name, otherName);
    if (order !== 0) return order;
  }
  return names.length - otherNames.length;
}

function compareNames(a: string, b: string): number {
  const [one, other] = [splitReplica(a), splitReplica(b)];
  return compareText(one.name, other.name) || one.replica - other.replica;
}

/** The path with dots, for names of files and sources: `eu.paris`, `center`. */
export function dottedPath(path: string): string {
  return path === '' ? 'center' : path.replaceAll(':', '.');
}

/** The path as people write it, and as the kubeconfig names its contexts: `eu:paris`, `center`. */
export function shownPath(path: string): string {
  return path === '' ? 'center' : path;
}

/** The path that `shownPath` shows as this text. */
export function pathShownAs(shown: string): string {
  return shown === 'center' ? '' : shown;
}

/** The mistake in the path of a node that is not the root. Undefined if there is none. */
export function checkPath(path: string): string | undefined {
  if (path === '') return 'it is empty';
  const names = path.split(':');
  const empty = names.indexOf('');
  if (empty >= 0) return `name ${empty + 1} of ${names.length} is empty`;
  for (const name of names) {
    const wrong = checkNodeName(name);
    if (wrong) return names.length === 1 ? wrong : `${JSON.stringify(name)}: ${wrong}`;
  }
  return undefined;
}

/** The path of a child, without a replica number even if `child` has one: replicas share one path. */
export function childPath(path: string, child: string): string {
  return replicaNodePath(path, splitReplica(child).name);
}

/** The path that all replicas share. Each name of `path` may have the number of a replica. */
export function sharedPath(path: string): string {
  return segmentsOf(path)
    .map((name) => splitReplica(name).name)
    .join(':');
}

/** The path of a child with its replica number, for output that lists each replica separately. */
export function replicaNodePath(path: string, child: string): string {
  return path === '' ? child : `${path}:${child}`;
}

/** The path as a valid name of a Kubernetes object: `eu.paris`, `center`. */
export function objectName(path: string): string {
  return dottedPath(path).replaceAll('~', '--');
}

/**
 * The mistake in the name of a node. Undefined if there is none. A Node object is named after the path of its node, so two paths must not give the same
 * name.
 */
export function checkNodeName(name: string): string | undefined {
  const wrong = nameFlaw(name);
  if (wrong) return wrong;
  if (name === 'center') return "the name is the root's; choose another";
  return /--\d+$/.test(name) ? 'names that end in -- and a number belong to replicas; choose another name' : undefined;
}
