/**
 * Old values: an update is compared with the stored object, part by part. The old value of a value is at the same path of fields, map keys, and items of lists of
 * type map. An item of another list has no old value. A part that has not changed is not refused, even if the schema has become stricter since the part was
 * written (Kubernetes calls this ratcheting).
 */
import { stableStringify } from '../../object/canonical.ts';
import { isRecord } from '../../runtime/is-record.ts';
import type { SchemaProps } from './definition.ts';

/** Undefined: the value has no old value. A null in the old object is an old value. */
export type OldValue = unknown;

export function oldField(old: OldValue, name: string): OldValue {
  return isRecord(old) && Object.hasOwn(old, name) ? old[name] : undefined;
}

/** Returns a function that finds the old value of an item. */
export function oldItems(old: OldValue, schema: SchemaProps): (item: unknown) => OldValue {
  const keys = schema['x-kubernetes-list-map-keys'];
  if (schema['x-kubernetes-list-type'] !== 'map' || !keys || !Array.isArray(old)) return () => undefined;
  const byKey = new Map(old.map((item) => [listKey(item, keys), item]));
  return (item) => byKey.get(listKey(item, keys));
}

function listKey(item: unknown, keys: readonly string[]): string {
  return stableStringify(isRecord(item) ? keys.map((key) => item[key]) : item);
}
