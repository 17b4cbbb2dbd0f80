/**
 * Paths of nodes: the names from the root down, `eu:paris:store-17`. The root, the center, has the empty path. Whoever compares, takes apart or joins paths
 * does so here: a test for a prefix of the text takes `eu-west` for a node below `eu`.
 */
import { checkDnsLabel } from '../object/names.ts';
import { compareText } from '../object/text-order.ts';
import { splitReplica } from './replica.ts';

/** Of the root there are none. */
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

/** By which its parent knows it. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf(':') + 1);
}

/** The paths above a path, the root first. */
export function ancestorsOf(path: string): string[] {
  const names = segmentsOf(path);
  return names.map((_, i) => names.slice(0, i).join(':'));
}

/** Everything is below the root, except the root itself. */
export function isBelow(path: string, above: string): boolean {
  return above === '' ? path !== '' : path.startsWith(`${above}:`);
}

export function isAtOrBelow(path: string, above: string): boolean {
  return path === above || isBelow(path, above);
}

/** The name of the child of `above` at or below which a path lies, or undefined. */
export function childTowards(above: string, path: string): string | undefined {
  return isBelow(path, above) ? segmentsOf(path)[depthOf(above)] : undefined;
}

/** Parents before their children, and each subtree whole: `eu`, `eu:paris`, `eu~1`, `eu-west`. By the text alone `eu-west` would come between the first two. */
export function comparePaths(a: string, b: string): number {
  const [names, others] = [segmentsOf(a), segmentsOf(b)];
  for (const [i, name] of names.entries()) {
    const other = others[i];
    if (other === undefined) return 1;
    const order = compareNames(name, other);
    if (order !== 0) return order;
  }
  return names.length - others.length;
}

function compareNames(a: string, b: string): number {
  const [one, other] = [splitReplica(a), splitReplica(b)];
  return compareText(one.name, other.name) || one.replica - other.replica;
}

/** With dots, for names of files, objects and sources: `eu.paris`, `center`. */
export function dottedPath(path: string): string {
  return path === '' ? 'center' : path.replaceAll(':', '.');
}

/** As people write a path, and contexts of the kubeconfig name it: `eu:paris`, `center`. */
export function shownPath(path: string): string {
  return path === '' ? 'center' : path;
}

/** The reverse of `shownPath`. */
export function pathShownAs(shown: string): string {
  return shown === 'center' ? '' : shown;
}

/** What is wrong with the path of a node other than the root, or undefined. */
export function checkPath(path: string): string | undefined {
  return path
    .split(':')
    .map((name) => ({ name, wrong: checkNodeName(name) }))
    .flatMap(({ name, wrong }) => (wrong ? [`${JSON.stringify(name)}: ${wrong}`] : []))[0];
}

/** Replicas share one path. */
export function childPath(path: string, child: string): string {
  return replicaNodePath(path, splitReplica(child).name);
}

/** With the number that tells a replica from the others, for what is shown of each. */
export function replicaNodePath(path: string, child: string): string {
  return path === '' ? child : `${path}:${child}`;
}

/** A name of Kubernetes for a path: `eu.paris`, `center`. */
export function objectName(path: string): string {
  return dottedPath(path).replaceAll('~', '--');
}

/** What is wrong with the name of a node, or undefined. Nodes have Node objects by their paths: no two of these may come to one name. */
export function checkNodeName(name: string): string | undefined {
  const wrong = checkDnsLabel(name);
  if (wrong) return wrong;
  if (name === 'center') return "the name is the root's; choose another";
  return /--\d+$/.test(name) ? 'names that end in -- and a number belong to replicas; choose another name' : undefined;
}
