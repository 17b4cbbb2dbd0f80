/**
 * Replicas are nodes that share one path. Each replica has a number. The first replica, number 0, has the plain name. The names of the others end with a
 * tilde and the number. No name in Kubernetes contains a tilde, so a replica's name is never the name of another relay.
 */

/** Maximal number of replicas. More replicas would not make a path safer: each replica holds a full copy of everything that its subtree gets. */
export const replicasMax = 8;

export function withReplica(name: string, replica: number): string {
  return replica === 0 ? name : `${name}~${replica}`;
}

export function splitReplica(name: string): { readonly name: string; readonly replica: number } {
  const cut = name.lastIndexOf('~');
  return cut < 0 ? { name, replica: 0 } : { name: name.slice(0, cut), replica: Number(name.slice(cut + 1)) };
}
