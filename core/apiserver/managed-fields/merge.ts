/** The two steps of server-side apply. The merge adds the configuration to the live object and removes nothing. Then `prune` removes fields. */
import { ownField, setField } from '../../object/json-value.ts';
import type { FieldType, ListType } from '../schema.ts';
import type { FieldSet } from './field-set.ts';
import { type Fields, fieldName, itemElement, itemsByElement, shapeOf, typeOfField } from './typed-value.ts';

/** Changes neither argument. The result shares parts with both. */
export function mergeManagedFields(live: unknown, config: unknown, type: FieldType): unknown {
  const to = shapeOf(live, type);
  const from = shapeOf(config, type);
  if (to.shape === 'map' && from.shape === 'map') return mergeMaps(to.value, from.value, type);
  if (to.shape === 'list' && from.shape === 'list') return mergeLists(to.value, from.value, from.type);
  return config;
}

function mergeMaps(live: Fields, config: Fields, type: FieldType): Fields {
  const result: Fields = { ...live };
  for (const name in config) {
    const value = config[name];
    if (value === undefined) continue;
    const before = ownField(live, name);
    setField(result, name, before === undefined ? value : mergeManagedFields(before, value, typeOfField(type, name)));
  }
  return result;
}

/**
 * Items of the configuration have the order of the configuration. An item that only `live` has follows the same item as in `live`. `live` may have an
 * element several times. Such items stay unless the configuration has the element: then its item takes the place of all of them.
 */
function mergeLists(live: readonly unknown[], config: readonly unknown[], type: ListType): unknown[] {
  const liveItems = new Map<string, unknown[]>();
  for (const item of live) {
    const element = itemElement(item, type);
    liveItems.set(element, [...(liveItems.get(element) ?? []), item]);
  }
  const configItems = itemsByElement(config, type);
  const liveElements = [...liveItems.keys()];
  const result: unknown[] = [];
  const done = new Set<string>();
  let next = 0;
  const takeLiveOnly = (): void => {
    while (next < liveElements.length) {
      const element = liveElements[next]!;
      if (configItems.has(element) && !done.has(element)) return;
      if (!configItems.has(element)) result.push(...liveItems.get(element)!);
      next += 1;
    }
  };
  for (const [element, item] of configItems) {
    takeLiveOnly();
    const [before, ...more] = liveItems.get(element) ?? [];
    result.push(before !== undefined && more.length === 0 ? mergeManagedFields(before, item, type.items) : item);
    done.add(element);
  }
  takeLiveOnly();
  return result;
}

/**
 * Removes the fields that the applier has set before (`last`) and that nobody owns now (not in `owned`). If nobody owns any part of a field, removes the
 * whole field, including its defaults.
 */
export function prune(value: unknown, last: FieldSet, owned: FieldSet, type: FieldType): unknown {
  const shape = shapeOf(value, type);
  if (shape.shape === 'map') return pruneMap(shape.value, last, owned, type);
  if (shape.shape === 'list') return pruneList(shape.value, last, owned, shape.type);
  return value;
}

function pruneMap(value: Fields, last: FieldSet, owned: FieldSet, type: FieldType): Fields {
  let result: Fields | undefined;
  for (const element in last) {
    const name = fieldName(element);
    const before = name === undefined ? undefined : ownField(value, name);
    if (name === undefined || before === undefined) continue;
    const owner = owned[element];
    const rest = owner && prune(before, last[element]!, owner, typeOfField(type, name));
    if (rest === before) continue;
    result ??= { ...value };
    if (rest === undefined) delete result[name];
    else setField(result, name, rest);
  }
  return result ?? value;
}

function pruneList(list: readonly unknown[], last: FieldSet, owned: FieldSet, type: ListType): readonly unknown[] {
  let isChanged = false;
  const result: unknown[] = [];
  for (const item of list) {
    const element = itemElement(item, type);
    const before = last[element];
    const owner = owned[element];
    const rest = !before ? item : owner && prune(item, before, owner, type.items);
    isChanged ||= rest !== item;
    if (rest !== undefined) result.push(rest);
  }
  return isChanged ? result : list;
}
