/** Conversions of the language that the engine lacks: https://github.com/google/cel-spec/blob/master/doc/langdef.md#list-of-standard-definitions */
import type { Environment } from '@marcbachmann/cel-js';
import type { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { definer } from './define.ts';
import { durationLiteral, timeText } from './times.ts';

const timestamp = 'google.protobuf.Timestamp';
const duration = 'google.protobuf.Duration';
const int64Max = 2n ** 63n - 1n;

export function addConversions(environment: Environment): void {
  const define = definer(environment);
  define(`string(${timestamp}): string`, timeText);
  define(`string(${duration}): string`, durationLiteral);
  define(`int(${timestamp}): int`, (time: Date) => BigInt(Math.floor(time.getTime() / 1000)));
  // In nanoseconds, as in cel-go.
  define(`int(${duration}): int`, ({ seconds, nanos }: Duration) => seconds * 1_000_000_000n + BigInt(nanos));
  define('int(uint): int', ({ value }: UnsignedInt) => {
    if (value > int64Max) throw new RangeError('integer overflow');
    return value;
  });
  define(`timestamp(${timestamp}): ${timestamp}`, (time: Date) => time);
  define(`duration(${duration}): ${duration}`, (one: Duration) => one);
}
