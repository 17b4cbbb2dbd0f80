/** The lists library of Kubernetes (k8s.io/apiserver/pkg/cel/library/lists.go). `result-types.ts` checks the types of the items. */
import type { Environment } from '@marcbachmann/cel-js';
import { Duration } from '@marcbachmann/cel-js/evaluator';
import { definer } from './define.ts';
import { isEqual } from './equality.ts';

type Ordered = bigint | number | string | boolean | Date | Duration;

export function addLists(environment: Environment): void {
  const define = definer(environment);
  define('list.isSorted(): bool', (list: Ordered[]) =>
    list.every((item, index) => index === 0 || list[index - 1]! <= item),
  );
  define('list.sum(): dyn', (list: (bigint | number | Duration)[]) => list.slice(1).reduce(sum, list[0] ?? 0n));
  define('list.min(): dyn', (list: Ordered[]) => first(list, 'min', (a, b) => a < b));
  define('list.max(): dyn', (list: Ordered[]) => first(list, 'max', (a, b) => a > b));
  define('list<T>.indexOf(T): int', (list: unknown[], item: unknown) =>
    BigInt(list.findIndex((one) => isEqual(one, item))),
  );
  define('list<T>.lastIndexOf(T): int', (list: unknown[], item: unknown) =>
    BigInt(list.findLastIndex((one) => isEqual(one, item))),
  );
}

function sum(a: bigint | number | Duration, b: bigint | number | Duration): bigint | number | Duration {
  if (a instanceof Duration && b instanceof Duration) return a.addDuration(b);
  return typeof a === 'bigint' && typeof b === 'bigint' ? a + b : Number(a) + Number(b);
}

/** The first item in the order of `isBefore`. */
function first(list: Ordered[], name: string, isBefore: (a: Ordered, b: Ordered) => boolean): Ordered {
  const [head, ...rest] = list;
  if (head === undefined) throw new RangeError(`${name} called on empty list`);
  let found = head;
  for (const item of rest) if (isBefore(item, found)) found = item;
  return found;
}
