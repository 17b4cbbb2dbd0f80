/**
 * The model of a kind's fields, for strategic merge patch, server-side apply, field validation, OpenAPI and protobuf bodies. Built-in kinds (from the
 * generated table) and CustomResourceDefinitions (from their structural schemas) use the same model.
 */

import type { JsonObject, KubeObject } from '../object/meta.ts';
import type { Cause } from '../runtime/errors.ts';

export type FieldType = ScalarType | AnyType | ListType | MapType | ObjectType;

export interface ScalarType {
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'intOrString' | 'quantity';
  /** The format as in OpenAPI: `byte`, `date-time`, `int32`, `int64`, `double`…, and `micro-time` for times that need six digits after the second. */
  readonly format?: string;
}

/** A type that allows any value and knows no fields: RawExtension, JSON, `x-kubernetes-preserve-unknown-fields` without properties. */
export interface AnyType {
  readonly type: 'any';
  readonly mapType?: 'atomic' | 'granular';
}

export interface ListType {
  readonly type: 'list';
  readonly items: FieldType;
  /** Used by server-side apply. The default is atomic. */
  readonly listType: 'atomic' | 'set' | 'map';
  readonly mapKeys?: readonly string[];
  /** Defaults of map keys that an item may leave out (protocol: TCP). */
  readonly mapKeyDefaults?: Readonly<Record<string, string | number | boolean>>;
}

export interface MapType {
  readonly type: 'map';
  readonly values: FieldType;
  readonly mapType: 'atomic' | 'granular';
}

export interface ObjectType {
  readonly type: 'object';
  /** The name in OpenAPI, for example `io.k8s.api.core.v1.PodSpec`. In a CustomResourceDefinition, only the root has a name. */
  readonly name?: string;
  readonly mapType: 'atomic' | 'granular';
  /** True: unknown fields are kept, without an error or warning. */
  readonly preserveUnknown: boolean;
  field(name: string): Field | undefined;
  fields(): Iterable<readonly [name: string, field: Field]>;
}

export interface Field {
  readonly type: FieldType;
  readonly required: boolean;
  /** Used by strategic merge patch; from the `patchStrategy` and `patchMergeKey` tags of the Go type. */
  readonly patchStrategy?: { readonly merge: boolean; readonly replace: boolean; readonly retainKeys: boolean };
  readonly patchMergeKey?: string;
  readonly default?: unknown;
  /** True: in Go, the field is a pointer, so an absent value differs from an empty one. Only built-in kinds have such fields. */
  readonly pointer?: boolean;
}

export interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  /** 0: the column is always shown. Higher: only with `-o wide`. */
  readonly priority: number;
  readonly jsonPath: string;
}

/** Facts about the write that is checked. */
export interface ValidationContext {
  readonly subresource?: string | undefined;
  /** Absent: the node itself writes. */
  readonly user?: object | undefined;
  /** Takes warnings for the user who writes. */
  readonly warn?: ((text: string) => void) | undefined;
}

/** Facts about a write that may deserve warnings. */
export interface WarnedWrite {
  /** The object before the write. Absent: the object is new. */
  readonly old?: KubeObject | undefined;
  /** The content of the object changes, and not only its metadata. */
  readonly isChanged: boolean;
  readonly subresource?: string | undefined;
}

export interface KindRules {
  /**
   * Changes the object in place. For a kind from a CustomResourceDefinition, fills in defaults and removes unknown fields; built-in kinds keep unknown fields.
   * Returns the paths of unknown fields, for example `spec.templte` or `spec.containers[0].imag`. Throws BadRequest if a value has the wrong type, unless `old`,
   * the stored object, has the same mistake.
   */
  prepare(object: KubeObject, version: string, old?: KubeObject): string[];
  /**
   * The object with the defaults of a built-in kind; the object itself if its type has none. `object` stays as it is. Absent: `prepare` fills in all defaults.
   */
  withDefaults?(object: KubeObject, version: string): KubeObject;
  /** Checks types, required fields, formats and CEL rules. If `old` is given, also checks transition rules. Returns no causes if the object is valid. */
  validate(object: KubeObject, version: string, old?: KubeObject, context?: ValidationContext): Cause[];
  /** Causes that are found before the metadata is looked at, and that an answer has alone. Absent: the kind has none. */
  validateFirst?(object: KubeObject, old?: KubeObject): Cause[];
  /** Warnings about a valid object, for the user who writes it. Absent: the kind has none. */
  warnings?(object: KubeObject, write: WarnedWrite): string[];
  /**
   * Converts the object to another version. If the object is in this version, returns the object itself. Undefined: only a webhook could convert the object,
   * and this server runs none (crd/version-conversion.ts).
   */
  convert(object: KubeObject, toVersion: string): KubeObject | undefined;
}

export interface KindSchema {
  schema(version: string): ObjectType;
  /** The columns. Empty for built-in kinds: the server computes their columns. */
  columns(version: string): readonly PrinterColumn[];
  /** JSON paths that field selectors may use in addition to metadata.*, for example `.spec.nodeName`. */
  selectableFields(version: string): readonly string[];
  /** The text that a field selector compares, for a path of a selectable field without the first dot. Absent: the value at the path, or an empty text. */
  selectableText?(object: Pick<KubeObject, 'metadata'>, path: string, version: string): string;
  /** The OpenAPI v3 schema of a CustomResourceDefinition. Absent for built-in kinds: their schema is made from `schema()`. */
  openapi?(version: string): JsonObject;
  readonly rules: KindRules;
}
