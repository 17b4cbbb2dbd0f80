/**
 * The part of an object that this agent has applied, as the cluster has this part. The agent makes a fingerprint of the part from the answer to an apply. If
 * the object has another fingerprint at a later time, the object has drifted. The fingerprint covers two things.
 *
 * 1. The values at the applied fields. The agent compares with the answer, and not with the object that it sent. So every change that a server makes in an
 *    incoming value (quantities, defaults, webhooks) is no drift. Otherwise the agent would correct such an object for ever.
 * 2. The fields that this manager owns by the server's own record (metadata.managedFields). Another writer that writes another value takes over the field. If
 *    a field is owned as a whole (the subjects of a binding, a selector, a list of a custom resource), an added or missing item is another value. The schemas
 *    of the cluster define which fields are owned as a whole, and which keys identify the items of a list; the agent need not know these schemas. A writer
 *    that writes the same value takes over nothing.
 *
 * A server returns an object in the requested version. In another version than the applied version, fields may be at other places and have other values. But
 * the field list of a manager stays in the version in which the manager applied. A writer that changes such a field takes the field over, in any version. So
 * if an object is in another version, the agent compares only the owned fields, the labels and the annotations, and no other values.
 *
 * A record from before the fingerprint covered fields agrees with no object. The agent then applies or compares the object once more, and writes a correct
 * record.
 */

import { decodeEntries } from '../../core/apiserver/managed-fields/entries.ts';
import { type FieldSet, leaf } from '../../core/apiserver/managed-fields/field-set.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { beyondLimits } from '../../core/object/json-limits.ts';
import { type KubeObject, type ManagedFieldsEntry, parseApiVersion } from '../../core/object/meta.ts';
import { isRecord } from '../../core/runtime/is-record.ts';
import { agentFieldManager } from '../cluster/mark.ts';
import { withoutFields, withoutIgnored } from './ignored-fields.ts';

/**
 * The fingerprint as hex digits. Two states of a live object, both in the applied version, have equal fingerprints exactly when they agree at every field of
 * `applied` that is not ignored. The first half covers the parts that are the same in all versions. The second half covers the values.
 */
export function fingerprint(applied: KubeObject, live: KubeObject, ignored: readonly string[] = []): string {
  const { apiVersion: _version, kind: _kind, status: _status, metadata, ...rest } = withoutFields(applied, ignored);
  const { labels, annotations } = metadata;
  const named = { ...(labels ? { labels } : {}), ...(annotations ? { annotations } : {}) };
  // For metadata, the comparison of the values is enough. Of the mark (mark.ts), the other parts are present or absent depending on who applied the object
  // first.
  const { 'f:metadata': _metadata, ...owned } = withoutIgnored(ownedFields(live), ignored);
  return `${half([owned, project(named, live.metadata)])}${half(project(rest, live))}`;
}

/** Whether the live object agrees with the recorded fingerprint, as far as the version of the object allows the comparison. */
export function isAsRecorded(
  recorded: string,
  applied: KubeObject,
  live: KubeObject,
  ignored: readonly string[],
): boolean {
  const present = fingerprint(applied, live, ignored);
  const length = isConverted(live) ? halfLength : present.length;
  return recorded.length === present.length && recorded.slice(0, length) === present.slice(0, length);
}

/** Whether the object is in another version than the applied version. */
function isConverted(live: KubeObject): boolean {
  const { apiVersion = live.apiVersion } = ownEntry(live) ?? {};
  return apiVersion !== live.apiVersion;
}

/** The number of hex digits of one half. A smaller number would also be enough to distinguish two states of one object. */
const halfLength = 16;

function half(value: unknown): string {
  return Buffer.from(hash128(stableStringify(value)))
    .toString('hex')
    .slice(0, halfLength);
}

/**
 * The fields that this manager has applied and that nobody has changed since, without the status, which others write. If the list of fields is nested deeper
 * than any object may be, the result is empty: everybody who is allowed to change an object can write such a list, and the next apply repairs it.
 */
export function ownedFields(live: KubeObject): FieldSet {
  const entry = ownEntry(live);
  if (!entry || beyondLimits(entry.fieldsV1) !== undefined) return leaf;
  const { 'f:status': _status, ...owned } = decodeEntries([entry])[0]?.fields ?? leaf;
  return owned;
}

/** The version in which this manager last applied the object. Undefined: this manager has not applied it. */
export function appliedVersion(live: KubeObject): string | undefined {
  const apiVersion = ownEntry(live)?.apiVersion;
  return apiVersion === undefined ? undefined : parseApiVersion(apiVersion).version;
}

function ownEntry({ metadata }: KubeObject): ManagedFieldsEntry | undefined {
  return metadata.managedFields?.find(
    ({ manager, operation, subresource = '' }) =>
      manager === agentFieldManager && operation === 'Apply' && subresource === '',
  );
}

/** `live` reduced to the fields that `wanted` names. A missing field is null. */
function project(wanted: unknown, live: unknown): unknown {
  if (Array.isArray(wanted)) return Array.isArray(live) ? projectList(wanted, live) : null;
  if (isRecord(wanted)) {
    if (!isRecord(live)) return null;
    const fields = Object.keys(wanted).filter((name) => name !== 'stringData');
    return Object.fromEntries(fields.map((name) => [name, project(wanted[name], live[name])]));
  }
  return live ?? null;
}

/** Finds items with a name by the name, at any index. A list without names is compared as a whole. */
function projectList(wanted: readonly unknown[], live: readonly unknown[]): unknown {
  if (!wanted.every((item) => nameOf(item) !== undefined)) {
    if (wanted.length !== live.length) return live;
    return wanted.map((item, index) => project(item, live[index]));
  }
  return wanted.map((item) =>
    project(
      item,
      live.find((other) => nameOf(other) === nameOf(item)),
    ),
  );
}

function nameOf(item: unknown): string | undefined {
  return isRecord(item) && typeof item.name === 'string' ? item.name : undefined;
}
