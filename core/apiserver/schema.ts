/**
 * What a kind's fields are, for everything that needs to know: strategic merge patch, server-side apply, field validation, OpenAPI,
 * protobuf bodies. One model for built-in kinds (from the generated table) and for CustomResourceDefinitions (from
 * their structural schemas).
 */

import type { JsonObject, KubeObject } from '../object/meta.ts';
import type { Cause } from '../runtime/errors.ts';

export type FieldType = ScalarType | AnyType | ListType | MapType | ObjectType;

export interface ScalarType {
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'intOrString' | 'quantity';
  /** `byte`, `date-time`, `int32`, `int64`, `double`… as in OpenAPI. */
  readonly format?: string;
}

/** Anything goes and nothing below is known: RawExtension, JSON, `x-kubernetes-preserve-unknown-fields` without properties. */
export interface AnyType {
  readonly type: 'any';
  readonly mapType?: 'atomic' | 'granular';
}

export interface ListType {
  readonly type: 'list';
  readonly items: FieldType;
  /** Server-side apply: atomic unless said otherwise. */
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
  /** As in OpenAPI: `io.k8s.api.core.v1.PodSpec`; absent in CRDs below the root. */
  readonly name?: string;
  readonly mapType: 'atomic' | 'granular';
  /** Unknown fields are kept and not complained about. */
  readonly preserveUnknown: boolean;
  field(name: string): Field | undefined;
  fields(): Iterable<readonly [name: string, field: Field]>;
}

export interface Field {
  readonly type: FieldType;
  readonly required: boolean;
  /** Strategic merge patch, from the `patchStrategy` and `patchMergeKey` tags of the Go type. */
  readonly patchStrategy?: { readonly merge: boolean; readonly replace: boolean; readonly retainKeys: boolean };
  readonly patchMergeKey?: string;
  readonly default?: unknown;
}

export interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  /** 0 is shown always, more only with -o wide. */
  readonly priority: number;
  readonly jsonPath: string;
}

/** How a kind treats an object that someone writes. Each works on `object` in its own served version. */
export interface KindRules {
  /**
   * Removes (CRDs) or leaves (built-ins) what the schema does not know, fills in defaults, in place. Returns the paths
   * of unknown fields, for example `spec.templte` or `spec.containers[0].imag`.
   */
  prepare(object: KubeObject, version: string): string[];
  /** Types, required fields, formats, CEL rules, transition rules when `old` is there. Empty: valid. */
  validate(object: KubeObject, version: string, old?: KubeObject): Cause[];
  /** From one served version to another; identity where a kind has one. */
  convert(object: KubeObject, toVersion: string): KubeObject;
}

export interface KindSchema {
  schema(version: string): ObjectType;
  /** Empty for kinds whose columns the server computes (built-ins). */
  columns(version: string): readonly PrinterColumn[];
  /** JSON paths usable in field selectors beyond metadata.*, for example `.spec.nodeName`. */
  selectableFields(version: string): readonly string[];
  /** The root's OpenAPI v3 schema for kinds that bring their own (CRDs); absent for built-ins, whose schema is made from `schema()`. */
  openapi?(version: string): JsonObject;
  readonly rules: KindRules;
}
