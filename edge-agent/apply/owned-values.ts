/** Reads an object on the cluster at the fields that this manager has applied and that nobody has changed since. An apply of these values changes nothing. */

import { type FieldSet, isEmptyFieldSet } from '../../core/apiserver/managed-fields/field-set.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { parseJson } from '../../core/object/json.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { isRecord } from '../../core/runtime/is-record.ts';
import { bare } from '../cluster/mark.ts';
import { ownedFields } from './projection.ts';

/** `live`: the object in the version in which it was applied. */
export function ownedValues(live: KubeObject): KubeObject {
  const owned = ownedFields(live);
  const named = bare(live);
  if (isEmptyFieldSet(owned)) return named;
  const { metadata, ...values } = valuesAt(live, owned) as Partial<KubeObject>;
  return { ...values, ...named, metadata: { ...metadata, ...named.metadata } };
}

/** Reduces the value to the fields of the set. A list keeps only the items in the set, each with the fields that the set has for the item. */
export function valuesAt(value: unknown, set: FieldSet): unknown {
  const elements = elementsOf(set);
  // The value is owned as a whole, or is empty.
  if (elements.length === 0) return value;
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => {
      const element = elements.find((one) => isItemOf(one, item, index));
      if (element === undefined) return [];
      return [isRecord(item) ? { ...keysOf(element), ...(valuesAt(item, set[element]!) as object) } : item];
    });
  }
  if (!isRecord(value)) return value;
  const fields = elements.map((element) => element.slice('f:'.length)).filter((name) => Object.hasOwn(value, name));
  return Object.fromEntries(fields.map((name) => [name, valuesAt(value[name], set[`f:${name}`]!)]));
}

/** The path elements of the children of a node. None: the value at the node is owned as a whole, or is empty. */
export function elementsOf(set: FieldSet): string[] {
  return Object.keys(set).filter((element) => element !== '.');
}

/** Whether the path element names this item of a list. */
export function isItemOf(element: string, item: unknown, index: number): boolean {
  if (element.startsWith('i:')) return element === `i:${index}`;
  if (element.startsWith('v:')) return stableStringify(parseJson(element.slice(2))) === stableStringify(item);
  return (
    isRecord(item) &&
    Object.entries(keysOf(element)).every(
      ([name, key]) => stableStringify(item[name] ?? keyDefaults[name]) === stableStringify(key),
    )
  );
}

/** The only key of the built-in kinds that an item may leave out. An embedded cluster does not write defaults into objects. */
const keyDefaults: Readonly<Record<string, string>> = { protocol: 'TCP' };

/** The keys that identify the item of a list. */
function keysOf(element: string): Record<string, unknown> {
  return element.startsWith('k:') ? (parseJson(element.slice(2)) as Record<string, unknown>) : {};
}
