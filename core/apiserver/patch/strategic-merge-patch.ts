/**
 * Strategic merge patch, as kubectl makes it and the Kubernetes API server applies it. It is a merge patch that treats some lists as sets, and merges the
 * items of some lists by a key field. The `patchStrategy` and `patchMergeKey` in the schema of the kind show which lists these are.
 *
 * A patch contains fields and directives:
 *   `$patch: replace | delete | merge`         in an object or in an item of a keyed list
 *   `$retainKeys: [field, …]`                  removes all other fields of this object
 *   `$deleteFromPrimitiveList/<field>: […]`    values to remove from a set
 *   `$setElementOrder/<field>: […]`            the order of the items that the author of the patch has
 * https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/ and apimachinery's util/strategicpatch.
 *
 * There are two differences to Kubernetes. `$patch: merge` is allowed; it is the default. And if the result takes a part of the patch as a whole, the part
 * has no nulls and no directives: Kubernetes loses them when it decodes the result into Go types.
 */

import { isNumber, isWhole } from '../../object/json.ts';
import { ownField, setField } from '../../object/json-value.ts';
import { isRecord } from '../../runtime/is-record.ts';
import { goText, goTypeOf } from '../decoding.ts';
import type { FieldType } from '../schema.ts';
import { badRequest } from '../status-errors.ts';
import { type KeyOf, orderItems } from './list-order.ts';

type PatchFields = Record<string, unknown>;

/** Changes neither argument. The result may share parts with both. */
export function strategicMergePatch(original: PatchFields, patch: PatchFields, type: FieldType): PatchFields {
  return mergeObject(original, patch, type);
}

const patchMark = '$patch';
const retainMark = '$retainKeys';
const orderPrefix = '$setElementOrder/';
const deletePrefix = '$deleteFromPrimitiveList/';

/** The way to patch a field. `below` is the type of the field's value, or of its items. */
interface Strategy {
  readonly below: FieldType | undefined;
  readonly merge: boolean;
  readonly replace: boolean;
  readonly mergeKey: string | undefined;
}

function strategyFor(type: FieldType | undefined, name: string): Strategy {
  const field = type?.type === 'object' ? type.field(name) : undefined;
  const value = type?.type === 'map' ? type.values : field?.type;
  return {
    below: value?.type === 'list' ? value.items : value,
    merge: field?.patchStrategy?.merge ?? false,
    replace: field?.patchStrategy?.replace ?? false,
    mergeKey: field?.patchMergeKey,
  };
}

function mergeObject(original: PatchFields, patch: PatchFields, type: FieldType | undefined): PatchFields {
  switch (ownField(patch, patchMark)) {
    case undefined:
    case 'merge':
      break;
    case 'replace':
      return withoutDirectives(patch) as PatchFields;
    case 'delete':
      return {};
    default:
      throw unknownDirective(patch);
  }
  const result = retained(original, patch);
  const ordered = mergeOrderedLists(result, patch, type);
  for (const [key, value] of Object.entries(patch)) {
    if (key === patchMark || key === retainMark || key.startsWith(orderPrefix) || ordered.has(key)) continue;
    if (key.startsWith(deletePrefix)) takeOut(result, key.slice(deletePrefix.length), value);
    else mergeField(result, key, value, strategyFor(type, key));
  }
  return result;
}

function mergeField(result: PatchFields, name: string, value: unknown, strategy: Strategy): void {
  const before = ownField(result, name);
  if (value === null) {
    delete result[name];
  } else if (isRecord(value) && isRecord(before) && !strategy.replace) {
    setField(result, name, mergeObject(before, value, strategy.below));
  } else if (Array.isArray(value) && Array.isArray(before) && strategy.merge) {
    setField(result, name, mergeList(before, value, strategy, name));
  } else if (isRecord(value) && Object.hasOwn(value, patchMark) && !isRecord(before)) {
    // The directive is for a field that does not exist, so there is nothing to delete or replace.
    delete result[name];
  } else {
    setField(result, name, withoutDirectives(value));
  }
}

/** A copy of `original` with only the fields in the patch's `$retainKeys`. */
function retained(original: PatchFields, patch: PatchFields): PatchFields {
  const keys = ownField(patch, retainMark);
  if (keys === undefined) return { ...original };
  if (!Array.isArray(keys)) throw badRequest('invalid patch format of retainKeys');
  const kept = new Set<unknown>(keys);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null || name.startsWith('$')) continue;
    if (!kept.has(name)) throw badRequest(`invalid patch format of retainKeys: ${name} is patched and not retained`);
  }
  const result: PatchFields = {};
  for (const [name, value] of Object.entries(original)) if (kept.has(name)) setField(result, name, value);
  return result;
}

function takeOut(result: PatchFields, name: string, values: unknown): void {
  if (!Array.isArray(values)) throw badRequest('invalid patch format of primitive list');
  const before = ownField(result, name);
  if (!Array.isArray(before)) return;
  const out = new Set<unknown>(values);
  setField(
    result,
    name,
    before.filter((item) => !out.has(item)),
  );
}

/** Merges the lists for which the patch contains an order. Returns the names of these lists. */
function mergeOrderedLists(result: PatchFields, patch: PatchFields, type: FieldType | undefined): Set<string> {
  const merged = new Set<string>();
  for (const [key, order] of Object.entries(patch)) {
    if (!key.startsWith(orderPrefix)) continue;
    const name = key.slice(orderPrefix.length);
    if (!Array.isArray(order)) throw badRequest('invalid patch format of setElementOrder list');
    const changes = ownField(patch, name);
    if (changes === null) continue;
    if (changes !== undefined && !Array.isArray(changes))
      throw badRequest('invalid patch format of setElementOrder list');
    const strategy = strategyFor(type, name);
    const keyOf = keyOfItems(strategy.mergeKey);
    checkOrder(changes ?? [], order, keyOf, strategy.mergeKey);
    const field = ownField(result, name);
    const before = Array.isArray(field) ? field : undefined;
    merged.add(name);
    if (!before && !changes) continue;
    const mergesInto = before && changes && strategy.merge;
    const items = mergesInto ? mergeList(before, changes, strategy, name) : changes ? cleanItems(changes) : before!;
    setField(result, name, orderItems(items, order, before ?? [], keyOf));
  }
  return merged;
}

/** Throws if the changed items in the patch do not have the order that the patch itself asks for. */
function checkOrder(
  changes: readonly unknown[],
  order: readonly unknown[],
  keyOf: KeyOf,
  mergeKey: string | undefined,
): void {
  if (changes.length === 0 || order.length === 0) return;
  let at = 0;
  for (const item of changes) {
    if (isRecord(item) && mergeKey && Object.hasOwn(item, patchMark)) continue;
    const key = keyOf(item);
    while (at < order.length && keyOf(order[at]) !== key) at += 1;
    if (at === order.length) {
      const [list, asked] = [goText(changes), goText(order)];
      throw badRequest(`The order in patch list:\n${list}\n doesn't match $setElementOrder list:\n${asked}\n`);
    }
    at += 1;
  }
}

function mergeList(
  before: readonly unknown[],
  changes: readonly unknown[],
  strategy: Strategy,
  name: string,
): unknown[] {
  const all = [...before, ...changes];
  if (all.some((item) => Array.isArray(item))) throw badRequest('lists of lists are not supported');
  if (new Set(all.map(typeOfItem)).size > 1) throw badRequest(`list element types are not identical: ${name}`);
  if (!all.some(isRecord)) return mergeSet(before, changes);
  if (!strategy.mergeKey) throw badRequest(`cannot merge lists without merge key for ${name}`);
  return mergeKeyedList(before as PatchFields[], changes as PatchFields[], strategy, keyOfItems(strategy.mergeKey));
}

/** Go reads whole numbers and others as two types. */
function typeOfItem(item: unknown): string {
  return isNumber(item) && !isWhole(item) ? 'float64' : goTypeOf(item);
}

function mergeSet(before: readonly unknown[], changes: readonly unknown[]): unknown[] {
  return orderItems([...new Set([...before, ...changes])], changes, before, keyOfItems(undefined));
}

function mergeKeyedList(
  before: readonly PatchFields[],
  patch: readonly PatchFields[],
  strategy: Strategy,
  keyOf: KeyOf,
): unknown[] {
  const deleted = new Set<unknown>();
  const changes: PatchFields[] = [];
  let isReplaced = false;
  for (const item of patch) {
    switch (ownField(item, patchMark)) {
      case undefined:
      case 'merge':
        changes.push(item);
        break;
      case 'delete':
        deleted.add(keyOf(item));
        break;
      case 'replace':
        isReplaced = true;
        break;
      default:
        throw unknownDirective(item);
    }
  }
  if (isReplaced) return cleanItems(changes);
  const items = before.filter((item) => !deleted.has(ownField(item, strategy.mergeKey!)));
  mergeItems(items, changes, strategy, keyOf);
  return orderItems(items, changes, before, keyOf);
}

/** Merges each change into the first item with the same key. Both lists may have a few hundred thousand items, so a map contains the position of each key. */
function mergeItems(
  items: PatchFields[],
  changes: readonly PatchFields[],
  { mergeKey, below }: Strategy,
  keyOf: KeyOf,
): void {
  const places = new Map<unknown, number>();
  for (const [at, item] of items.entries()) {
    const key = ownField(item, mergeKey!);
    if (!places.has(key)) places.set(key, at);
  }
  for (const change of changes) {
    const key = keyOf(change);
    const at = places.get(key);
    if (at !== undefined) items[at] = mergeObject(items[at]!, change, below);
    else places.set(key, items.push(withoutDirectives(change) as PatchFields) - 1);
  }
}

/** For a set, each item is its own key. For a keyed list, each item must have the key field. */
function keyOfItems(mergeKey: string | undefined): KeyOf {
  if (!mergeKey) return (item) => item;
  return (item) => {
    const key = isRecord(item) ? ownField(item, mergeKey) : undefined;
    if (key === undefined) throw badRequest(`map: ${goText(item)} does not contain declared merge key: ${mergeKey}`);
    return key;
  };
}

/** A part of the patch that the result takes as a whole: without nulls in objects, without directives, and without objects that have a directive. */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return cleanItems(value);
  if (!isRecord(value)) return value;
  const result: PatchFields = {};
  for (const [name, field] of Object.entries(value)) {
    const isDirective =
      name === patchMark || name === retainMark || name.startsWith(orderPrefix) || name.startsWith(deletePrefix);
    if (field === null || isDirective || (isRecord(field) && isMarked(field))) continue;
    setField(result, name, withoutDirectives(field));
  }
  return result;
}

function cleanItems(items: readonly unknown[]): unknown[] {
  return items.filter((item) => !isRecord(item) || !isMarked(item)).map(withoutDirectives);
}

function isMarked(fields: PatchFields): boolean {
  const mark = ownField(fields, patchMark);
  return mark !== undefined && mark !== 'merge';
}

function unknownDirective(fields: PatchFields) {
  return badRequest(`unknown patch type: ${String(fields[patchMark])} in map: ${goText(fields)}`);
}
