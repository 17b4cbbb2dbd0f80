/**
 * How old the origin's word is when it arrives. A last hop counts `authorizationSeconds` from when a release row came with a lease that it had not seen; but
 * a node above that is cut off itself hands on, to whoever attaches to it late, a row that it has had for long, and so could the next one below: each level
 * would have the authorisation anew. What the beats say of the root, which is summed from hop to hop without comparing wall clocks, says how old the row can
 * be at most, and it counts from then.
 */

/** Beats are at most so far apart (docs/protocol.md): a root that is that old, a hop, is heard of as well as can be. */
const beatApartMs = 20_000;

/**
 * How long before its arrival a word of the root's spaces counts as said. Of a node between, beats say nothing: its word is taken as new, so that a region
 * that is cut off from the root goes on with its own rollouts.
 */
export function authorizationAgeMs(source: string, depth: number, rootAgeMs: number): number {
  if (!source.startsWith('center.')) return 0;
  return Math.max(0, rootAgeMs - depth * beatApartMs);
}
