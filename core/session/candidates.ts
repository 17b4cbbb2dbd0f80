/**
 * Which of several parents a child dials next: its home first, the others after it. Pure; failover-dialer.ts carries it out.
 *
 * A session that ends is tried again at the same parent once, since a line that blinks is no reason to move; then at the next, and so on round. A
 * child that lives elsewhere goes home when its session there ends, or when it has lived there for long: sooner, two siblings that come and go would
 * have it move each time. Of one that is cut off from the root it leaves for the next (root-watch.ts).
 */

export interface Candidates {
  readonly count: number;
  /** Index of the one to dial next; 0 is home. */
  readonly next: number;
}

/** A session that was elsewhere for so long has proven that it is good there: going home costs one reconciliation. Jittered to twice as much. */
export const returnAfterMs = 600_000;
/** One that ended sooner died at once, or was never welcomed: the next parent is tried. */
export const sessionMinMs = 2_000;

export function candidates(count: number): Candidates {
  return { count, next: 0 };
}

/** The parent did not answer. */
export function notReached({ count, next }: Candidates): Candidates {
  return { count, next: (next + 1) % count };
}

/** A connection to `next` has ended, so long after its welcome; 0 without one. `goes`: the child itself ended it, to go there. */
export function ended(state: Candidates, afterMs: number, goes?: 'home' | 'on'): Candidates {
  const { count, next } = state;
  if (goes === 'on') return notReached(state);
  if (goes === 'home' || (next !== 0 && afterMs >= returnAfterMs)) return { count, next: 0 };
  return afterMs >= sessionMinMs ? state : notReached(state);
}
