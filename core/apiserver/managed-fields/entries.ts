/** The list `metadata.managedFields`: one entry for each manager, operation, version and subresource. */

import type { JsonObject, ManagedFieldsEntry } from '../../object/meta.ts';
import { compareText } from '../../object/text-order.ts';
import { equals, type FieldSet, isEmptyFieldSet, leaf, union } from './field-set.ts';

export type Operation = 'Apply' | 'Update';

export interface FieldsEntry {
  readonly manager: string;
  readonly operation: Operation;
  readonly apiVersion: string;
  readonly time?: string;
  readonly subresource: string;
  readonly fields: FieldSet;
}

/** The owner of an entry. An applier has one entry for all versions, an updater has one entry for each version. */
export interface FieldOwner {
  readonly manager: string;
  readonly operation: Operation;
  readonly apiVersion: string;
  readonly subresource: string;
}

export function isOfOwner(entry: FieldsEntry, owner: FieldOwner): boolean {
  return (
    entry.manager === owner.manager &&
    entry.operation === owner.operation &&
    entry.subresource === owner.subresource &&
    (owner.operation === 'Apply' || entry.apiVersion === owner.apiVersion)
  );
}

/** Leaves out entries that it can't read (with another fields type, or from another product), as the Kubernetes API server does. */
export function decodeEntries(list: readonly ManagedFieldsEntry[] | undefined): FieldsEntry[] {
  const entries: FieldsEntry[] = [];
  for (const { manager = '', operation, apiVersion, time, fieldsType, fieldsV1, subresource = '' } of list ?? []) {
    if (operation !== 'Apply' && operation !== 'Update') continue;
    if (apiVersion === undefined || (fieldsType ?? 'FieldsV1') !== 'FieldsV1') continue;
    const fields: FieldSet = isFieldSet(fieldsV1) ? fieldsV1 : leaf;
    entries.push({ manager, operation, apiVersion, ...(time === undefined ? {} : { time }), subresource, fields });
  }
  return entries;
}

export function sortEntries(entries: readonly FieldsEntry[]): FieldsEntry[] {
  return [...entries].sort(compareEntries);
}

export function encodeEntries(entries: readonly FieldsEntry[]): ManagedFieldsEntry[] {
  return entries.map(({ manager, operation, apiVersion, time, subresource, fields }) => ({
    manager,
    operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: fields as JsonObject,
    ...(subresource === '' ? {} : { subresource }),
  }));
}

function isFieldSet(value: unknown): value is FieldSet {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every(isFieldSet);
}

/** The order of the Kubernetes API server. It keeps the list stable. */
function compareEntries(a: FieldsEntry, b: FieldsEntry): number {
  return (
    compareText(a.operation, b.operation) ||
    compareText(a.time ?? '', b.time ?? '') ||
    compareText(a.manager, b.manager) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  );
}

/**
 * Maximal number of updaters, as in the Kubernetes API server. If there are more, the oldest ones are merged into one entry. Otherwise a program that uses
 * a new name for each run would fill the object.
 */
const updateManagersMax = 10;
const bucket = 'ancient-changes';

export function capUpdaters(entries: readonly FieldsEntry[]): readonly FieldsEntry[] {
  const updaters = entries.filter((entry) => entry.operation === 'Update');
  const excess = updaters.length - updateManagersMax;
  if (excess <= 0) return entries;
  const oldest = new Set([...updaters].sort(compareEntries).slice(0, excess + 1));
  const buckets = new Map<string, FieldsEntry>();
  for (const entry of oldest) {
    const before = buckets.get(entry.apiVersion);
    const fields = before ? union(before.fields, entry.fields) : entry.fields;
    const time = before?.time !== undefined && before.time > (entry.time ?? '') ? before.time : entry.time;
    const { apiVersion, operation } = entry;
    buckets.set(apiVersion, {
      manager: bucket,
      operation,
      apiVersion,
      ...(time ? { time } : {}),
      subresource: '',
      fields,
    });
  }
  return [...entries.filter((entry) => !oldest.has(entry)), ...buckets.values()];
}

/** Both lists must be sorted. */
export function sameEntries(a: readonly FieldsEntry[], b: readonly FieldsEntry[]): boolean {
  return a.length === b.length && a.every((entry, index) => entry === b[index] || sameEntry(entry, b[index]!));
}

function sameEntry(a: FieldsEntry, b: FieldsEntry): boolean {
  return isOfOwner(a, b) && a.apiVersion === b.apiVersion && a.time === b.time && equals(a.fields, b.fields);
}

/** The entry with other fields. Undefined if `fields` is empty. */
export function withFields(entry: FieldsEntry, fields: FieldSet): FieldsEntry | undefined {
  if (fields === entry.fields) return entry;
  return isEmptyFieldSet(fields) ? undefined : { ...entry, fields };
}
