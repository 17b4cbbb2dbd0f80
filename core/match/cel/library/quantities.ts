/** The quantity library of Kubernetes (k8s.io/apiserver/pkg/cel/library/quantity.go). */
import type { Environment } from '@marcbachmann/cel-js';
import { parseQuantity, Quantity } from '../base/quantity.ts';
import { definer } from './define.ts';

const type = 'kubernetes.Quantity';
const nanosPerUnit = 1_000_000_000n;
const int64Max = 2n ** 63n - 1n;

export function addQuantities(environment: Environment): void {
  const define = definer(environment);
  environment.registerType(type, Quantity);
  environment.registerOperator(`${type} == ${type}`, (a: Quantity, b: Quantity) => a.equals(b));
  define(`quantity(string): ${type}`, (text: string) => {
    const quantity = parseQuantity(text);
    if (!quantity) throw new TypeError(`not a quantity: ${text}`);
    return quantity;
  });
  define('isQuantity(string): bool', (text: string) => parseQuantity(text) !== undefined);
  // Kubernetes declares `sign` as a function: sign(quantity('1')).
  define(`sign(${type}): int`, ({ nanos }: Quantity) => (nanos > 0n ? 1n : nanos < 0n ? -1n : 0n));
  define(`${type}.isInteger(): bool`, (a: Quantity) => wholeOf(a) !== undefined);
  define(`${type}.asInteger(): int`, (a: Quantity) => {
    const whole = wholeOf(a);
    if (whole === undefined) throw new RangeError('cannot convert value to integer');
    return whole;
  });
  define(`${type}.asApproximateFloat(): double`, (a: Quantity) => Number(a.nanos) / 1e9);
  define(`${type}.add(${type}): ${type}`, (a: Quantity, b: Quantity) => new Quantity(a.nanos + b.nanos));
  define(`${type}.add(int): ${type}`, (a: Quantity, b: bigint) => new Quantity(a.nanos + b * nanosPerUnit));
  define(`${type}.sub(${type}): ${type}`, (a: Quantity, b: Quantity) => new Quantity(a.nanos - b.nanos));
  define(`${type}.sub(int): ${type}`, (a: Quantity, b: bigint) => new Quantity(a.nanos - b * nanosPerUnit));
  define(`${type}.isLessThan(${type}): bool`, (a: Quantity, b: Quantity) => a.nanos < b.nanos);
  define(`${type}.isGreaterThan(${type}): bool`, (a: Quantity, b: Quantity) => a.nanos > b.nanos);
  define(`${type}.compareTo(${type}): int`, (a: Quantity, b: Quantity) =>
    a.nanos < b.nanos ? -1n : a.nanos > b.nanos ? 1n : 0n,
  );
}

/** Undefined: the quantity is no whole number of 64 bits. */
function wholeOf({ nanos }: Quantity): bigint | undefined {
  const whole = nanos / nanosPerUnit;
  return nanos % nanosPerUnit === 0n && whole <= int64Max && whole >= -int64Max - 1n ? whole : undefined;
}
