/**
 * Decides which of several sources has an object: the source that is nearer to the center, then the higher `spec.priority`, then the older placement, then
 * the smaller uid. All these values are part of the delivered content, so the winner does not depend on the order of arrival or on restarts.
 *
 * For a source, the strongest of its placements that have arrived at this cluster counts. Among the sources of one depth, a source whose placements have not
 * arrived yet is the weakest.
 */
import { compareText } from '../object/text-order.ts';

/** The placement that counts for a source. */
export interface DeliveryClaim {
  readonly placement: string;
  readonly priority: number;
  /** The creationTimestamp: RFC 3339 with whole seconds, so the order of the texts is the order of the times. */
  readonly created: string;
  readonly uid: string;
}

export interface Claimed {
  /** `center.retail` */
  readonly source: string;
  readonly claim: DeliveryClaim | undefined;
}

/** Compares two deliveries for sorting: the winner comes first. */
export function compareClaimed(a: Claimed, b: Claimed): number {
  return (
    depthOf(a.source) - depthOf(b.source) ||
    Number(a.claim === undefined) - Number(b.claim === undefined) ||
    (a.claim && b.claim ? compareClaims(a.claim, b.claim) : 0) ||
    compareText(a.source, b.source)
  );
}

/** Compares two placements of one depth. */
export function compareClaims(a: DeliveryClaim, b: DeliveryClaim): number {
  return b.priority - a.priority || compareText(a.created, b.created) || compareText(a.uid, b.uid);
}

/**
 * Explains to the author of the losing placement why another one wins. The author may not know the other source: it may be of another tenant. So the text names
 * neither the source nor the values of its placement.
 */
export function precedence(winner: Claimed, loser: Claimed): string {
  return `another source delivers the same object and has precedence: ${why(winner, loser)}. Those who run the site see which one (condition SourceConflict of its SyncTarget), and the command why names it to whoever may read its space`;
}

/** The same for those who run the site. */
export function conflictText(winner: Claimed, loser: Claimed): string {
  return `${claimantOf(winner)} delivers it, and not ${claimantOf(loser)}: ${why(winner, loser)}`;
}

function claimantOf({ source, claim }: Claimed): string {
  return claim ? `EdgePlacement ${claim.placement} of ${source}` : source;
}

function why(winner: Claimed, loser: Claimed): string {
  if (depthOf(winner.source) !== depthOf(loser.source)) return 'it is nearer the center';
  if (!winner.claim || !loser.claim) return 'this placement has not arrived yet';
  if (winner.claim.priority !== loser.claim.priority) return 'its placement has a higher priority';
  if (winner.claim.created !== loser.claim.created) return 'its placement is older';
  return 'priority and age are the same, and the uid of its placement is the smaller';
}

/** `center.retail` is at depth 0, `eu.paris.ops` at depth 2. */
function depthOf(source: string): number {
  const segments = source.split('.');
  return segments[0] === 'center' ? 0 : segments.length - 1;
}
