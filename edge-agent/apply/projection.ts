/**
 * What a cluster holds of what was applied, and nothing else. Its fingerprint is taken from the answer to an apply; a later object with another fingerprint
 * has drifted. Two things are in it.
 *
 * Values at the fields that were applied. Comparing with the answer and not with what was sent leaves aside all that a server makes of a value on the way in
 * (quantities, defaults, webhooks), so that no object is put back for ever.
 *
 * Which fields are this manager's, by the server's own word (metadata.managedFields). Whoever else writes another value takes the field from it, and of what is owned as a
 * whole (the subjects of a binding, a selector, a list of a custom resource) anything that is added or left out is another value. What is a whole, and by which
 * keys the items of a list are told apart, is in the cluster's schemas, and need not be known here. Who writes the same value takes nothing.
 *
 * A server tells an object in the version that was asked for, and in another one than was applied its fields may stand elsewhere and have other values. The fields
 * of a manager stay those of the version in which it applied, and who changes what they are there takes them, in whatever version that was written: of such an
 * object these are compared, with its labels and annotations, and no values.
 *
 * A record from before fields were in it agrees with nothing: its object is applied once more, or compared, and the record is as it should be.
 */
import { decodeEntries } from '../../core/apiserver/managed-fields/entries.ts';
import { type FieldSet, leaf } from '../../core/apiserver/managed-fields/field-set.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { beyondLimits } from '../../core/object/json-limits.ts';
import { type KubeObject, type ManagedFieldsEntry, parseApiVersion } from '../../core/object/meta.ts';
import { agentFieldManager } from '../cluster/mark.ts';
import { withoutFields, withoutIgnored } from './ignored-fields.ts';

/**
 * Hex; equal for two states of the live object, both as told in the version that was applied, exactly when they agree at every field of `applied` that is not
 * ignored. One half is of what is the same in all versions, the other one of the values.
 */
export function fingerprint(applied: KubeObject, live: KubeObject, ignored: readonly string[] = []): string {
  const { apiVersion: _version, kind: _kind, status: _status, metadata, ...rest } = withoutFields(applied, ignored);
  const { labels, annotations } = metadata;
  const named = { ...(labels ? { labels } : {}), ...(annotations ? { annotations } : {}) };
  // Of metadata the values say it all; and the rest of the mark (mark.ts) may be there or not, by who has applied the object first.
  const { 'f:metadata': _metadata, ...owned } = withoutIgnored(ownedFields(live), ignored);
  return `${half([owned, project(named, live.metadata)])}${half(project(rest, live))}`;
}

/** Whether the live object agrees with what its fingerprint was taken from, as far as the version tells in which it comes. */
export function isAsRecorded(
  recorded: string,
  applied: KubeObject,
  live: KubeObject,
  ignored: readonly string[],
): boolean {
  const now = fingerprint(applied, live, ignored);
  const length = isConverted(live) ? halfLength : now.length;
  return recorded.length === now.length && recorded.slice(0, length) === now.slice(0, length);
}

/** It comes in another version than the one that was applied. */
function isConverted(live: KubeObject): boolean {
  const { apiVersion = live.apiVersion } = ownEntry(live) ?? {};
  return apiVersion !== live.apiVersion;
}

/** Digits: two states of one object are told apart by far fewer. */
const halfLength = 16;

function half(value: unknown): string {
  return Buffer.from(hash128(stableStringify(value)))
    .toString('hex')
    .slice(0, halfLength);
}

/**
 * The fields that this manager has applied and nobody has changed since; but for the status, which is for others to write. None where what is said of them is deeper
 * than any object may be: whoever may change an object may write there, and the next apply mends it.
 */
export function ownedFields(live: KubeObject): FieldSet {
  const own = ownEntry(live);
  if (!own || beyondLimits(own.fieldsV1) !== undefined) return leaf;
  const { 'f:status': _status, ...owned } = decodeEntries([own])[0]?.fields ?? leaf;
  return owned;
}

/** The version in which this manager has applied it last; undefined: it has not. */
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

/** `live` reduced to the fields that `wanted` names; what is missing there is null. */
function project(wanted: unknown, live: unknown): unknown {
  if (Array.isArray(wanted)) return Array.isArray(live) ? projectList(wanted, live) : null;
  if (isRecord(wanted)) {
    if (!isRecord(live)) return null;
    const fields = Object.keys(wanted).filter((name) => name !== 'stringData');
    return Object.fromEntries(fields.map((name) => [name, project(wanted[name], live[name])]));
  }
  return live ?? null;
}

/** Items with a name are found by it, wherever they stand; a list without names is compared whole. */
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
