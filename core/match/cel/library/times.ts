/** Times and durations as texts, as CEL writes them. */
import type { Duration } from '@marcbachmann/cel-js/evaluator';

/** `2026-01-02T03:04:05.5Z` */
export function timeText(time: Date): string {
  return time.toISOString().replace(/(?:\.0+|(\.\d*?)0+)Z$/, '$1Z');
}

/** `5400.5s` */
export function durationLiteral({ seconds, nanos }: Duration): string {
  const isNegative = seconds < 0n || nanos < 0;
  const part = String(Math.abs(nanos)).padStart(9, '0').replace(/0+$/, '');
  const whole = seconds < 0n ? -seconds : seconds;
  return `${isNegative ? '-' : ''}${whole}${part === '' ? '' : `.${part}`}s`;
}
