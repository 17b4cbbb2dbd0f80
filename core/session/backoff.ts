/** Full-jitter backoff: a wait is uniform between nothing and a bound that doubles, so that many children do not come back at once. */

export interface Backoff {
  readonly attempt: number;
}

const baseMs = 500;
const capMs = 60_000;
/** Upper bound of the wait that a parent may ask for, because the reason may be repaired earlier. */
const askedMaxMs = 600_000;
/** A session that lasted this long was healthy: the next wait is short again. */
export const healthyMs = 120_000;

export const noBackoff: Backoff = { attempt: 0 };

/**
 * The parent ended in order and sent the time of its return. No child comes earlier, the children do not come all at once, and this is not counted as a
 * failure.
 */
export function waitForReturn(fraction: number, returnAfterMs: number): number {
  return Math.round(returnAfterMs + fraction * Math.max(baseMs, returnAfterMs));
}

/**
 * `fraction` is uniform in [0, 1). If the parent asked for a wait, the child waits that long and little more, because the parent has already spread its
 * children by these waits.
 */
export function nextWait(backoff: Backoff, fraction: number, askedMs = 0): { waitMs: number; backoff: Backoff } {
  const boundMs = askedMs > 0 ? baseMs : Math.min(capMs, baseMs * 2 ** Math.min(backoff.attempt, 16));
  const waitMs = Math.round(Math.min(askedMs, askedMaxMs) + fraction * boundMs);
  return { waitMs, backoff: { attempt: backoff.attempt + 1 } };
}
