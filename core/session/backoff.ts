/** Full-jitter backoff: waits are uniform between nothing and a bound that doubles, so that many children do not come back at once. */

export interface Backoff {
  readonly attempt: number;
}

const baseMs = 500;
const capMs = 60_000;
/** However long a parent asks for: it may have been mended since. */
const askedMaxMs = 600_000;
/** A session that lived this long was healthy: the next wait is short again. */
export const healthyMs = 120_000;

export const noBackoff: Backoff = { attempt: 0 };

/** A parent that ended in order and said when it is back: nobody comes before, nor all at once after, and it is no failure. */
export function waitForReturn(fraction: number, returnAfterMs: number): number {
  return Math.round(returnAfterMs + fraction * Math.max(baseMs, returnAfterMs));
}

/** `fraction` is uniform in [0, 1). A parent that asked for a wait gets it, with little on top: it has spread its children by it. */
export function nextWait(backoff: Backoff, fraction: number, askedMs = 0): { waitMs: number; backoff: Backoff } {
  const boundMs = askedMs > 0 ? baseMs : Math.min(capMs, baseMs * 2 ** Math.min(backoff.attempt, 16));
  const waitMs = Math.round(Math.min(askedMs, askedMaxMs) + fraction * boundMs);
  return { waitMs, backoff: { attempt: backoff.attempt + 1 } };
}
