/**
 * Which of several sources has an object: authority nearer the center, then `spec.priority`, then the older placement, then its uid. Each is
 * a property of what is delivered and none of how it came, so that the winner is the same after every order of arrival and every restart.
 *
 * A source speaks through the strongest of its placements that reach this cluster; one whose placements have not arrived yet is the weakest of its
 * depth.
 */
import { compareText } from '../../core/object/text-order.ts';

/** The placement that speaks for a source. */
export interface DeliveryClaim {
  readonly placement: string;
  readonly priority: number;
  /** creationTimestamp: RFC 3339 with whole seconds, so that text order is the order of time. */
  readonly created: string;
  readonly uid: string;
}

export interface Claimed {
  /** `center.retail` */
  readonly source: string;
  readonly claim: DeliveryClaim | undefined;
}

/** The winner first. */
export function compareClaimed(a: Claimed, b: Claimed): number {
  return (
    depthOf(a.source) - depthOf(b.source) ||
    Number(a.claim === undefined) - Number(b.claim === undefined) ||
    (a.claim && b.claim ? compareClaims(a.claim, b.claim) : 0) ||
    compareText(a.source, b.source)
  );
}

/** Of two placements of one depth. */
export function compareClaims(a: DeliveryClaim, b: DeliveryClaim): number {
  return b.priority - a.priority || compareText(a.created, b.created) || compareText(a.uid, b.uid);
}

/** Why the winner wins, in words for the author of the loser. */
export function precedence(winner: Claimed, loser: Claimed): string {
  const who = winner.claim ? `EdgePlacement ${winner.claim.placement} of ${winner.source}` : winner.source;
  return `${who} delivers the same object and has precedence: ${why(winner, loser)}`;
}

function why(winner: Claimed, loser: Claimed): string {
  if (depthOf(winner.source) !== depthOf(loser.source)) return `${winner.source} is nearer the center`;
  if (!winner.claim || !loser.claim) return `the placement of ${loser.source} has not arrived yet`;
  if (winner.claim.priority !== loser.claim.priority) {
    return `its priority is ${winner.claim.priority}, over ${loser.claim.priority}`;
  }
  if (winner.claim.created !== loser.claim.created) {
    return `it is older, of ${winner.claim.created} before ${loser.claim.created}`;
  }
  return `priority and age are the same, and its uid is the smaller`;
}

/** `center.retail` is at depth 0, `eu.paris.ops` at depth 2. */
function depthOf(source: string): number {
  const segments = source.split('.');
  return segments[0] === 'center' ? 0 : segments.length - 1;
}
