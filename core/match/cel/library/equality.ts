/** Equality of two values of expressions, as the operator `==` has it for values of unknown types. */
import { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator';

/** A value of a library that is equal to others of its kind. */
export interface Comparable {
  equals(other: unknown): boolean;
}

export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  const [number, other] = [numberOf(a), numberOf(b)];
  // Neither is greater: a bigint is never identical to a number.
  if (number !== undefined && other !== undefined) return number <= other && number >= other;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => isEqual(item, b[index]));
  }
  if (a instanceof Map) {
    return (
      b instanceof Map && a.size === b.size && [...a].every(([key, value]) => b.has(key) && isEqual(value, b.get(key)))
    );
  }
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  if (a instanceof Date) return b instanceof Date && a.getTime() === b.getTime();
  if (a instanceof Duration) return b instanceof Duration && a.seconds === b.seconds && a.nanos === b.nanos;
  return isComparable(a) && a.equals(b);
}

/** Numbers of all types are compared by their value. */
function numberOf(value: unknown): bigint | number | undefined {
  if (value instanceof UnsignedInt) return value.value;
  return typeof value === 'bigint' || typeof value === 'number' ? value : undefined;
}

function isComparable(value: unknown): value is Comparable {
  return typeof value === 'object' && value !== null && 'equals' in value;
}
