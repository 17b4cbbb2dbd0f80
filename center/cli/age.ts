/** The age of something, as the commands show it: `5s`, `18m`, `3h`, `2d`. Infinity is `never`. */
export function ageText(ageMs: number): string {
  if (ageMs === Number.POSITIVE_INFINITY) return 'never';
  const seconds = Math.max(0, Math.floor(ageMs / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
