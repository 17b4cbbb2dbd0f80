/** A duration for messages, without the fractions that are left when one time is taken from another: `250 ms`, `5 s`, `1.5 s`. */
export function durationText(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${Number((ms / 1000).toFixed(1))} s`;
}
