/** JSON merge patch, RFC 7386. */

import { cloneJson, ownField, setField } from '../../object/json-value.ts';
import type { Json, JsonObject } from '../../object/meta.ts';
import { isRecord } from '../../runtime/is-record.ts';

/** Applies `patch` to `target`. A null removes the field, an object is merged, and every other value replaces the old value. Changes neither argument. */
export function mergePatch(target: unknown, patch: Json): Json {
  if (!isObject(patch)) return cloneJson(patch);
  const before = isRecord(target) ? target : {};
  const result: JsonObject = {};
  for (const name of Object.keys(before)) {
    if (!Object.hasOwn(patch, name)) setField(result, name, cloneJson(before[name]));
  }
  for (const [name, value] of Object.entries(patch)) {
    if (value !== null) setField(result, name, mergePatch(ownField(before, name), value));
  }
  return result;
}

function isObject(value: Json | undefined): value is JsonObject {
  return isRecord(value);
}
