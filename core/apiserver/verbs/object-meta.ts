/** Sets the metadata that the server decides, keeps this metadata at an update, and checks it at creation and update. */

import { stableStringify } from '../../object/canonical.ts';
import { timestamp } from '../../object/conditions.ts';
import { forbiddenField, invalidField, required } from '../../object/field-error.ts';
import { jsonText } from '../../object/json.ts';
import { ownField } from '../../object/json-value.ts';
import type { KubeObject, ObjectMeta, OwnerReference } from '../../object/meta.ts';
import type { Cause } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';
import { type Random, uuid } from '../../runtime/random.ts';
import { isUnqualifiedFinalizer, unqualifiedFinalizer } from '../builtin/validation/cluster.ts';
import { dnsSubdomain, qualifiedName } from '../builtin/validation/formats.ts';
import { nameRules } from '../builtin/validation/kind-rules.ts';
import { annotations, labels } from '../builtin/validation/selectors.ts';
import { fields, Visit } from '../builtin/validation/visit.ts';
import type { Kind } from '../space.ts';

export const orphanFinalizer = 'orphan';
export const foregroundFinalizer = 'foregroundDeletion';

/** The alphabet of Kubernetes. It has no vowels, so that no real words occur, and no characters that look like others. */
const suffixAlphabet = 'bcdfghjklmnpqrstvwxz2456789';
const suffixLength = 5;
/** A DNS label has at most 63 characters. The suffix needs some of them. */
const generatedBaseMax = 63 - suffixLength;

export function generateName(base: string, random: Random): string {
  let suffix = '';
  for (let i = 0; i < suffixLength; i++)
    suffix += suffixAlphabet[Math.floor(random.fraction() * suffixAlphabet.length)];
  return base.slice(0, generatedBaseMax) + suffix;
}

/** Sets the metadata of a new object, in place. */
export function fillNewMeta(meta: ObjectMeta, random: Random, nowMs: number): void {
  meta.uid = uuid(random);
  meta.creationTimestamp = timestamp(nowMs);
  meta.generation = 1;
  delete meta.resourceVersion;
  delete meta.deletionTimestamp;
  delete meta.deletionGracePeriodSeconds;
}

/** Sets fields that no update may change to the values in `old`, whatever the client has sent. */
export function keepServerMeta(meta: ObjectMeta, old: ObjectMeta): void {
  const kept = meta as Record<string, unknown>;
  for (const name of serverFields) {
    if (old[name] === undefined) delete kept[name];
    else kept[name] = old[name];
  }
  delete meta.resourceVersion;
}

const serverFields = [
  'name',
  'namespace',
  'generateName',
  'uid',
  'creationTimestamp',
  'generation',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const;

/** Checks the types of texts and lists, so that no other code needs to check them. Returns the first mistake. */
export function checkMetaTypes(object: KubeObject): string | undefined {
  if (!isRecord(object.metadata)) return 'metadata: must be an object';
  const meta = object.metadata as Record<string, unknown>;
  for (const name of ['name', 'generateName', 'namespace', 'uid', 'resourceVersion']) {
    if (!isTextOrAbsent(meta[name])) return `metadata.${name}: must be a string, not ${jsonText(meta[name])}`;
  }
  for (const name of ['labels', 'annotations']) {
    const map = meta[name];
    if (map === undefined || map === null) continue;
    if (!isRecord(map)) return `metadata.${name}: must be an object`;
    for (const [key, value] of Object.entries(map)) {
      if (typeof value !== 'string') return `metadata.${name}.${key}: must be a string, not ${jsonText(value)}`;
    }
  }
  for (const name of ['finalizers', 'ownerReferences', 'managedFields']) {
    const list = meta[name];
    if (list === undefined || list === null) continue;
    if (!Array.isArray(list)) return `metadata.${name}: must be a list`;
    const isItem = name === 'finalizers' ? (item: unknown) => typeof item === 'string' : isRecord;
    if (!list.every(isItem)) return `metadata.${name}: has an item of the wrong type`;
  }
  return undefined;
}

/** Removes nulls and empty containers from metadata. In the Go types of the Kubernetes API server, they are the same as absent fields. */
export function normalizeMeta(meta: ObjectMeta): void {
  const fields = meta as Record<string, unknown>;
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    // Keeps an empty list of managedFields, so that server-side apply can refuse it.
    const isEmpty =
      name !== 'managedFields' && typeof value === 'object' && value !== null && Object.keys(value).length === 0;
    if (value === null || value === '' || isEmpty) delete fields[name];
  }
}

export function validateMeta(kind: Kind, meta: ObjectMeta, old?: ObjectMeta): Cause[] {
  const at = new Visit({ metadata: meta } as KubeObject);
  if (!old) {
    const { generateName: base = '' } = meta;
    const mistakes = base === '' ? [] : checkName(kind, asPrefix(base));
    for (const mistake of mistakes) at.invalid('metadata.generateName', base, mistake);
    for (const mistake of checkName(kind, meta.name!)) at.invalid('metadata.name', meta.name, mistake);
  }
  at.into('metadata', meta, fields({ labels, annotations }));
  const { causes } = at;
  if (meta.ownerReferences) validateOwners(meta.ownerReferences, causes);
  if (meta.finalizers) validateFinalizers(meta.finalizers, old, causes);
  if (kind.custom || kind.kind === 'Event' || withAnyFinalizer.has(kind.group)) return causes;
  for (const [i, name] of (meta.finalizers ?? []).entries()) {
    if (isUnqualifiedFinalizer(name))
      causes.push(invalidField(`metadata.finalizers[${i}]`, name, unqualifiedFinalizer));
  }
  return causes;
}

/** Groups whose objects may have finalizers of nobody. Events may have them too, or have a rule for them. */
const withAnyFinalizer: ReadonlySet<string> = new Set([
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'coordination.k8s.io',
  'node.k8s.io',
  'policy',
]);

/** The beginning of a name may end in a dash, because something follows. */
function asPrefix(base: string): string {
  return base.length > 1 && base.endsWith('-') ? `${base.slice(0, -2)}a` : base;
}

/** All names are DNS subdomains, except those of some built-in kinds. */
function checkName(kind: Kind, name: string): readonly string[] {
  const check = kind.custom ? undefined : ownField(nameRules, kind.kind);
  return (check ?? dnsSubdomain)(name);
}

function validateOwners(owners: readonly OwnerReference[], causes: Cause[]): void {
  const at = 'metadata.ownerReferences';
  let controller: OwnerReference | undefined;
  // One cause is enough, because it quotes all owners.
  let isReported = false;
  for (const owner of owners) {
    if (!owner.apiVersion)
      causes.push(invalidField(`${at}.apiVersion`, owner.apiVersion ?? '', 'version must not be empty'));
    for (const name of ['kind', 'name', 'uid'] as const) {
      if (!owner[name]) causes.push(invalidField(`${at}.${name}`, owner[name] ?? '', 'must not be empty'));
    }
    if (owner.controller !== true) continue;
    if (controller && !isReported) {
      isReported = true;
      const both = `${controller.name} and ${owner.name}`;
      const why = `Only one reference can have Controller set to true. Found "true" in references for ${both}`;
      causes.push(invalidField(at, owners, why));
    }
    controller = owner;
  }
}

/** Drops each owner that equals an earlier one, as Kubernetes does. Returns the warning. Undefined: there is none. */
export function dropRepeatedOwners(meta: ObjectMeta, isPatch: boolean): string | undefined {
  const { ownerReferences: owners = [] } = meta;
  const kept = new Map<string, OwnerReference>();
  const repeated: string[] = [];
  for (const owner of owners) {
    const text = stableStringify(owner);
    if (kept.has(text)) repeated.push(String(owner.uid));
    else kept.set(text, owner);
  }
  if (repeated.length === 0) return undefined;
  meta.ownerReferences = [...kept.values()];
  const when = isPatch ? ' after mutating admission happens' : '';
  return `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${repeated.join(', ')}`;
}

function validateFinalizers(finalizers: readonly string[], old: ObjectMeta | undefined, causes: Cause[]): void {
  const at = 'metadata.finalizers';
  for (const finalizer of finalizers) {
    for (const mistake of qualifiedName(finalizer)) causes.push(invalidField(at, finalizer, mistake));
  }
  if (finalizers.includes(orphanFinalizer) && finalizers.includes(foregroundFinalizer)) {
    const why = `finalizer ${orphanFinalizer} and ${foregroundFinalizer} cannot be both set`;
    causes.push(invalidField(at, finalizers, why));
  }
  if (!old?.deletionTimestamp) return;
  const added = finalizers.filter((finalizer) => !old.finalizers?.includes(finalizer));
  if (added.length === 0) return;
  const shown = `[]string{${added.map((finalizer) => JSON.stringify(finalizer)).join(', ')}}`;
  const why = `no new finalizers can be added if the object is being deleted, found new finalizers ${shown}`;
  causes.push(forbiddenField(at, why));
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || value === null || typeof value === 'string';
}

/** The error if an object has no name. It has a special message, because the name may also come from generateName. */
export function nameRequired(): Cause {
  return required('metadata.name', 'name or generateName is required');
}
