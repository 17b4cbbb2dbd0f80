/** A rounded duration for messages: `250 ms`, `5 s`, `1.5 s`. The difference of two times has many meaningless digits. */
export function durationText(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${Number((ms / 1000).toFixed(1))} s`;
}
