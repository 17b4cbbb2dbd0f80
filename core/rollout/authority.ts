/**
 * Estimates how old the origin's decision is when its release row arrives at a last hop.
 *
 * A last hop counts `authorizationSeconds` from the arrival of a release row with a new lease. But a node above may be cut off from the root, and may pass on
 * an old row to a child that attaches now. The next node below may do the same, so each level would start the authorisation again. To prevent this, the last
 * hop uses the age of the root's newest report, which beats add up from hop to hop without comparing wall clocks. The row may be as old as this report, so
 * the last hop subtracts this age from the authorisation.
 */

/** The longest time between two beats (docs/protocol.md). So a root age of up to this time for each hop is normal. */
const beatApartMs = 20_000;

/**
 * The age that a release row counts as having when it arrives, in ms. Beats have the age only for the root. So a row of a source of another node counts as
 * new, and a region that is cut off from the root continues its own rollouts.
 */
export function authorizationAgeMs(source: string, depth: number, rootAgeMs: number): number {
  if (!source.startsWith('center.')) return 0;
  return Math.max(0, rootAgeMs - depth * beatApartMs);
}
