/**
 * Paths of nodes: the names from the root down, `eu:paris:store-17`. The root, the center, has the empty path. All code that compares, splits or joins paths
 * uses these functions. A plain test for a text prefix would take `eu-west` for a node below `eu`.
 */
import { checkDnsLabel } from '../object/names.ts';
import { compareText } from '../object/text-order.ts';
import { splitReplica } from './replica.ts';

/** The names of the path. The root has none. */
export function segmentsOf(path: string): string[] {
  return path === '' ? [] : path.split(':');
}

/** Hops to the root. */
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

/** The paths above a path, the root first. */
export function ancestorsOf(path: string): string[] {
  const names = segmentsOf(path);
  return names.map((_, i) => names.slice(0, i).join(':'));
}

/** Every node except the root is below the root. */
export function isBelow(path: string, above: string): boolean {
  return above === '' ? path !== '' : path.startsWith(`${above}:`);
}

export function isAtOrBelow(path: string, above: string): boolean {
  return path === above || isBelow(path, above);
}

/** The name of the child of `above` that is `path` or has `path` below it. Undefined if `path` is not below `above`. */
export function childTowards(above: string, path: string): string | undefined {
  return isBelow(path, above) ? segmentsOf(path)[depthOf(above)] : undefined;
}

/** Parents come before their children, and each subtree stays together: `eu`, `eu:paris`, `eu~1`, `eu-west`. In text order, `eu-west` would be second. */
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

/** The path with dots, for names of files, objects and sources: `eu.paris`, `center`. */
export function dottedPath(path: string): string {
  return path === '' ? 'center' : path.replaceAll(':', '.');
}

/** The path as people write it, and as contexts of the kubeconfig name it: `eu:paris`, `center`. */
export function shownPath(path: string): string {
  return path === '' ? 'center' : path;
}

/** The reverse of `shownPath`. */
export function pathShownAs(shown: string): string {
  return shown === 'center' ? '' : shown;
}

/** The mistake in the path of a node other than the root, or undefined. */
export function checkPath(path: string): string | undefined {
  return path
    .split(':')
    .map((name) => ({ name, wrong: checkNodeName(name) }))
    .flatMap(({ name, wrong }) => (wrong ? [`${JSON.stringify(name)}: ${wrong}`] : []))[0];
}

/** The path of a child. `child` may have a replica number, the path has none: replicas share one path. */
export function childPath(path: string, child: string): string {
  return replicaNodePath(path, splitReplica(child).name);
}

/** The path of a child with its replica number, for places that show each replica by itself. */
export function replicaNodePath(path: string, child: string): string {
  return path === '' ? child : `${path}:${child}`;
}

/** The path as a valid name of a Kubernetes object: `eu.paris`, `center`. */
export function objectName(path: string): string {
  return dottedPath(path).replaceAll('~', '--');
}

/** The mistake in the name of a node, or undefined. A Node object has its name from the path of the node, so no two paths may give the same name. */
export function checkNodeName(name: string): string | undefined {
  const wrong = checkDnsLabel(name);
  if (wrong) return wrong;
  if (name === 'center') return "the name is the root's; choose another";
  return /--\d+$/.test(name) ? 'names that end in -- and a number belong to replicas; choose another name' : undefined;
}
