/** The sets library (ext.Sets of cel-go): lists as sets. */
import type { Environment } from '@marcbachmann/cel-js';
import { chargeSteps } from '../base/charge.ts';
import { definer } from './define.ts';
import { isEqual } from './equality.ts';
import { namespace } from './namespaces.ts';

export function addSets(environment: Environment): void {
  const define = definer(environment);
  const sets = namespace('sets');
  define(`${sets}.contains(list<T>, list<T>): bool`, (_, list: unknown[], part: unknown[]) => hasAll(list, part));
  define(`${sets}.equivalent(list<T>, list<T>): bool`, (_, a: unknown[], b: unknown[]) => hasAll(a, b) && hasAll(b, a));
  define(`${sets}.intersects(list<T>, list<T>): bool`, (_, a: unknown[], b: unknown[]) => {
    chargeSteps(a.length * b.length);
    return a.some((item) => b.some((other) => isEqual(item, other)));
  });
}

function hasAll(list: readonly unknown[], part: readonly unknown[]): boolean {
  chargeSteps(list.length * part.length);
  return part.every((item) => list.some((other) => isEqual(item, other)));
}
