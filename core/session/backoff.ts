/** Full-jitter backoff: waits are uniform between nothing and a bound that doubles, so that many children do not come back at once. */

export interface Backoff {
  readonly attempt: number;
}

const baseMs = 500;
const capMs = 60_000;
/** A session that lived this long was healthy: the next wait is short again. */
export const healthyMs = 120_000;

export const noBackoff: Backoff = { attempt: 0 };

/** `fraction` is uniform in [0, 1). A parent that asked for a longer wait gets it, with jitter on top. */
export function nextWait(backoff: Backoff, fraction: number, askedMs = 0): { waitMs: number; backoff: Backoff } {
  const boundMs = Math.min(capMs, baseMs * 2 ** Math.min(backoff.attempt, 16));
  return { waitMs: Math.round(askedMs + fraction * boundMs), backoff: { attempt: backoff.attempt + 1 } };
}
