/**
 * The form that an object had before the agent took it over. While the agent applies the object, the form of the site is still there: at the fields that the
 * agent does not own, in the object itself; at the fields that only the agent owns, in the form that the agent kept. So changes that the site makes in its own
 * fields are never lost.
 */
import { decodeEntries } from '../../core/apiserver/managed-fields/entries.ts';
import {
  type FieldSet,
  fieldDifference,
  isMember,
  leaf,
  union,
} from '../../core/apiserver/managed-fields/field-set.ts';
import { canonicalBytes, stableStringify } from '../../core/object/canonical.ts';
import { beyondLimits } from '../../core/object/json-limits.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { isRecord } from '../../core/runtime/is-record.ts';
import { isOwnEntry, withoutMark } from '../cluster/mark.ts';
import { elementsOf, isItemOf, valuesAt } from './owned-values.ts';
import { ownedFields } from './projection.ts';

/** The largest form that the agent keeps. An API server stores no larger object: etcd refuses requests of more than 1.5 MiB. */
export const formerBytesMax = 2 * 1024 * 1024;

/** The bytes to keep of an object that the agent is about to take over: everything except the status and the list of managers. */
export function formerBytes({ status: _status, ...live }: KubeObject): Uint8Array {
  const { managedFields: _managers, ...metadata } = live.metadata;
  return canonicalBytes({ ...live, metadata });
}

/** The object as the site has it: `live`, and the kept form at the fields that only the agent owns. Both objects are in the version of the last apply. */
export function siteForm(live: KubeObject, former: KubeObject): KubeObject {
  return restored(live, former, soleFields(live)) as KubeObject;
}

/** The fields that this agent owns and that no other manager owns too. */
function soleFields(live: KubeObject): FieldSet {
  const others = (live.metadata.managedFields ?? []).filter((entry) => !isOwnEntry(entry));
  const readable = others.filter(({ fieldsV1 }) => beyondLimits(fieldsV1) === undefined);
  const shared = decodeEntries(readable).reduce<FieldSet>((all, { fields }) => union(all, fields), leaf);
  return fieldDifference(ownedFields(live), shared);
}

/** The live value with the former value at the fields of the set. Undefined: the field did not exist. */
function restored(live: unknown, former: unknown, set: FieldSet): unknown {
  const elements = elementsOf(set);
  if (elements.length === 0) return former;
  if (Array.isArray(live)) return restoredList(live, Array.isArray(former) ? former : [], set);
  if (!isRecord(live)) return former;
  const before = isRecord(former) ? former : {};
  const result: Record<string, unknown> = { ...live };
  for (const element of elements) {
    const name = element.slice('f:'.length);
    if (!Object.hasOwn(live, name)) continue;
    const value = restored(live[name], before[name], set[element]!);
    if (value === undefined || (before[name] === undefined && isEmptyValue(value))) delete result[name];
    else result[name] = value;
  }
  return result;
}

/** An item that only the agent added goes. All other items stay in their order. */
function restoredList(live: readonly unknown[], former: readonly unknown[], set: FieldSet): unknown[] {
  const elements = elementsOf(set);
  return live.flatMap((item, index) => {
    const element = elements.find((one) => isItemOf(one, item, index));
    if (element === undefined) return [item];
    const before = former.find((one, at) => isItemOf(element, one, at));
    if (before === undefined && isMember(set[element]!)) return [];
    return [restored(item, before, set[element]!)];
  });
}

/**
 * The object to apply: the desired object, and the former values at the fields that the agent owns and that are not desired any more. An apply without such a
 * field would remove it, and nobody could see later that the site had it.
 */
export function withFormerValues(desired: KubeObject, former: KubeObject, live: KubeObject): KubeObject {
  return completed(desired, withoutMark(former), ownedFields(live)) as KubeObject;
}

function completed(desired: unknown, former: unknown, set: FieldSet): unknown {
  if (former === undefined) return desired;
  if (desired === undefined) return valuesAt(former, set);
  const elements = elementsOf(set);
  if (Array.isArray(desired) && Array.isArray(former)) return completedList(desired, former, set);
  if (!isRecord(desired) || !isRecord(former)) return desired;
  const result: Record<string, unknown> = { ...desired };
  for (const element of elements) {
    const name = element.slice('f:'.length);
    const value = completed(desired[name], former[name], set[element]!);
    if (value !== undefined) result[name] = value;
  }
  return result;
}

function completedList(desired: readonly unknown[], former: readonly unknown[], set: FieldSet): unknown[] {
  const itemOf = (list: readonly unknown[], element: string) => list.find((one, at) => isItemOf(element, one, at));
  const kept = desired.map((item, index) => {
    const element = elementsOf(set).find((one) => isItemOf(one, item, index));
    return element === undefined ? item : completed(item, itemOf(former, element), set[element]!);
  });
  const dropped = elementsOf(set).filter((element) => itemOf(desired, element) === undefined);
  const again = dropped.flatMap((element) => {
    const item = itemOf(former, element);
    return item === undefined ? [] : (valuesAt([item], { [element]: set[element]! }) as unknown[]);
  });
  return [...kept, ...again];
}

/** The merge patch (RFC 7386) that makes `to` of `from`. */
export function mergePatchOf(from: unknown, to: unknown): unknown {
  if (!isRecord(from) || !isRecord(to)) return to;
  const patch: Record<string, unknown> = {};
  for (const name of Object.keys(from)) if (!Object.hasOwn(to, name)) patch[name] = null;
  for (const [name, value] of Object.entries(to)) {
    if (stableStringify(value) !== stableStringify(from[name])) patch[name] = mergePatchOf(from[name], value);
  }
  return patch;
}

function isEmptyValue(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : isRecord(value) && Object.keys(value).length === 0;
}
