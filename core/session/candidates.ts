/**
 * Decides which of several parents a child dials next: first its home, then the others. Pure functions; failover-dialer.ts carries the decision out.
 *
 * When a session ends, the child first dials the same parent once more, because a short interruption of the line is no reason to change. Then it dials the
 * next parent, and so on in a circle. A child at another parent goes home after a session of `returnAfterMs`. If it went home earlier, two unstable replicas
 * would make the child move again and again. If the parent is cut off from the root, the child dials the next parent (root-watch.ts).
 */

export interface Candidates {
  readonly count: number;
  /** Index of the parent to dial next; 0 is home. */
  readonly next: number;
}

/**
 * Time after which a child at another parent goes home. A shorter time would cost too much, because each change costs a reconciliation. Jitter makes the time
 * up to twice as long.
 */
export const returnAfterMs = 600_000;
/** A session shorter than this counts as failed, also one without a Welcome: the child dials the next parent. */
export const sessionMinMs = 2_000;

export function candidates(count: number): Candidates {
  return { count, next: 0 };
}

/** The state after a dial that the parent did not answer: the next parent has its turn. */
export function notReached({ count, next }: Candidates): Candidates {
  return { count, next: (next + 1) % count };
}

/**
 * The state after a connection to `next` has ended. `afterMs`: the time since the Welcome; 0 if there was no Welcome. `leavesFor`: set if the child itself ended
 * the connection, to go home, or on to the next parent.
 */
export function ended(state: Candidates, afterMs: number, leavesFor?: 'home' | 'on'): Candidates {
  const { count, next } = state;
  if (leavesFor === 'on') return notReached(state);
  if (leavesFor === 'home' || (next !== 0 && afterMs >= returnAfterMs)) return { count, next: 0 };
  return afterMs >= sessionMinMs ? state : notReached(state);
}
