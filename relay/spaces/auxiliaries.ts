/**
 * Objects of a space that never go to a cluster but say what becomes of those that do: Customizers and StatusSummarizers. They travel to
 * the relays where something uses them.
 */

import { edgeGroup } from '../../core/apiserver/kinds/edge-kinds.ts';
import type { DownsyncItem, EdgePlacementSpec } from '../../core/apiserver/kinds/edge-placement.ts';
import { customizerAnnotation, customizerResource, expandAnnotation } from '../../core/customize/customizer.ts';
import type { ObjectAttributes } from '../../core/entries/down-attributes.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';

const group = edgeGroup;
const summarizers = 'statussummarizers';

export function isAuxiliary(key: ObjectKey): boolean {
  return key.group === group && (key.resource === customizerResource || key.resource === summarizers);
}

/** What the object uses by the items that select it. */
export function auxiliariesOf(key: ObjectKey, object: KubeObject, items: readonly DownsyncItem[]): ObjectKey[] {
  return [
    ...customizersOf(key, object, items).map((text) => {
      const [namespace = '', name = ''] = text.split('/');
      return { group, resource: customizerResource, namespace, name };
    }),
    ...summarizersOf(items).map((name) => ({ group, resource: summarizers, namespace: '', name })),
  ];
}

/** The same, as the object's row says it to the last hop. */
export function usesOf(
  key: ObjectKey,
  object: KubeObject,
  selecting: readonly { placement: string; items: readonly DownsyncItem[] }[],
): Pick<ObjectAttributes, 'customizers' | 'expand' | 'summarizers'> {
  // Placements in order of name, so that what two of them say is applied in the same order everywhere.
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

/** Those of the items first, then the object's own. */
function customizersOf(key: ObjectKey, object: KubeObject, items: readonly DownsyncItem[]): string[] {
  const own = object.metadata.annotations?.[customizerAnnotation];
  const names = [...items.flatMap((item) => item.customizers ?? []), ...(own ? [own] : [])];
  return [...new Set(names.map((name) => (name.includes('/') ? name : `${key.namespace}/${name}`)))];
}

/** Those that a placement names: they travel with it, whether or not there are objects of its rules, since a summary of nothing is one too. */
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
