/** Paths of nodes: the names from the root down, `eu:paris:store-17`; of the root, the center, it is empty. */

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
