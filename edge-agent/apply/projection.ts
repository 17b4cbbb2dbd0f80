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
 * A record from before fields were in it agrees with nothing: its object is applied once more, or compared, and the record is as it should be.
 */
import { decodeEntries } from '../../core/apiserver/managed-fields/entries.ts';
import { type FieldSet, leaf } from '../../core/apiserver/managed-fields/field-set.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { beyondLimits } from '../../core/object/json-limits.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { withoutFields, withoutIgnored } from './ignored-fields.ts';
import { fieldManager } from './mark.ts';

/**
 * Hex; equal for two states of the live object exactly when they agree at every field of `applied` that is not ignored. The apiVersion is left aside: an
 * answer comes in the version that was sent, a watch in the one that the cluster prefers.
 */
export function fingerprint(applied: KubeObject, live: KubeObject, ignored: readonly string[] = []): string {
  const { apiVersion: _version, kind: _kind, status: _status, metadata, ...rest } = withoutFields(applied, ignored);
  const { labels, annotations } = metadata;
  const wanted = { ...rest, metadata: { ...(labels ? { labels } : {}), ...(annotations ? { annotations } : {}) } };
  // Of metadata the values say it all; and the rest of the mark (mark.ts) may be there or not, by who has applied the object first.
  const { 'f:metadata': _metadata, ...owned } = withoutIgnored(ownedFields(live), ignored);
  return Buffer.from(hash128(stableStringify([owned, project(wanted, live)]))).toString('hex');
}

/**
 * The fields that this manager has applied and nobody has changed since; but for the status, which is for others to write. None where what is said of them is deeper
 * than any object may be: whoever may change an object may write there, and the next apply mends it.
 */
export function ownedFields({ metadata }: KubeObject): FieldSet {
  const own = metadata.managedFields?.filter(
    ({ manager, operation, subresource = '' }) =>
      manager === fieldManager && operation === 'Apply' && subresource === '',
  );
  if (beyondLimits(own?.[0]?.fieldsV1) !== undefined) return leaf;
  const { 'f:status': _status, ...owned } = decodeEntries(own?.slice(0, 1))[0]?.fields ?? leaf;
  return owned;
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
