/**
 * Which of several parents a child dials next: its home first, then the others. Pure; failover-dialer.ts carries the decision out.
 *
 * When a session ends, the child dials the same parent once more, since a short interruption of the line is no reason to move. Then it dials the next parent,
 * and so on in a circle. A child that is attached elsewhere goes home when its session there ends, or when that session has lasted long. If it went home
 * earlier, two replicas that come and go would make the child move each time. A child whose parent is cut off from the root leaves for the next parent
 * (root-watch.ts).
 */

export interface Candidates {
  readonly count: number;
  /** Index of the parent to dial next; 0 is home. */
  readonly next: number;
}

/**
 * A session elsewhere that has lasted this long has proven that the parent there works; going home costs one reconciliation. Jitter makes the time up to
 * twice as long.
 */
export const returnAfterMs = 600_000;
/** A session that lasted less failed at once, or was never welcomed: the child dials the next parent. */
export const sessionMinMs = 2_000;

export function candidates(count: number): Candidates {
  return { count, next: 0 };
}

/** The parent did not answer. */
export function notReached({ count, next }: Candidates): Candidates {
  return { count, next: (next + 1) % count };
}

/**
 * A connection to `next` has ended, `afterMs` after its Welcome; 0 if there was no Welcome. `leavesFor`: the child itself ended the connection, to go home or on
 * to the next parent.
 */
export function ended(state: Candidates, afterMs: number, leavesFor?: 'home' | 'on'): Candidates {
  const { count, next } = state;
  if (leavesFor === 'on') return notReached(state);
  if (leavesFor === 'home' || (next !== 0 && afterMs >= returnAfterMs)) return { count, next: 0 };
  return afterMs >= sessionMinMs ? state : notReached(state);
}
