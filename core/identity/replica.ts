/**
 * Siblings: nodes that share one path, told apart by a replica number. The first goes by the path alone; behind the names of the others stands a tilde
 * with the number, which no name of Kubernetes holds, so that no relay can be taken for a sibling of another.
 */

/** More would not make a place safer: each is a full copy of what its subtree gets. */
export const replicasMax = 8;

export function withReplica(name: string, replica: number): string {
  return replica === 0 ? name : `${name}~${replica}`;
}

export function splitReplica(name: string): { readonly name: string; readonly replica: number } {
  const cut = name.lastIndexOf('~');
  return cut < 0 ? { name, replica: 0 } : { name: name.slice(0, cut), replica: Number(name.slice(cut + 1)) };
}
