/** Paths of nodes: the names from the root down, `eu:paris:store-17`; of the root, the center, it is empty. */
import { checkDnsLabel } from '../object/names.ts';

export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf(':')));
}

/** By which its parent knows it. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf(':') + 1);
}

/** Everything is below the root. */
export function isAtOrBelow(path: string, above: string): boolean {
  return above === '' || path === above || path.startsWith(`${above}:`);
}

/** What is wrong with the name of a node, or undefined. Nodes have Node objects by their paths: no two of these may come to one name. */
export function checkNodeName(name: string): string | undefined {
  const wrong = checkDnsLabel(name);
  if (wrong) return wrong;
  if (name === 'center') return "the name is the root's; choose another";
  return /--\d+$/.test(name) ? 'names that end in -- and a number are those of siblings; choose another' : undefined;
}
