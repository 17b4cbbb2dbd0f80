/** Warns about `spec.downsync[].except` that leaves out everything or nothing. Such a rule is valid, and probably a mistake. */
import { stableStringify } from '../../object/canonical.ts';
import { type LabelSelector, requirementsOf } from '../../object/selector.ts';
import type { DownsyncItem, DownsyncMatch } from './edge-placement.ts';

/** The combinations of the values of one item that are looked at. A rule with more combinations gets no warning. */
const combinationsMax = 1_000;
const any = '*';

export function exceptWarnings(items: readonly DownsyncItem[] | undefined): string[] {
  return (items ?? []).flatMap((item, index) => {
    const field = `spec.downsync[${index}]`;
    const { except = [] } = item;
    if (except.length === 0 || (item.resources ?? []).length === 0) return [];
    if (leavesOutAll(item, except)) {
      return [
        `${field}.except: leaves out everything that ${field} selects, so ${field} selects nothing; make except narrower`,
      ];
    }
    return except.flatMap((one, i) => {
      const why = emptyBy(item, one);
      return why
        ? [`${field}.except[${i}]: leaves out nothing, because ${field} selects no object with its ${why}`]
        : [];
    });
  });
}

/** One combination of the values of an item. `*`: any value. */
interface Combination {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

function leavesOutAll(item: DownsyncItem, except: readonly DownsyncMatch[]): boolean {
  const [resources, namespaces, names] = [
    valuesOf(item.resources),
    valuesOf(item.namespaces),
    valuesOf(item.objectNames),
  ];
  if (resources.length * namespaces.length * names.length > combinationsMax) return false;
  const all = resources.flatMap((resource) =>
    namespaces.flatMap((namespace) => names.map((name): Combination => ({ resource, namespace, name }))),
  );
  return all.length > 0 && all.every((combination) => except.some((one) => covers(one, item, combination)));
}

function valuesOf(list: readonly string[] | undefined): readonly string[] {
  return !list || list.includes(any) ? [any] : list;
}

/** Whether `except` matches all objects of the item with this combination of values. */
function covers(except: DownsyncMatch, item: DownsyncItem, { resource, namespace, name }: Combination): boolean {
  const { apiGroup = any, resources, namespaces, namespaceSelectors, objectNames, labelSelectors } = except;
  const includes = (list: readonly string[] | undefined, value: string) =>
    !list || list.includes(any) || list.includes(value);
  const asksForNamespace = namespaces !== undefined || namespaceSelectors !== undefined;
  const isOnlyNamespaced = item.namespaces !== undefined || item.namespaceSelectors !== undefined;
  return (
    (apiGroup === any || apiGroup === item.apiGroup) &&
    includes(resources, resource) &&
    includes(objectNames, name) &&
    (!asksForNamespace || isOnlyNamespaced) &&
    includes(namespaces, namespace) &&
    includesSelectors(namespaceSelectors, item.namespaceSelectors) &&
    includesSelectors(labelSelectors, item.labelSelectors)
  );
}

/** Whether the selectors match whatever `of` matches, as far as their texts show. */
function includesSelectors(selectors: readonly LabelSelector[] | undefined, of: readonly LabelSelector[] | undefined) {
  if (!selectors || selectors.some((selector) => requirementsOf(selector).length === 0)) return true;
  const texts = new Set(selectors.map(stableStringify));
  return of?.every((selector) => texts.has(stableStringify(selector))) ?? false;
}

/** The field by which the item and its exception have no object in common. Undefined: they may have one. */
function emptyBy(item: DownsyncItem, except: DownsyncMatch): string | undefined {
  const lists = [
    ['apiGroup', [item.apiGroup ?? any], [except.apiGroup ?? any]],
    ['resources', item.resources, except.resources],
    ['namespaces', item.namespaces, except.namespaces],
    ['objectNames', item.objectNames, except.objectNames],
  ] as const;
  return lists.find(([, of, left]) => of && left && areDisjoint(of, left))?.[0];
}

function areDisjoint(a: readonly string[], b: readonly string[]): boolean {
  return !a.includes(any) && !b.includes(any) && !a.some((value) => b.includes(value));
}
