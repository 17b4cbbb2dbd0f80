/**
 * The fields of a kind, for strategic merge patch, server-side apply, field validation, OpenAPI and protobuf bodies. There is one model for built-in kinds
 * (from the generated table) and for CustomResourceDefinitions (from their structural schemas).
 */

import type { JsonObject, KubeObject } from '../object/meta.ts';
import type { Cause } from '../runtime/errors.ts';

export type FieldType = ScalarType | AnyType | ListType | MapType | ObjectType;

export interface ScalarType {
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'intOrString' | 'quantity';
  /** `byte`, `date-time`, `int32`, `int64`, `double`… as in OpenAPI. */
  readonly format?: string;
}

/** Any value is valid, and its fields are unknown: RawExtension, JSON, `x-kubernetes-preserve-unknown-fields` without properties. */
export interface AnyType {
  readonly type: 'any';
  readonly mapType?: 'atomic' | 'granular';
}

export interface ListType {
  readonly type: 'list';
  readonly items: FieldType;
  /** For server-side apply. The default is atomic. */
  readonly listType: 'atomic' | 'set' | 'map';
  readonly mapKeys?: readonly string[];
  /** Defaults of map keys that may be left out (protocol: TCP). */
  readonly mapKeyDefaults?: Readonly<Record<string, string | number | boolean>>;
}

export interface MapType {
  readonly type: 'map';
  readonly values: FieldType;
  readonly mapType: 'atomic' | 'granular';
}

export interface ObjectType {
  readonly type: 'object';
  /** The name in OpenAPI: `io.k8s.api.core.v1.PodSpec`. Absent below the root of a CustomResourceDefinition. */
  readonly name?: string;
  readonly mapType: 'atomic' | 'granular';
  /** True: unknown fields stay, without an error or warning. */
  readonly preserveUnknown: boolean;
  field(name: string): Field | undefined;
  fields(): Iterable<readonly [name: string, field: Field]>;
}

export interface Field {
  readonly type: FieldType;
  readonly required: boolean;
  /** For strategic merge patch, from the `patchStrategy` and `patchMergeKey` tags of the Go type. */
  readonly patchStrategy?: { readonly merge: boolean; readonly replace: boolean; readonly retainKeys: boolean };
  readonly patchMergeKey?: string;
  readonly default?: unknown;
}

export interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  /** A column with 0 is always shown, a higher number only with `-o wide`. */
  readonly priority: number;
  readonly jsonPath: string;
}

/** The rules of a kind for a written object. Each function works on `object` in its own served version. */
export interface KindRules {
  /**
   * Changes the object in place: fills in defaults, and removes unknown fields if the kind comes from a CustomResourceDefinition. Built-in kinds keep unknown
   * fields. Returns the paths of unknown fields, for example `spec.templte` or `spec.containers[0].imag`.
   */
  prepare(object: KubeObject, version: string): string[];
  /** Checks types, required fields, formats, CEL rules, and, if `old` is given, transition rules. Returns no causes for a valid object. */
  validate(object: KubeObject, version: string, old?: KubeObject): Cause[];
  /** Converts from one served version to another. If the kind has only one version, the object stays the same. */
  convert(object: KubeObject, toVersion: string): KubeObject;
}

export interface KindSchema {
  schema(version: string): ObjectType;
  /** Empty for built-in kinds: the server computes their columns. */
  columns(version: string): readonly PrinterColumn[];
  /** JSON paths that field selectors may use beside metadata.*, for example `.spec.nodeName`. */
  selectableFields(version: string): readonly string[];
  /** The OpenAPI v3 schema of a CustomResourceDefinition. Absent for built-in kinds: their OpenAPI schema is made from `schema()`. */
  openapi?(version: string): JsonObject;
  readonly rules: KindRules;
}
