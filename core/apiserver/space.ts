/**
 * A space as code inside the process uses it: the verbs of the Kubernetes API over a SpaceStorage, without HTTP. The verbs are synchronous. They do
 * defaulting, validation, admission, generation and managed fields. The HTTP side (`http/`) is a thin layer above. Controllers of the embedded cluster and
 * the node's own bookkeeping call a space directly.
 *
 * Errors are BanyanErrors. kubectl prints their message and causes.
 */
import type { GroupResource, ObjectKey } from '../object/key.ts';
import type { JsonObject, KubeObject } from '../object/meta.ts';
import type { KindSchema } from './schema.ts';
import type { SpaceStorage, StoredObject } from './storage.ts';

/** One kind as a space serves it, from the built-in table or from a CustomResourceDefinition. */
export interface Kind extends GroupResource, KindSchema {
  readonly kind: string;
  readonly listKind: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** Served versions, the preferred one first. The storage keeps objects in `storageVersion`. */
  readonly versions: readonly string[];
  readonly storageVersion: string;
  readonly subresources: { readonly status: boolean; readonly scale?: ScalePaths };
  readonly custom: boolean;
  /** The uid of the stored CustomResourceDefinition that defines the kind. Absent for kinds that every such space has. */
  readonly definitionUid?: string;
}

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
  /** Grows whenever the set of kinds or one of them changes. Discovery and OpenAPI documents are cached for one generation. */
  readonly generation: number;
}

export interface WriteOptions {
  /** The manager's name in managedFields. */
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
  /** Receives the texts of `Warning: 299` headers. */
  readonly warn?: (text: string) => void;
  /** `finalize` exists for Namespaces and writes only `spec.finalizers`. `scale` is for patches only; see `updateScale`. */
  readonly subresource?: 'status' | 'scale' | 'finalize';
  /** The served version in which a patch works, and in which its result is returned. Absent: the stored version. */
  readonly version?: string;
  /** The user who makes the request, for admission and audit. Absent: the node itself. */
  readonly user?: UserInfo;
}

export interface UserInfo {
  readonly name: string;
  readonly groups: readonly string[];
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

/** All returned objects have metadata.resourceVersion. */
export interface Space {
  readonly name: string;
  readonly kinds: Kinds;
  readonly storage: SpaceStorage;
  /** Returns the object in the served version `version`, or else in the stored version. */
  get(key: ObjectKey, version?: string): KubeObject | undefined;
  create(object: KubeObject, options?: WriteOptions): KubeObject;
  update(object: KubeObject, options?: WriteOptions): KubeObject;
  patch(key: ObjectKey, patch: Patch, options?: WriteOptions): KubeObject;
  apply(object: KubeObject, options: ApplyOptions): KubeObject;
  /** Returns the last state of the deleted object. If finalizers keep the object, returns its present state, with `metadata.deletionTimestamp`. */
  delete(key: ObjectKey, options?: DeleteOptions): KubeObject;
  /** Deletes all objects for which `matches` is true, one by one, and returns the results of `delete`. An object that disappears meanwhile is no error. */
  deleteCollection(
    resource: GroupResource,
    selection: { readonly namespace?: string; matches(object: KubeObject): boolean },
    options?: DeleteOptions,
  ): KubeObject[];
  /** The autoscaling/v1 Scale of an object. Throws MethodNotAllowed if the kind has no scale subresource. */
  getScale(key: ObjectKey): KubeObject | undefined;
  updateScale(key: ObjectKey, scale: KubeObject, options?: WriteOptions): KubeObject;
  /** The key of an object by its apiVersion, kind, namespace and name. Throws NotFound for a kind that is not served. */
  keyOf(object: KubeObject): ObjectKey;
  /** Parses the stored bytes, and adds metadata.resourceVersion. */
  parse(stored: StoredObject): KubeObject;
}

/**
 * Checks a write beyond the schema. Throws Invalid or Forbidden. `old` is absent for a create, `object` for a delete. The function may change `object` in
 * place, for defaults that a schema can't express.
 */
export type WriteAdmission = (request: {
  readonly operation: 'create' | 'update' | 'delete';
  readonly key: ObjectKey;
  readonly object?: KubeObject;
  readonly old?: KubeObject;
  readonly subresource?: string;
  readonly user?: UserInfo;
  /** Receives warnings for the user. The write succeeds all the same. */
  readonly warn?: (text: string) => void;
}) => void;
