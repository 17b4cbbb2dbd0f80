/**
 * How old the origin's decision may be when its release row arrives at a last hop.
 *
 * A last hop counts `authorizationSeconds` from the arrival of a release row with a lease that the last hop has not seen before. That alone is not safe: a
 * node above that is cut off itself may pass on a row that it has had for a long time, to a child that attaches only then, and the next node below may do the
 * same. Each level would start the authorisation anew. The beats carry the age of the root's newest report, summed from hop to hop without a comparison of
 * wall clocks. That age bounds the age of the row, and the last hop counts from there.
 */

/** The greatest distance between two beats (docs/protocol.md). A root age of one such distance for each hop is as good as a report can be. */
const beatApartMs = 20_000;

/**
 * How long before its arrival a row of the root's spaces counts as written. The beats say nothing about a node between the root and the last hop. So a row of
 * such a node counts as new, and a region that is cut off from the root continues its own rollouts.
 */
export function authorizationAgeMs(source: string, depth: number, rootAgeMs: number): number {
  if (!source.startsWith('center.')) return 0;
  return Math.max(0, rootAgeMs - depth * beatApartMs);
}
