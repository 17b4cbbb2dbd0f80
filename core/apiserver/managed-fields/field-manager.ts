/**
 * Managed fields record which manager owns which field of an object. Every write updates them. Server-side apply uses them to merge.
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/
 *
 * If a new schema makes a granular field atomic, or an atomic field granular, the recorded sets stay until the next write of an owner: that write adapts the
 * owner's set. A Kubernetes API server adapts all sets at the next write of any owner.
 */
import { cloneWithoutNulls, equalJson } from '../../object/json-value.ts';
import { type KubeObject, type ManagedFieldsEntry, parseApiVersion } from '../../object/meta.ts';
import type { FieldType } from '../schema.ts';
import type { Kind } from '../space.ts';
import type { FieldManager } from '../verbs/field-manager.ts';
import { compare, type Difference } from './compare.ts';
import { conflictError } from './conflicts.ts';
import {
  capUpdaters,
  decodeEntries,
  encodeEntries,
  type FieldOwner,
  type FieldsEntry,
  isOfOwner,
  sameEntries,
  sortEntries,
  withFields,
} from './entries.ts';
import { fieldsOf } from './extract.ts';
import {
  differenceBelow,
  type FieldSet,
  fieldDifference,
  fieldElement,
  intersection,
  isEmptyFieldSet,
  union,
} from './field-set.ts';
import { fieldsOfLastApplied, lastApplied, setLastApplied } from './last-applied.ts';
import { listMistakes } from './list-items.ts';
import { mergeManagedFields, prune } from './merge.ts';
import { checkRewrite, withoutContent } from './rewrite.ts';

export const fieldManager: FieldManager = {
  mistakes: (config, kind, version) => listMistakes(config, kind.schema(version)),
  apply,
  update,
  withoutContent,
  checkRewrite,
};

/** The identity of an object, and fields that only the server writes. Nobody owns these fields. */
const unmanagedMetadata = [
  'name',
  'namespace',
  'creationTimestamp',
  'selfLink',
  'uid',
  'clusterName',
  'generation',
  'managedFields',
  'resourceVersion',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const;
const unmanagedRoot: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);
const unmanagedMetadataNames: ReadonlySet<string> = new Set(unmanagedMetadata);
const metadataElement = fieldElement('metadata');

function apply(
  live: KubeObject | undefined,
  config: KubeObject,
  kind: Kind,
  version: string,
  manager: string,
  force: boolean,
  nowIso: string,
  subresource = '',
): KubeObject {
  const type = kind.schema(version);
  const owner: FieldOwner = { manager, operation: 'Apply', apiVersion: config.apiVersion, subresource };
  const wanted = resettable(config, kind, subresource);
  const before = entriesOf(live, type, kind).filter((entry) => isOfKind(entry, kind));
  const last = before.find((entry) => isOfOwner(entry, owner));
  const own = managed(fieldsOf(wanted, type));
  const others = before.filter((entry) => entry !== last);
  const base: KubeObject = live ?? { apiVersion: config.apiVersion, kind: config.kind, metadata: {} };
  const merged = mergeManagedFields(base, wanted, type) as KubeObject;
  const owned = () => others.reduce((all, entry) => union(all, fieldsInVersion(entry, merged, kind, version)), own);
  // A field with another name in the version of `last` stays. Kubernetes converts such an object there and back, and its conversion fills the field in again.
  const pruned = last ? (prune(merged, last.fields, owned(), type) as KubeObject) : merged;
  const result: KubeObject = { ...pruned, metadata: metadataOf(pruned, live, config) };
  const changes = differences(base, result, type, kind);
  const text = lastApplied(live, manager);
  const differencesTo = (earlier: KubeObject) => differences(earlier, base, type, kind);
  const yielded = text === undefined ? undefined : fieldsOfLastApplied(text, base, type, differencesTo);
  const remaining = yieldTo(others, inVersions(base, result, kind, changes), force, yielded);
  // As in Kubernetes, an apply that changes no value keeps the time of the entry: none if the manager is new. So a repeated apply changes nothing.
  const isUnchanged = isEmptyFieldSet(changes.changed) && isEmptyFieldSet(changes.removed);
  const time = isUnchanged ? last?.time : nowIso;
  const entry: FieldsEntry = { ...owner, ...(time === undefined ? {} : { time }), fields: own };
  setEntries(result, isEmptyFieldSet(own) ? remaining : [...remaining, entry], live?.metadata.managedFields);
  if (text !== undefined) setLastApplied(result, config);
  return result;
}

function update(
  live: KubeObject | undefined,
  next: KubeObject,
  kind: Kind,
  version: string,
  manager: string,
  nowIso: string,
  subresource = '',
): void {
  const type = kind.schema(version);
  const owner: FieldOwner = { manager, operation: 'Update', apiVersion: next.apiVersion, subresource };
  const sent = next.metadata.managedFields;
  const liveList = live?.metadata.managedFields;
  if (isReset(sent) && subresource === '') {
    delete next.metadata.managedFields;
    return;
  }
  // A write of a subresource can't change managedFields. A client that sends an object as it has read it sends the same list, which changes nothing.
  const replacesList = subresource === '' && sent !== undefined && !equalJson(sent, liveList);
  const decoded = replacesList ? decodeEntries(sent) : [];
  const before = decoded.length > 0 ? decoded : decodeEntries(liveList);
  const changes = differences(live ?? { apiVersion: next.apiVersion, kind: next.kind, metadata: {} }, next, type, kind);
  const entries = live ? yieldTo(before, inVersions(live, next, kind, changes), true) : before;
  const taken = changes.changed;
  if (!taken) {
    setEntries(next, entries, liveList);
    return;
  }
  const own = before.find((entry) => isOfOwner(entry, owner));
  const rest = entries.filter((entry) => !isOfOwner(entry, owner));
  const kept = own && changes.removed ? differenceBelow(own.fields, changes.removed) : own?.fields;
  // In Kubernetes, the entry of a scale has no time.
  const time = subresource === 'scale' ? {} : { time: nowIso };
  setEntries(next, capUpdaters([...rest, { ...owner, ...time, fields: union(kept, taken) }]), liveList);
}

// ---------------------------------------------------------------------------------------------- ownership

/**
 * Removes the changed and removed fields from the sets of other owners. Without `force`, throws Conflict if another owner has a changed field that is not one
 * of `yielded`. `changesOf` are the changes in the version of an entry.
 */
function yieldTo(
  others: readonly FieldsEntry[],
  changesOf: (entry: FieldsEntry) => Difference,
  force: boolean,
  yielded: FieldSet = {},
): FieldsEntry[] {
  if (!force) {
    const conflicts = others.flatMap((entry) => {
      const { changed } = changesOf(entry);
      const taken = changed && intersection(entry.fields, changed);
      const fields = taken ? fieldDifference(taken, yielded) : {};
      return isEmptyFieldSet(fields) ? [] : [{ entry, fields }];
    });
    if (conflicts.length > 0) throw conflictError(conflicts);
  }
  const remaining: FieldsEntry[] = [];
  for (const entry of others) {
    let { fields } = entry;
    const { changed, removed } = changesOf(entry);
    if (changed) fields = fieldDifference(fields, changed);
    if (removed) fields = differenceBelow(fields, removed);
    const rest = withFields(entry, fields);
    if (rest) remaining.push(rest);
  }
  return remaining;
}

/** The changes from `old` to `next` in the version of an entry. `changes` are those in the version of the write. */
function inVersions(
  old: KubeObject,
  next: KubeObject,
  kind: Kind,
  changes: Difference,
): (entry: FieldsEntry) => Difference {
  const known = new Map([[next.apiVersion, changes]]);
  return ({ apiVersion }) => {
    const found = known.get(apiVersion) ?? differencesIn(apiVersion, old, next, kind) ?? changes;
    known.set(apiVersion, found);
    return found;
  };
}

/**
 * The fields of an entry by their names in this version of `object`: those that the object lacks without the fields of the entry. Where the object can't be
 * converted, the names are taken as they are.
 */
function fieldsInVersion(
  { apiVersion, fields }: FieldsEntry,
  object: KubeObject,
  kind: Kind,
  version: string,
): FieldSet {
  const { group, version: recorded } = parseApiVersion(apiVersion);
  if (recorded === version || group !== kind.group || !kind.versions.includes(recorded)) return fields;
  const there = kind.rules.convert(object, recorded);
  const without = there && kind.rules.convert(prune(there, fields, {}, kind.schema(recorded)) as KubeObject, version);
  if (!without) return fields;
  const type = kind.schema(version);
  return fieldDifference(managed(fieldsOf(object, type)), managed(fieldsOf(without, type)));
}

/** Undefined: the objects can't be converted to this version. */
function differencesIn(apiVersion: string, old: KubeObject, next: KubeObject, kind: Kind): Difference | undefined {
  const { group, version } = parseApiVersion(apiVersion);
  if (group !== kind.group || !kind.versions.includes(version)) return undefined;
  const before = kind.rules.convert(old, version);
  const after = kind.rules.convert(next, version);
  return before && after && differences(before, after, kind.schema(version), kind);
}

/** Kubernetes forgets owners in another API group: an Event may have been written in another one. */
function isOfKind({ apiVersion }: FieldsEntry, { group }: Kind): boolean {
  return parseApiVersion(apiVersion).group === group;
}

function differences(old: KubeObject, next: KubeObject, type: FieldType, kind: Kind): Difference {
  const ownsObjects = kind.custom;
  const body = compare(old, next, type, ownsObjects, unmanagedRoot);
  const metadataType = type.type === 'object' ? type.field('metadata')?.type : undefined;
  const oldMetadata = { ...old.metadata };
  const nextMetadata = { ...next.metadata };
  const metadata = compare(
    oldMetadata,
    nextMetadata,
    metadataType ?? { type: 'any' },
    ownsObjects,
    unmanagedMetadataNames,
  );
  return {
    changed: metadata.changed ? { ...body.changed, [metadataElement]: metadata.changed } : body.changed,
    removed: metadata.removed ? { ...body.removed, [metadataElement]: metadata.removed } : body.removed,
  };
}

/**
 * The entries of the live object. If the object has none, all its fields belong to the manager `before-first-apply`. Otherwise the first apply would own
 * them without a conflict.
 */
function entriesOf(live: KubeObject | undefined, type: FieldType, kind: Kind): FieldsEntry[] {
  const entries = decodeEntries(live?.metadata.managedFields);
  if (!live || entries.length > 0) return entries;
  const fields = managed(fieldsOf(kind.subresources.status ? { ...live, status: undefined } : live, type));
  const apiVersion = live.apiVersion;
  return isEmptyFieldSet(fields)
    ? []
    : [{ manager: 'before-first-apply', operation: 'Update', apiVersion, subresource: '', fields }];
}

/** The set without the fields that nobody owns. */
function managed(fields: FieldSet): FieldSet {
  const { 'f:apiVersion': _apiVersion, 'f:kind': _kind, [metadataElement]: metadata, ...rest } = fields;
  if (!metadata) return rest;
  const kept: Record<string, FieldSet> = { ...metadata };
  for (const name of unmanagedMetadata) delete kept[fieldElement(name)];
  return isEmptyFieldSet(kept) ? rest : { ...rest, [metadataElement]: kept };
}

// ------------------------------------------------------------------------------------------------ objects

/**
 * The part of a configuration that a request to this endpoint may set. A request to the object itself can't set status. A request to `/status` and `/approval` can set only
 * status.
 */
function resettable(config: KubeObject, kind: Kind, subresource: string): KubeObject {
  const { apiVersion, metadata } = config;
  if (subresource === 'status' || subresource === 'approval')
    return {
      apiVersion,
      kind: config.kind,
      metadata: {},
      ...(config.status === undefined ? {} : { status: config.status }),
    };
  const { managedFields: _, ...meta } = metadata;
  // For built-in kinds, a null means nothing (`creationTimestamp: null`). In a custom resource, a null may have a meaning.
  const given: KubeObject = { ...config, metadata: meta };
  const cleaned = kind.custom ? given : cloneWithoutNulls(given);
  if (!kind.subresources.status || subresource !== '') return cleaned;
  const { status: _status, ...rest } = cleaned;
  return rest as KubeObject;
}

/** Metadata with the identity of the live object. A new object takes its identity from the configuration. */
function metadataOf(result: KubeObject, live: KubeObject | undefined, config: KubeObject): KubeObject['metadata'] {
  const from = (live ?? config).metadata;
  const metadata = { ...result.metadata };
  for (const name of unmanagedMetadata) {
    if (name === 'clusterName' || name === 'selfLink') continue;
    delete metadata[name];
    if (name !== 'managedFields' && from[name] !== undefined) Object.assign(metadata, { [name]: from[name] });
  }
  return metadata;
}

/** Sets managedFields. If the entries did not change, uses the list of the live object. */
function setEntries(object: KubeObject, entries: readonly FieldsEntry[], live: ManagedFieldsEntry[] | undefined): void {
  const sorted = sortEntries(entries);
  if (live && sameEntries(sorted, decodeEntries(live))) {
    object.metadata.managedFields = live;
  } else if (sorted.length > 0) {
    object.metadata.managedFields = encodeEntries(sorted);
  } else {
    delete object.metadata.managedFields;
  }
}

/**
 * True if the client wants to reset managedFields: a list with one empty entry. An empty list does not reset them, so that clients that do not know managed
 * fields do not remove them.
 */
function isReset(sent: readonly ManagedFieldsEntry[] | undefined): boolean {
  return sent?.length === 1 && Object.keys(sent[0]!).length === 0;
}
