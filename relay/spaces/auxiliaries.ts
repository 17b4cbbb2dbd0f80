/**
 * Customizers and StatusSummarizers: objects of a space that never go to a cluster, but change or summarise objects that do. They travel to the relays where an
 * object or a placement uses them.
 */

import { type DownsyncItem, type EdgePlacementSpec, edgeGroup } from '../../core/apiserver/kinds/edge-placement.ts';
import { customizerAnnotation, customizerResource, expandAnnotation } from '../../core/customize/customizer.ts';
import type { ObjectAttributes } from '../../core/entries/down-attributes.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';

const group = edgeGroup;
const summarizers = 'statussummarizers';

export function isAuxiliary(key: ObjectKey): boolean {
  return key.group === group && (key.resource === customizerResource || key.resource === summarizers);
}

/** Returns the auxiliary objects that the object uses. `items` are the items that select the object. */
export function auxiliariesOf(key: ObjectKey, object: KubeObject, items: readonly DownsyncItem[]): ObjectKey[] {
  return [
    ...customizersOf(key, object, items).map((text) => {
      const [namespace = '', name = ''] = text.split('/');
      return { group, resource: customizerResource, namespace, name };
    }),
    ...summarizersOf(items).map((name) => ({ group, resource: summarizers, namespace: '', name })),
  ];
}

/** Returns the same uses, as attributes of the object's row. The last hop reads them. */
export function usesOf(
  key: ObjectKey,
  object: KubeObject,
  selecting: readonly { placement: string; items: readonly DownsyncItem[] }[],
): Pick<ObjectAttributes, 'customizers' | 'expand' | 'summarizers'> {
  // Sorted by the name of the placement, so that the uses of two placements are applied in the same order everywhere.
  const sorted = [...selecting].sort((a, b) => (a.placement < b.placement ? -1 : 1));
  const used =
    selecting.length > 0
      ? customizersOf(
          key,
          object,
          sorted.flatMap(({ items }) => items),
        )
      : [];
  const named = sorted.map(({ placement, items }) => [placement, summarizersOf(items)] as const);
  const summarized = named.filter(([, names]) => names.length > 0);
  return {
    ...(used.length > 0 ? { customizers: used } : {}),
    ...(object.metadata.annotations?.[expandAnnotation] === 'true' ? { expand: true } : {}),
    ...(summarized.length > 0 ? { summarizers: Object.fromEntries(summarized) } : {}),
  };
}

/** Returns the Customizers of the items, then the Customizer that the object itself names. */
function customizersOf(key: ObjectKey, object: KubeObject, items: readonly DownsyncItem[]): string[] {
  const annotated = object.metadata.annotations?.[customizerAnnotation];
  const names = [...items.flatMap((item) => item.customizers ?? []), ...(annotated ? [annotated] : [])];
  return [...new Set(names.map((name) => (name.includes('/') ? name : `${key.namespace}/${name}`)))];
}

/**
 * Returns the StatusSummarizers that a placement names. They travel with the placement even if its rules select no objects: a summary of nothing is a summary
 * too.
 */
export function namedSummarizers({
  downsync = [],
  upsync = [],
  associated = [],
}: Partial<EdgePlacementSpec>): string[] {
  return [...new Set([...downsync, ...upsync, ...associated].flatMap((item) => item.statusSummarizers ?? []))].sort();
}

export function isSummarizer(key: ObjectKey): boolean {
  return key.group === group && key.resource === summarizers;
}

export function summarizerKey(name: string): ObjectKey {
  return { group, resource: summarizers, namespace: '', name };
}

function summarizersOf(items: readonly DownsyncItem[]): string[] {
  return [...new Set(items.flatMap((item) => item.statusSummarizers ?? []))].sort();
}
