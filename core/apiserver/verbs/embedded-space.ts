/**
 * The verbs over a SpaceStorage. Every write has the same steps: copy the input, keep the server's fields, remove unknown fields, fill in defaults, run
 * admission, validate, set generation and managed fields, make the bytes, run one transaction. This file contains the order of the steps. The other files
 * of this folder contain the steps.
 */

import { canonicalBytes, parseBody } from '../../object/canonical.ts';
import { timestamp } from '../../object/conditions.ts';
import { cloneJson } from '../../object/json-value.ts';
import { formatGroupResource, type GroupResource, type ObjectKey } from '../../object/key.ts';
import { formatApiVersion, type KubeObject, parseApiVersion } from '../../object/meta.ts';
import { isTerminating } from '../../object/terminating.ts';
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';
import type { Random } from '../../runtime/random.ts';
import { decodePatched } from '../decoding.ts';
import { applyPatch } from '../patch/apply-patch.ts';
import {
  type Amendment,
  type ApplyOptions,
  askedKey,
  type DeleteOptions,
  type Filling,
  type Kind,
  type Kinds,
  type ObjectChecks,
  type Patch,
  type Space,
  type SpaceFacts,
  storedKey,
  storedResource,
  type UserInfo,
  type WriteAdmission,
  type WriteOptions,
} from '../space.ts';
import * as status from '../status-errors.ts';
import { scanPages } from '../storage/scan-pages.ts';
import type { SpaceStorage, StoredObject } from '../storage.ts';
import { amended } from './amendment.ts';
import { decideDeletion, isReadyToGo } from './deletion.ts';
import type { FieldManager } from './field-manager.ts';
import { refuseUntypedFields, reportUnknownFields } from './field-validation.ts';
import { bothNotes, noteText, putNote, takeNote } from './filled-in.ts';
import { lackedFields, strategyOf, withOwnable } from './kind-strategy.ts';
import { checkMayBeDeleted, checkNamespaceTakesObjects, namespaceResource } from './namespace-guard.ts';
import {
  incoming,
  inVersion,
  isContentChanged,
  isCountedMetadataChanged,
  keyInForm,
  shownIn,
  storedBytes,
} from './object-form.ts';
import { dropRepeatedOwners, fillNewMeta, generateName, nameRequired, validateMeta } from './object-meta.ts';
import {
  checkPatchedName,
  checkPatchedType,
  checkPreconditions,
  checkUpdatable,
  uidCauses,
  withUid,
} from './preconditions.ts';
import { checkScaleTypes, type Scale, scaleOf, withScale } from './scale.ts';
import { SpaceFilling } from './space-filling.ts';
import { checkSubresource, refuseFirst, type Write, warnAbout, withKept, withWriter } from './write.ts';

export interface EmbeddedSpaceOptions {
  readonly name: string;
  readonly storage: SpaceStorage;
  readonly kinds: Kinds;
  readonly clock: Clock;
  readonly random: Random;
  readonly fields: FieldManager;
  /** Checks that need the space. They run after `checks`. */
  readonly admissions: readonly WriteAdmission[];
  /** Checks that need only the objects of a write. Absent: there are none. */
  readonly checks?: ObjectChecks;
  /** Fills in fields that are no defaults. Absent: the space fills in defaults alone. */
  readonly filling?: Filling;
  /** Absent: a dry run shows only the object that would be stored. */
  readonly preview?: DryRunPreview;
  /** Absent: the space may hold any number of objects. */
  readonly quota?: WriteQuota;
}

/**
 * Called when a write has passed all checks, with the change of what the space stores. Throws Forbidden if the space may not hold so much. A write of the node
 * itself has no user.
 */
export type WriteQuota = (
  key: ObjectKey,
  change: { readonly objects: number; readonly bytes: number },
  user: UserInfo | undefined,
) => void;

/**
 * Shows in the result of a dry run which effect the write would have: may change `object.status`, and may warn. Runs after all checks, and never for a write
 * that is stored.
 */
export type DryRunPreview = (key: ObjectKey, object: KubeObject, options: WriteOptions) => void;

/** Number of tries to find a generated name that is not in use. There are 27^5 names, so a second try is rare. */
const nameAttemptsMax = 8;
/** The field manager of the node's own writes that do not name one. */
const ownManager = 'banyan';

export class EmbeddedSpace implements Space {
  readonly name: string;
  readonly kinds: Kinds;
  readonly storage: SpaceStorage;
  readonly #filling: SpaceFilling;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #fields: FieldManager;
  readonly #admissions: readonly WriteAdmission[];
  readonly #checks: ObjectChecks | undefined;
  readonly #preview: DryRunPreview | undefined;
  readonly #quota: WriteQuota | undefined;

  constructor(options: EmbeddedSpaceOptions) {
    this.name = options.name;
    this.storage = options.storage;
    this.kinds = options.kinds;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#fields = options.fields;
    this.#admissions = options.admissions;
    this.#checks = options.checks;
    this.#filling = new SpaceFilling(options.filling);
    this.#preview = options.preview;
    this.#quota = options.quota;
  }

  facts(of: GroupResource): SpaceFacts | undefined {
    return this.#checks?.facts(of);
  }

  get(key: ObjectKey, version?: string): KubeObject | undefined {
    const kind = this.kinds.byResource(key);
    const stored = this.storage.get(kind ? storedKey(kind, key) : key);
    if (!stored) return undefined;
    const object = this.parse(stored);
    return version === undefined ? object : shownIn(this.#kindOf(key), object, version);
  }

  parse(stored: StoredObject): KubeObject {
    const object = parseBody(stored.body);
    object.metadata.resourceVersion = String(stored.revision);
    return object;
  }

  keyOf(object: KubeObject): ObjectKey {
    const { kind } = this.#kindOfObject(object);
    return keyInForm(kind, object);
  }

  create(object: KubeObject, options: WriteOptions = {}): KubeObject {
    const { kind, version } = this.#kindOfObject(object);
    this.#checkWritable();
    const next = incoming(kind, object);
    this.#nameNew(kind, next);
    return this.#insert({ kind, version, key: keyInForm(kind, next), options, sent: object }, next);
  }

  update(object: KubeObject, options: WriteOptions = {}): KubeObject {
    const { kind, version } = this.#kindOfObject(object);
    this.#checkWritable();
    const next = incoming(kind, object);
    if (!next.metadata.name) throw status.badRequest('metadata.name: an update must name its object');
    const key = keyInForm(kind, next);
    const stored = this.storage.get(key);
    if (!stored) throw status.notFound(askedKey(kind, key));
    return this.#replace({ kind, version, key, options, sent: object }, stored, next);
  }

  patch(of: ObjectKey, patch: Patch, options: WriteOptions = {}): KubeObject {
    const kind = this.#kindOf(of);
    const key = storedKey(kind, of);
    this.#checkWritable();
    const stored = this.storage.get(key);
    if (!stored) throw status.notFound(of);
    const version = options.version ?? this.#writtenVersion(kind, stored);
    const { live } = this.#read(kind, version, stored);
    if (options.subresource === 'scale') return this.#patchScale(kind, live, patch, options);
    const next = applyPatch(patch, live, kind.custom ? undefined : kind.schema(version)) as KubeObject;
    checkPatchedType(patch, live, next);
    const clean = decodePatched(patch, next, () => incoming(kind, next));
    // A patch without a resourceVersion applies to every state. So the version that was copied from the live object must not be checked.
    if (clean.metadata.resourceVersion === live.metadata.resourceVersion) delete clean.metadata.resourceVersion;
    return this.#replace({ kind, version, key, options, isPatch: true, patch, sent: next }, stored, clean);
  }

  apply(object: KubeObject, options: ApplyOptions): KubeObject {
    const { kind, version } = this.#kindOfObject(object);
    this.#checkWritable();
    const config = incoming(kind, object);
    if (config.metadata.managedFields) throw status.badRequest('metadata.managedFields must be nil');
    if (!config.metadata.name) throw status.badRequest('metadata.name: server-side apply must name its object');
    const key = keyInForm(kind, config);
    const write: Write = { kind, version, key, options, isPatch: true, isApplied: true };
    const unknown = kind.rules.prepare(cloneJson(config), version);
    const mistakes = this.#fields.mistakes(config, kind, version);
    refuseUntypedFields(options.fieldValidation === undefined ? [] : unknown, mistakes, config, write);
    const stored = this.storage.get(key);
    const live = stored && this.#liveFor(write, stored, options).live;
    if (!live && options.subresource) throw status.notFound(askedKey(kind, key));
    if (!live && config.metadata.uid) {
      const why = `uid mismatch: the provided object specified uid ${config.metadata.uid}, and no existing object was found`;
      throw status.conflict(askedKey(kind, key), why);
    }
    const { fieldManager, force = false, subresource } = options;
    const merged = this.#fields.apply(live, config, kind, version, fieldManager, force, this.#now(), subresource);
    if (live) checkUpdatable(kind, askedKey(kind, key), config, live, true);
    const next = incoming(kind, merged);
    delete next.metadata.resourceVersion;
    return stored ? this.#replace(write, stored, next, config) : this.#insert(write, next);
  }

  putMade(key: ObjectKey, bytes: Uint8Array | undefined, options: WriteOptions = {}): StoredObject {
    this.#checkWritable();
    const { group, kind, storageVersion } = this.#kindOf(key);
    const { namespace, name } = key;
    const stored = this.storage.get(key);
    if (!stored) this.#checkNamespace(key);
    const object = { apiVersion: formatApiVersion(group, storageVersion), kind, metadata: { namespace, name } };
    const { subresource } = options;
    const operation = stored ? 'update' : 'create';
    this.#admitInSpace({ operation, key, object, ...(subresource ? { subresource } : {}), ...withWriter(options) });
    if (!bytes) return this.#removeMade(key, options);
    const change = { objects: stored ? 0 : 1, bytes: bytes.length - (stored?.body.length ?? 0) };
    this.#quota?.(key, change, options.user);
    if (!options.dryRun) return this.storage.write((writer) => writer.put(key, bytes));
    return { key, revision: stored?.revision ?? 0, body: this.#previewed(key, bytes, options) };
  }

  amend(key: ObjectKey, amendment: Amendment, manager: string): void {
    this.#checkWritable();
    const kind = this.#kindOf(key);
    const stored = this.storage.get(key);
    if (!stored) throw status.notFound(key);
    const by = { fields: this.#fields, manager, nowIso: this.#now() };
    const { head, bytes } = amended(kind, stored.body, amendment, by);
    if (head.metadata.deletionTimestamp && isReadyToGo(kind, head)) {
      this.#remove(key, head, {});
    } else if (Buffer.compare(bytes, stored.body) !== 0) {
      this.#quota?.(key, { objects: 0, bytes: bytes.length - stored.body.length }, undefined);
      this.#put(key, bytes, head);
    }
  }

  delete(of: ObjectKey, options: DeleteOptions = {}): KubeObject {
    const kind = this.#kindOf(of);
    const key = storedKey(kind, of);
    this.#checkWritable();
    const stored = this.storage.get(key);
    if (!stored) throw status.notFound(of);
    const object = this.parse(stored);
    checkPreconditions(of, object, options.preconditions ?? {});
    checkMayBeDeleted(key);
    this.#admit({ operation: 'delete', key, old: object, ...withWriter(options) });
    const deletion = decideDeletion(kind, object, options.propagationPolicy, this.#now());
    if (deletion.outcome === 'remove') return this.#remove(key, object, options);
    if (options.dryRun || deletion.next === object) return deletion.next;
    const written = this.storage.write((writer) => writer.put(key, canonicalBytes(deletion.next)));
    deletion.next.metadata.resourceVersion = String(written.revision);
    return deletion.next;
  }

  *deleteCollection(
    resource: GroupResource,
    selection: { readonly namespace?: string; matches(object: KubeObject): boolean },
    options: DeleteOptions = {},
  ): Generator<KubeObject | undefined, void> {
    const { namespace, matches } = selection;
    const found: { readonly key: ObjectKey; readonly uid: string | undefined }[] = [];
    for (const stored of scanPages(this.storage, storedResource(this.#kindOf(resource)), namespace)) {
      const object = this.parse(stored);
      if (matches(object)) found.push({ key: stored.key, uid: object.metadata.uid });
      yield undefined;
    }
    for (const { key, uid } of found) if (this.get(key)?.metadata.uid === uid) yield this.delete(key, options);
  }

  getScale(key: ObjectKey): Scale | undefined {
    const kind = this.#kindOf(key);
    const object = this.get(key);
    return object && scaleOf(kind, object);
  }

  updateScale(key: ObjectKey, scale: KubeObject, options: WriteOptions = {}): KubeObject {
    return this.#writeScale(key, scale, options);
  }

  /** `patch`: the patch that has made the scale. */
  #writeScale(key: ObjectKey, scale: KubeObject, options: WriteOptions, patch?: Patch): KubeObject {
    const kind = this.#kindOf(key);
    this.#checkWritable();
    const unknown = patch ? decodePatched(patch, scale, () => checkScaleTypes(scale)) : checkScaleTypes(scale);
    const sent = { options, isPatch: patch !== undefined, ...(patch ? { patch } : {}) };
    reportUnknownFields(unknown, { ...sent, kind: { ...kind, kind: 'Scale', custom: false }, version: 'v1' }, scale);
    const stored = this.storage.get(key);
    if (!stored) throw status.notFound(key);
    const version = options.version ?? this.#writtenVersion(kind, stored);
    const next = withScale(kind, this.#read(kind, version, stored).live, scale);
    const write: Write = { kind, version, key, options: { ...options, subresource: 'scale' }, isPatch: true };
    return scaleOf(kind, this.#replace(write, stored, next));
  }

  #patchScale(kind: Kind, live: KubeObject, patch: Patch, options: WriteOptions): KubeObject {
    if (patch.type === 'strategic') patch = { type: 'merge', patch: patch.patch };
    const before = scaleOf(kind, live);
    const next = applyPatch(patch, before, undefined) as KubeObject;
    checkPatchedType(patch, before, next);
    checkPatchedName(before, next);
    const { namespace = '', name = '' } = live.metadata;
    return this.#writeScale({ group: kind.group, resource: kind.resource, namespace, name }, next, options, patch);
  }

  #nameNew(kind: Kind, object: KubeObject): void {
    const { metadata } = object;
    if (metadata.name) return;
    const base = metadata.generateName;
    if (!base) throw status.invalidObject(kind, '', [nameRequired()]);
    for (let attempt = 0; attempt < nameAttemptsMax; attempt++) {
      metadata.name = generateName(base, this.#random);
      if (!this.storage.get(keyInForm(kind, object))) return;
    }
  }

  #insert(write: Write, next: KubeObject): KubeObject {
    const { kind, version, key, options } = write;
    if (next.metadata.resourceVersion) {
      throw status.badRequest('resourceVersion should not be set on objects to be created');
    }
    this.#checkNamespace(key);
    fillNewMeta(next.metadata, this.#random, this.#clock.wallMs());
    if (kind.subresources.status) delete next.status;
    this.#decode(write, next);
    const lacked = lackedFields(kind, next);
    strategyOf(kind).prepareCreate?.(next);
    const filled = this.#filling.fillIn(write, next, true);
    this.#admit({ operation: 'create', key, object: next, ...withWriter(options) });
    refuseFirst(write, next);
    const causes = [...validateMeta(kind, next.metadata), ...kind.rules.validate(next, version)];
    if (causes.length > 0) throw status.invalidObject(kind.storedAs ?? kind, key.name, causes);
    warnAbout(kind, next, options, { isChanged: true });
    if (!write.isApplied) this.#manageFields(write, undefined, next, lacked);
    putNote(next, noteText(filled));
    const bytes = storedBytes(kind, key, next);
    const existing = this.storage.get(key);
    if (existing) throw status.alreadyExists(askedKey(kind, key), isTerminating(parseBody(existing.body)));
    this.#quota?.(key, { objects: 1, bytes: bytes.length }, options.user);
    if (!options.dryRun) return this.#put(key, bytes, next);
    this.#preview?.(key, next, options);
    return next;
  }

  /** `applied`: the configuration of a server-side apply, which names fields whose values may already be there. */
  #replace(write: Write, stored: StoredObject, sent: KubeObject, applied?: KubeObject): KubeObject {
    const { kind, version, key, options } = write;
    const { live: old, isRewrite, note } = this.#liveFor(write, stored);
    checkSubresource(kind, options.subresource);
    const asSent = { ...sent, metadata: { ...sent.metadata } };
    const next = withKept(write, sent, old);
    this.#decode(write, next, isRewrite ? undefined : old);
    if (write.patch && write.sent) checkPatchedName(old, write.sent);
    checkUpdatable(kind, askedKey(kind, key), asSent, old, write.isPatch ?? false);
    const lacked = lackedFields(kind, next);
    strategyOf(kind).prepareUpdate?.(next, old, options.subresource);
    const filled = bothNotes(this.#filling.fillIn(write, next, false), this.#filling.ofPart(options.subresource));
    this.#admit({
      operation: 'update',
      key,
      object: next,
      old,
      ...(options.subresource ? { subresource: options.subresource } : {}),
      ...withWriter(options),
    });
    // In a rewrite, the old values are of another version. So the rules that compare old and new values can't run.
    const comparable = isRewrite ? undefined : old;
    if (options.subresource === undefined) refuseFirst(write, next, comparable);
    const causes = [
      ...(write.isPatch ? uidCauses(applied ?? asSent, old) : []),
      ...validateMeta(kind, next.metadata, old.metadata),
      ...kind.rules.validate(withUid(next, applied ?? asSent), version, comparable, options),
    ];
    if (causes.length > 0) throw status.invalidObject(kind.storedAs ?? kind, key.name, causes);
    const isChanged = isContentChanged(kind, next, old);
    // As in Kubernetes, the node of a pod is no content of the pod.
    const isNew = isChanged && options.subresource !== 'binding';
    if (isNew || isCountedMetadataChanged(kind, next, old, options.subresource))
      next.metadata.generation = (old.metadata.generation ?? 0) + 1;
    warnAbout(kind, next, options, { old, isChanged });
    if (!write.isApplied) this.#manageFields(write, old, next, lacked);
    putNote(next, this.#filling.noteOf(write, { note, old, next, filled, applied }));
    const bytes = storedBytes(kind, key, next);
    if (old.metadata.deletionTimestamp && isReadyToGo(kind, next)) return this.#remove(key, next, options);
    if (options.dryRun || Buffer.compare(bytes, stored.body) === 0) {
      next.metadata.resourceVersion = String(stored.revision);
      if (options.dryRun) this.#preview?.(key, next, options);
      return next;
    }
    this.#quota?.(key, { objects: 0, bytes: bytes.length - stored.body.length }, options.user);
    return this.#put(key, bytes, next);
  }

  /** Runs `Kind.rules.prepare` on `next`, and reports unknown fields and repeated owners. */
  #decode(write: Write, next: KubeObject, old?: KubeObject): void {
    const { kind, version, patch, sent, options } = write;
    // As in Kubernetes, the types of all that was sent are checked, also of nulls and of what the write keeps. Without `withDefaults`, `prepare` changes the object.
    const checked = sent && kind.rules.withDefaults && options.subresource === undefined ? sent : next;
    const decode = () => kind.rules.prepare(checked, version, old);
    const unknown = patch ? decodePatched(patch, next, decode) : decode();
    // In server-side apply, `next` is the merged object. `apply` has already checked the fields of the sent object.
    if (!write.isApplied) reportUnknownFields(unknown, write, next);
    const warning = dropRepeatedOwners(next.metadata, write.isPatch ?? false);
    if (warning !== undefined) options.warn?.(warning);
  }

  #removeMade(key: ObjectKey, { dryRun }: WriteOptions): StoredObject {
    const removed = dryRun ? this.storage.get(key) : this.storage.write((writer) => writer.remove(key));
    if (!removed) throw status.notFound(key);
    return dryRun ? { key, revision: 0, body: removed.body } : removed;
  }

  /** The bytes of a dry run, with the effect of the write. */
  #previewed(key: ObjectKey, bytes: Uint8Array, options: WriteOptions): Uint8Array {
    if (!this.#preview) return bytes;
    const object = parseBody(bytes);
    const before = object.status;
    this.#preview(key, object, options);
    return object.status === before ? bytes : canonicalBytes(object);
  }

  #put(key: ObjectKey, bytes: Uint8Array, next: KubeObject): KubeObject {
    const written = this.storage.write((writer) => writer.put(key, bytes));
    next.metadata.resourceVersion = String(written.revision);
    return next;
  }

  #remove(key: ObjectKey, object: KubeObject, options: WriteOptions): KubeObject {
    if (options.dryRun) return object;
    const removed = this.storage.write((writer) => writer.remove(key));
    if (removed) object.metadata.resourceVersion = String(removed.revision);
    return object;
  }

  /** The stored object in `version`, and the note about its filled in fields. Also fills in defaults that the kind got after the object was written. */
  #read(kind: Kind, version: string, stored: StoredObject): { live: KubeObject; note: string | undefined } {
    const parsed = this.parse(stored);
    const note = takeNote(parsed);
    const live = inVersion(kind, parsed, version);
    if (kind.custom) kind.rules.prepare(live, version);
    return { live, note };
  }

  /** The version of a write that names none. */
  #writtenVersion(kind: Kind, stored: StoredObject): string {
    return kind.storesAsWritten ? parseApiVersion(parseBody(stored.body).apiVersion).version : kind.storageVersion;
  }

  /**
   * The stored object for a write. A write of the whole object may be in a version to which the stored object can't be converted (`isRewrite`): the new
   * content replaces the old content, and nothing has to be converted. `apply`: for server-side apply, checks that the content belongs to the applier.
   */
  #liveFor(
    write: Write,
    stored: StoredObject,
    apply?: ApplyOptions,
  ): { live: KubeObject; isRewrite: boolean; note?: string | undefined } {
    const { kind, version, options, isPatch, isApplied } = write;
    const object = this.parse(stored);
    const isWhole = options.subresource === undefined && (!isPatch || isApplied);
    if (!isWhole || kind.rules.convert(object, version)) {
      return { ...this.#read(kind, version, stored), isRewrite: false };
    }
    if (apply && !apply.force) this.#fields.checkRewrite(object, apply.fieldManager);
    const live = this.#fields.withoutContent(object, formatApiVersion(kind.group, version));
    if (object.status !== undefined && !apply) {
      const from = parseApiVersion(object.apiVersion).version;
      options.warn?.(
        `status: it was written in ${from} and can't be converted to ${version}, so it is removed until somebody writes it again`,
      );
    }
    return { live, isRewrite: true };
  }

  /** `lacked`: fields of the spec that the writer has left out and the space may have given. The writer does not own them. */
  #manageFields(
    { kind, version, options }: Write,
    live: KubeObject | undefined,
    next: KubeObject,
    lacked: readonly string[],
  ): void {
    const manager = options.fieldManager ?? ownManager;
    const ownable = withOwnable(kind, next, lacked, live === undefined);
    this.#fields.update(live, ownable, kind, version, manager, this.#now(), options.subresource);
  }

  #admit(request: Parameters<WriteAdmission>[0]): void {
    this.#checks?.admission(request);
    this.#admitInSpace(request);
  }

  #admitInSpace(request: Parameters<WriteAdmission>[0]): void {
    for (const admission of this.#admissions) admission(request);
  }

  #checkNamespace(key: ObjectKey): void {
    if (this.kinds.byResource(namespaceResource)) checkNamespaceTakesObjects(this.storage, key);
  }

  #checkWritable(): void {
    if (this.storage.readOnly) throw new BanyanError('MethodNotAllowed', `the space "${this.name}" is read-only`);
  }

  #kindOf(resource: GroupResource): Kind {
    const kind = this.kinds.byResource(resource);
    if (!kind) throw status.notServed(formatGroupResource(resource));
    return kind;
  }

  #kindOfObject(object: KubeObject): { kind: Kind; version: string } {
    if (!isRecord(object) || typeof object.apiVersion !== 'string' || typeof object.kind !== 'string') {
      throw status.badRequest('an object must have apiVersion and kind');
    }
    const { group, version } = parseApiVersion(object.apiVersion);
    const kind = this.kinds.byKind(group, version, object.kind);
    if (!kind) throw status.notServed(`no matches for kind "${object.kind}" in version "${object.apiVersion}"`);
    return { kind, version };
  }

  #now(): string {
    return timestamp(this.#clock.wallMs());
  }
}
