/**
 * A space as code inside the process uses it: the verbs of the Kubernetes API over a SpaceStorage, synchronous, with
 * defaulting, validation, admission, generation and managed fields, and without HTTP. The HTTP side (`http/`) is a thin layer on
 * this; controllers of the embedded cluster and the node's own bookkeeping call it directly.
 *
 * Errors are BanyanErrors whose message and causes are what kubectl prints.
 */
import type { GroupResource, ObjectKey } from '../object/key.ts';
import type { JsonObject, KubeObject } from '../object/meta.ts';
import type { KindSchema } from './schema.ts';
import type { SpaceStorage, StoredObject } from './storage.ts';

/** One kind as served by one space, from the built-in table or from a CustomResourceDefinition. */
export interface Kind extends GroupResource, KindSchema {
  readonly kind: string;
  readonly listKind: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** Served versions, preferred first; `storageVersion` is what bytes are stored in. */
  readonly versions: readonly string[];
  readonly storageVersion: string;
  readonly subresources: { readonly status: boolean; readonly scale?: ScalePaths };
  readonly custom: boolean;
  /** Of the stored CustomResourceDefinition that makes the kind; absent for kinds that the space has by itself. */
  readonly definitionUid?: string;
}

export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

export interface Kinds {
  byResource(resource: GroupResource): Kind | undefined;
  /** `version` empty: any served one. */
  byKind(group: string, version: string, kind: string): Kind | undefined;
  all(): readonly Kind[];
  /** Grows whenever the set of kinds or one of them changes: discovery and OpenAPI are cached by it. */
  readonly generation: number;
}

export interface WriteOptions {
  /** Name in managedFields. */
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
  /** Collects texts of `Warning: 299` headers. */
  readonly warn?: (text: string) => void;
  /** `finalize` is that of Namespaces: writes only `spec.finalizers`. `scale` is for patch; see `updateScale`. */
  readonly subresource?: 'status' | 'scale' | 'finalize';
  /** The served version in which a patch works and its result is returned; absent: the stored one. */
  readonly version?: string;
  /** Who does it, for admission and audit; absent: the node itself. */
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

/** Results carry metadata.resourceVersion. */
export interface Space {
  readonly name: string;
  readonly kinds: Kinds;
  readonly storage: SpaceStorage;
  /** In the asked served version; absent: the stored one. */
  get(key: ObjectKey, version?: string): KubeObject | undefined;
  create(object: KubeObject, options?: WriteOptions): KubeObject;
  update(object: KubeObject, options?: WriteOptions): KubeObject;
  patch(key: ObjectKey, patch: Patch, options?: WriteOptions): KubeObject;
  apply(object: KubeObject, options: ApplyOptions): KubeObject;
  /** The object as it was when it went, or, if finalizers keep it, as it is now, with `metadata.deletionTimestamp`. */
  delete(key: ObjectKey, options?: DeleteOptions): KubeObject;
  /** Deletes what `matches`, one by one; returns what `delete` did. An object that goes meanwhile is no error. */
  deleteCollection(
    resource: GroupResource,
    selection: { readonly namespace?: string; matches(object: KubeObject): boolean },
    options?: DeleteOptions,
  ): KubeObject[];
  /** The autoscaling/v1 Scale of an object whose kind has one; MethodNotAllowed otherwise. */
  getScale(key: ObjectKey): KubeObject | undefined;
  updateScale(key: ObjectKey, scale: KubeObject, options?: WriteOptions): KubeObject;
  /** The key of an object by its apiVersion, kind, namespace and name; throws NotFound for a kind that is not served. */
  keyOf(object: KubeObject): ObjectKey;
  /** Parsed, with resourceVersion. */
  parse(stored: StoredObject): KubeObject;
}

/**
 * What a space checks of a write beyond its schema; throws Invalid or Forbidden. `old` is absent on create, `object` on
 * delete. May change `object` in place (defaulting that no schema can say).
 */
export type WriteAdmission = (request: {
  readonly operation: 'create' | 'update' | 'delete';
  readonly key: ObjectKey;
  readonly object?: KubeObject;
  readonly old?: KubeObject;
  readonly subresource?: string;
  readonly user?: UserInfo;
  /** What the writer should know although the write is done. */
  readonly warn?: (text: string) => void;
}) => void;
