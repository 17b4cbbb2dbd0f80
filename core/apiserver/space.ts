/**
 * A space as code in the process uses it: the verbs of the Kubernetes API over a SpaceStorage, without HTTP. The verbs are synchronous. They fill in
 * defaults, validate, run admission, and set generation and managed fields. The HTTP side (`http/`) only translates requests into verbs. Controllers of the
 * embedded cluster and the node's own code call a space directly.
 *
 * Errors are BanyanErrors. kubectl prints their message and causes.
 */
import type { DeliveryBounds } from '../match/delivery-bounds.ts';
import type { GroupResource, ObjectKey } from '../object/key.ts';
import type { JsonObject, KubeObject } from '../object/meta.ts';
import type { KindSchema } from './schema.ts';
import type { SpaceStorage, StoredObject } from './storage.ts';

/** The names of a kind. */
export interface NamedKind extends GroupResource {
  readonly kind: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly namespaced: boolean;
}

/** One kind of a space, from the built-in table or from a CustomResourceDefinition. */
export interface Kind extends NamedKind, KindSchema {
  readonly listKind: string;
  readonly categories: readonly string[];
  /** The served versions, beginning with the preferred one. */
  readonly versions: readonly string[];
  /** The version in which the storage keeps new states of objects, unless `storesAsWritten`. */
  readonly storageVersion: string;
  /** True: the storage keeps each object in the version in which it was written, because its definition names a conversion webhook. */
  readonly storesAsWritten: boolean;
  /** True: stored objects may be in several versions, because they were written in several, or before another version became the storage version. */
  readonly hasSeveralVersions: boolean;
  readonly subresources: {
    readonly status: boolean;
    readonly scale?: ScalePaths;
    /** Those that write a part of the object. Absent: none. */
    readonly parts?: readonly PartName[];
  };
  /** Loads the code that checks writes of the kind, before a client's write. Absent: the code is always there. */
  load?(): Promise<void>;
  /** The fields of the scale in one version of a custom kind. Absent: they are the same in all versions. */
  scalePaths?(version: string): ScalePaths | undefined;
  readonly custom: boolean;
  /** True: the schema has so many rules that another thread should compile them. Absent: it has few. */
  readonly hasManyRules?: boolean;
  /** True: clients see no `metadata.generation`, as in a Kubernetes API server. The space counts it all the same, for what it sends and sums up. */
  readonly hidesGeneration: boolean;
  /** The part of the metadata whose change makes a new generation too. Absent: only the content makes one. */
  readonly countedMetadata?: 'annotations' | 'labels';
  /** The kind whose objects these are, in another form. Absent: the kind has objects of its own. Only Events have two kinds for the same objects. */
  readonly storedAs?: Kind;
  /**
   * The uid of the CustomResourceDefinition that defines the kind, if the definition is in the storage of the space. Absent for kinds that every space of
   * this type has.
   */
  readonly definitionUid?: string;
  /**
   * The revision of the space at which the present definition was written. The schema may fill in, or remove, fields of objects that were stored before. Absent: no
   * definition in the storage defines the kind.
   */
  readonly definedAt?: number;
}

/** The resource under which the objects of the kind are stored. */
export function storedResource(kind: Kind): GroupResource {
  const { group, resource } = kind.storedAs ?? kind;
  return { group, resource };
}

/** The key of an object of the kind in the storage. */
export function storedKey(kind: Kind, key: ObjectKey): ObjectKey {
  return kind.storedAs ? { ...key, ...storedResource(kind) } : key;
}

/** The key by which a client of the kind knows the object. */
export function askedKey({ group, resource, storedAs }: Kind, key: ObjectKey): ObjectKey {
  return storedAs ? { ...key, group, resource } : key;
}

/** Subresources that write one part of an object (verbs/object-parts.ts). `binding` is no URL for a part of a Pod: a request to it names a node (http/pod-acts.ts). */
export type PartName = 'approval' | 'binding' | 'ephemeralcontainers' | 'resize';

export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

export interface Kinds {
  byResource(resource: GroupResource): Kind | undefined;
  /** An empty `version` means any served version. */
  byKind(group: string, version: string, kind: string): Kind | undefined;
  all(): readonly Kind[];
  /** Grows whenever a kind is added, changed or removed. Discovery and OpenAPI documents are cached for one generation. */
  readonly generation: number;
}

export interface WriteOptions {
  /** The name of the manager in managedFields. */
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
  /** The places of fields that the body has twice. Absent: there are none. */
  readonly duplicateFields?: readonly string[];
  /** Gets the texts for `Warning: 299` headers. */
  readonly warn?: (text: string) => void;
  /**
   * `finalize` exists only for Namespaces, and writes only `spec.finalizers`. The parts are in verbs/object-parts.ts. `scale` is only for patches; for updates,
   * see `updateScale`.
   */
  readonly subresource?: 'status' | 'scale' | 'finalize' | PartName;
  /** The served version to which a patch applies, and in which the result is returned. Absent: the stored version. */
  readonly version?: string;
  /** The user who makes the request, for admission and audit. Absent: the node itself makes the request. */
  readonly user?: UserInfo;
}

export interface UserInfo {
  readonly name: string;
  readonly groups: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  readonly force?: boolean;
}

export interface DeleteOptions extends WriteOptions {
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan';
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

export type Patch =
  | { readonly type: 'json'; readonly operations: unknown }
  | { readonly type: 'merge'; readonly patch: JsonObject }
  | { readonly type: 'strategic'; readonly patch: JsonObject };

/** `Workload`: fields that do not travel, defaults included (verbs/filled-in.ts). `Cluster`: fields that an API server assigns. */
export type FilledAs = 'Workload' | 'Cluster';

/** The new finalizers, or the new status. */
export type Amendment =
  | { readonly finalizers: readonly string[]; readonly status?: undefined }
  | { readonly status: object; readonly finalizers?: undefined };

/** All returned objects have metadata.resourceVersion. */
export interface Space {
  readonly name: string;
  readonly kinds: Kinds;
  readonly storage: SpaceStorage;
  /** The facts that another thread needs to make the bytes of an object of this resource. Undefined: no other thread can make them. */
  facts(of: GroupResource): SpaceFacts | undefined;
  /** Returns the object in the served version `version`. Without `version`, in the stored version. */
  get(key: ObjectKey, version?: string): KubeObject | undefined;
  create(object: KubeObject, options?: WriteOptions): KubeObject;
  update(object: KubeObject, options?: WriteOptions): KubeObject;
  patch(key: ObjectKey, patch: Patch, options?: WriteOptions): KubeObject;
  apply(object: KubeObject, options: ApplyOptions): KubeObject;
  /**
   * Stores bytes that the verbs of another thread have made from the object that is stored now. Undefined: removes the object. Does what needs the rest of the
   * space: the check of the namespace, admission, quota. Only for kinds of which admission sees no more than the name (`http/plain-kinds.ts`), because admission
   * gets no more here. The result of a dry run has the present revision, 0 for a new object.
   */
  putMade(key: ObjectKey, bytes: Uint8Array | undefined, options?: WriteOptions): StoredObject;
  /**
   * Changes the finalizers or the status of an object, for the node itself. Only for kinds of which no rule compares the status with other fields: the other
   * fields may be long, and are not looked at. An object that waits only for the removed finalizer goes.
   */
  amend(key: ObjectKey, amendment: Amendment, fieldManager: string): void;
  /** Deletes the object and returns its last state. If finalizers keep the object, returns its present state, with `metadata.deletionTimestamp`. */
  delete(key: ObjectKey, options?: DeleteOptions): KubeObject;
  /**
   * Deletes all objects for which `matches` returns true, one after the other. Yields the result of `delete` for each, and undefined after each object that it has only
   * looked at, so that the caller can let others work. Ignores an object that somebody else deletes or makes meanwhile.
   */
  deleteCollection(
    resource: GroupResource,
    selection: { readonly namespace?: string; matches(object: KubeObject): boolean },
    options?: DeleteOptions,
  ): Generator<KubeObject | undefined, void>;
  /** The autoscaling/v1 Scale of an object. Throws MethodNotAllowed if the kind has no scale subresource. */
  getScale(key: ObjectKey): KubeObject | undefined;
  updateScale(key: ObjectKey, scale: KubeObject, options?: WriteOptions): KubeObject;
  /** The key of an object, from its apiVersion, kind, namespace and name. Throws NotFound if the kind is not served. */
  keyOf(object: KubeObject): ObjectKey;
  /** Parses the stored bytes, and adds metadata.resourceVersion. */
  parse(stored: StoredObject): KubeObject;
}

/**
 * Checks a write beyond the schema. Throws Invalid or Forbidden. `old` is absent for a create, `object` is absent for a delete. The function may change
 * `object` in place, to fill in defaults that a schema can't express.
 */
export type WriteAdmission = (request: {
  readonly operation: 'create' | 'update' | 'delete';
  readonly key: ObjectKey;
  readonly object?: KubeObject;
  readonly old?: KubeObject;
  readonly subresource?: string;
  readonly user?: UserInfo;
  /** Gets warnings for the user. A warning does not stop the write. */
  readonly warn?: (text: string) => void;
}) => void;

/** Checks that need no more than the objects of a write, and facts about their space (kinds/object-checks.ts). */
export interface ObjectChecks {
  readonly admission: WriteAdmission;
  /** The facts for a write of this resource. */
  facts(of: GroupResource): SpaceFacts;
}

/** `Cluster` is the API of an embedded edge cluster, which has no kinds of the mesh. */
export type SpaceType = 'Workload' | 'Inventory' | 'System' | 'Cluster';

/** What the Services of an embedded cluster leave to the next one. */
export interface ServiceRoom {
  /** The first free address. Absent: there is none. */
  readonly address?: string;
  /** The node ports that are in use. */
  readonly nodePorts: readonly number[];
}

/** Can be sent to another thread. */
export interface SpaceFacts {
  readonly name: string;
  readonly type: SpaceType;
  /** The path of the node that has the space. */
  readonly path: string;
  /** `spec.delivery` of the Space. Absent: there are no bounds. */
  readonly bounds?: DeliveryBounds;
  /** For a Service of an embedded cluster. */
  readonly services?: ServiceRoom;
}

/** Fields that a space fills in and that are no defaults. Both functions change the object in place, and depend on nothing but their arguments. */
export interface Filling {
  readonly as: FilledAs;
  /** Drops values that this space or another one has filled in: an object may be a copy. */
  drop?(key: ObjectKey, object: KubeObject): void;
  /** `isNew`: the object is created. */
  fill(key: ObjectKey, object: KubeObject, isNew: boolean): void;
}
