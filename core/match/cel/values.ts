/** Values of expressions. Whole numbers are bigint, other numbers are number. Objects are Map, because a field may have a name such as `constructor`. */
import type { Optional } from '@marcbachmann/cel-js';
import type { Duration } from '@marcbachmann/cel-js/evaluator';

export type CelValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Date
  | Duration
  | Optional<CelValue>
  | CelValue[]
  | Map<string, CelValue>;

/** Converts a JSON value. A whole number becomes a bigint. */
export function celValue(value: unknown): CelValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'bigint':
      return value;
    case 'number':
      return Number.isSafeInteger(value) ? BigInt(value) : value;
    case 'object': {
      if (value === null) return null;
      if (Array.isArray(value)) return value.map(celValue);
      const map = new Map<string, CelValue>();
      for (const [name, field] of Object.entries(value)) {
        if (field !== undefined) map.set(name, celValue(field));
      }
      return map;
    }
    default:
      return null;
  }
}

const keywords = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

/**
 * The name of a field in expressions, escaped as Kubernetes does. Undefined: expressions cannot read the field.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#escaping
 */
export function celFieldName(name: string): string | undefined {
  if (keywords.has(name)) return `__${name}__`;
  const escaped = name
    .replaceAll('__', '__underscores__')
    .replaceAll('.', '__dot__')
    .replaceAll('-', '__dash__')
    .replaceAll('/', '__slash__');
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(escaped) ? escaped : undefined;
}
