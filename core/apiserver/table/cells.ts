/** The parts of columns of `kubectl get`: values at paths, and the texts of Kubernetes for absent values, labels and selectors. */
import type { KubeObject } from '../../object/meta.ts';
import { ageOf } from './ages.ts';

export interface ComputedColumn {
  readonly name: string;
  readonly priority: number;
  readonly type: 'string' | 'integer' | 'boolean' | 'date';
  readonly format?: 'name';
  cell(object: KubeObject, nowMs: number): CellValue;
}

export type CellValue = string | number | boolean;
export type ReadFields = Record<string, unknown>;

/** The value at a path of names. The type is not checked, because a table prints any value. */
export function get(object: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((at, name) => (at as ReadFields | undefined | null)?.[name], object);
}

export const number = (object: unknown, path: string, otherwise = 0) => Number(get(object, path) ?? otherwise);
export const textAt = (object: unknown, path: string, otherwise = '') => String(get(object, path) ?? otherwise);
/** As `textAt`, and an empty text counts as absent. */
export const textOr = (object: unknown, path: string, otherwise: string) => textAt(object, path) || otherwise;
export const listAt = (object: unknown, path: string) => (get(object, path) ?? []) as ReadFields[];
export const count = (object: unknown, path: string) => Object.keys((get(object, path) ?? {}) as object).length;

export const column = (
  name: string,
  cell: ComputedColumn['cell'],
  priority = 0,
  type: ComputedColumn['type'] = 'string',
): ComputedColumn => ({ name, cell, priority, type });
export const field = (name: string, path: string, otherwise = '', priority = 0) =>
  column(name, (o) => textAt(o, path, otherwise), priority);
export const integerColumn = (name: string, path: string) => column(name, (o) => number(o, path), 0, 'integer');
export const booleanColumn = (name: string, path: string, otherwise = false) =>
  column(name, (o) => (get(o, path) ?? otherwise) === true, 0, 'boolean');
/** The number of entries. Kubernetes calls the type of such columns a string, and sends a number. */
export const entries = (name: string, ...paths: readonly string[]) =>
  column(name, (o) => paths.reduce((sum, path) => sum + count(o, path), 0));
export const wide = (one: ComputedColumn): ComputedColumn => ({ ...one, priority: 1 });

export const nameColumn: ComputedColumn = { ...column('Name', (o) => o.metadata.name ?? ''), format: 'name' };
export const ageColumn = column('Age', (o, nowMs) => ageOf(o.metadata.creationTimestamp, nowMs));
/** The only column beside the name of a built-in kind for which Kubernetes has no columns. */
export const createdAt = column('Created At', (o) => textAt(o, 'metadata.creationTimestamp'), 0, 'date');

export const containerColumns = (path: string) =>
  [
    ['Containers', 'name'],
    ['Images', 'image'],
  ].map(([title, of]) =>
    column(title!, (o) =>
      listAt(o, `${path}.containers`)
        .map((one) => textAt(one, of!))
        .join(','),
    ),
  );

export function labelsText(labels: unknown): string {
  const texts = Object.entries((labels ?? {}) as Record<string, string>).map(([key, value]) => `${key}=${value}`);
  return texts.sort().join(',') || '<none>';
}

/** A label selector as text: the requirements ordered by key. Empty: it has none. */
export function requirementsText(selector: unknown): string {
  const equal = Object.entries((get(selector, 'matchLabels') ?? {}) as Record<string, string>);
  const requirements = [
    ...equal.map(([key, value]) => ({ key, shown: `${key}=${value}` })),
    ...listAt(selector, 'matchExpressions').map((one) => ({ key: String(one.key), shown: requirementText(one) })),
  ];
  return requirements
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ shown }) => shown)
    .join(',');
}

function requirementText(one: ReadFields): string {
  const values = `(${(listAt(one, 'values') as unknown as string[]).toSorted().join(',')})`;
  switch (one.operator) {
    case 'In':
      return `${one.key} in ${values}`;
    case 'NotIn':
      return `${one.key} notin ${values}`;
    case 'DoesNotExist':
      return `!${one.key}`;
    default:
      return String(one.key);
  }
}

export const selectorColumn = (path: string) =>
  wide(column('Selector', (o) => requirementsText(get(o, path)) || '<none>'));

/** The first texts of a list, and how many more there are. Absent texts do not count as shown. */
export function firstOf(texts: readonly string[], most: number, total = texts.length): string {
  const shown = texts.slice(0, most).join(',');
  return total > most ? `${shown} + ${total - most} more...` : shown;
}
