/** Backoff with full jitter: each wait is random between 0 and a limit, and the limit doubles. So many children do not return at the same time. */

export interface Backoff {
  readonly attempt: number;
}

const baseMs = 500;
const capMs = 60_000;
/** Limit for a wait that a parent asks for, because somebody may repair the reason earlier. */
const askedMaxMs = 600_000;
/** After a session of at least this length, the backoff begins again with a short wait. */
export const healthyMs = 120_000;

export const noBackoff: Backoff = { attempt: 0 };

/**
 * Returns the wait after a planned shutdown of the parent, which sent the time of its return. No child returns earlier, and jitter spreads the children. The
 * shutdown does not count as a failure.
 */
export function waitForReturn(fraction: number, returnAfterMs: number): number {
  return Math.round(returnAfterMs + fraction * Math.max(baseMs, returnAfterMs));
}

/**
 * Returns the next wait. `fraction` is uniform in [0, 1). If the parent asked for a wait (`askedMs`), the child waits this time and only a little more: the
 * parent gives its children different waits, so they are spread already.
 */
export function nextWait(backoff: Backoff, fraction: number, askedMs = 0): { waitMs: number; backoff: Backoff } {
  const boundMs = askedMs > 0 ? baseMs : Math.min(capMs, baseMs * 2 ** Math.min(backoff.attempt, 16));
  const waitMs = Math.round(Math.min(askedMs, askedMaxMs) + fraction * boundMs);
  return { waitMs, backoff: { attempt: backoff.attempt + 1 } };
}
