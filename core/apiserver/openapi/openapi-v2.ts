/**
 * OpenAPI v2 of a space. Clients still use it: kubectl validates `kind: List` with its definitions. If kubectl does not find a kind in v3, it looks for the
 * fieldValidation parameter in v2. The document covers all group versions, and is made from the same types as v3.
 */

import { jsonText } from '../../object/json.ts';
import { groupVersions } from '../discovery/discovery.ts';
import type { Kinds } from '../space.ts';
import { jsonFields } from './json-pieces.ts';
import { openapiDocument, openapiPath } from './openapi-v3.ts';

const constraintNames = [
  'title',
  'enum',
  'pattern',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'multipleOf',
] as const;
type Constraint = (typeof constraintNames)[number];

export interface SchemaV2 extends Readonly<Partial<Record<Constraint, unknown>>> {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly items?: SchemaV2;
  readonly additionalProperties?: SchemaV2;
  readonly properties?: Readonly<Record<string, SchemaV2>>;
  readonly [extension: `x-${string}`]: unknown;
}

export interface OperationV2 {
  readonly operationId: string;
  readonly parameters: readonly { readonly name: string; readonly in: 'query'; readonly type: string }[];
  readonly 'x-kubernetes-action': string;
  readonly 'x-kubernetes-group-version-kind': object;
}

export interface DocumentV2 {
  readonly swagger: '2.0';
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, { readonly patch: OperationV2 }>>;
  /** Each one is made when it is asked for. */
  readonly definitions: Iterable<readonly [name: string, definition: SchemaV2]>;
}

/** A schema of a v3 document. */
type SchemaV3 = { readonly [name: string]: unknown };

export function openapiV2(kinds: Kinds): DocumentV2 {
  const info = { title: 'Kubernetes', version: 'unversioned' };
  return { swagger: '2.0', info, paths: pathsOf(kinds), definitions: definitionsOf(kinds) };
}

/** A schema that several documents have is the same in all of them. */
function* definitionsOf(kinds: Kinds): Generator<readonly [string, SchemaV2]> {
  const made = new Set<string>();
  for (const [group, versions] of groupVersions(kinds)) {
    for (const version of versions) {
      const document = openapiDocument(kinds, group, version) as { components: { schemas: Record<string, SchemaV3> } };
      for (const [name, schema] of Object.entries(document.components.schemas)) {
        if (made.has(name)) continue;
        made.add(name);
        yield [name, asV2(schema, true)];
      }
    }
  }
}

/** The JSON of the document. */
export function* jsonOfV2({ definitions, ...head }: DocumentV2): Generator<string, void> {
  yield jsonText(head).slice(0, -1);
  yield ',"definitions":';
  yield* jsonFields(textsOf(definitions));
  yield '}\n';
}

function* textsOf(definitions: DocumentV2['definitions']): Generator<readonly [string, Iterable<string>]> {
  for (const [name, definition] of definitions) yield [name, [jsonText(definition)]];
}

function pathsOf(kinds: Kinds): DocumentV2['paths'] {
  const paths: Record<string, { patch: OperationV2 }> = {};
  for (const { group, versions, namespaced, resource, kind } of kinds.all()) {
    for (const version of versions) {
      const path = `/${openapiPath(group, version)}${namespaced ? '/namespaces/{namespace}' : ''}/${resource}/{name}`;
      const patch = {
        operationId: `patch ${group}/${version} ${kind}`,
        'x-kubernetes-action': 'patch',
        'x-kubernetes-group-version-kind': { group, version, kind },
        parameters: ['dryRun', 'fieldManager', 'fieldValidation'].map(queryParameter),
      };
      paths[path] = { patch };
    }
  }
  return paths;
}

function queryParameter(name: string) {
  return { name, in: 'query' as const, type: 'string' };
}

/** The schema in v2. If v2 can't express a schema (oneOf, null, several types), the result has no type, so it accepts every value. */
function asV2(schema: SchemaV3, isRoot = false): SchemaV2 {
  const { type, format, description, required, items, properties, additionalProperties, ...rest } = schema;
  const described = typeof description === 'string' ? { description } : {};
  const target = reference(schema);
  if (target !== undefined) {
    const $ref = `#/definitions/${target.slice('#/components/schemas/'.length)}`;
    return { $ref, ...described, ...extensions(schema) };
  }
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true;
  if (schema['x-kubernetes-int-or-string'] === true || format === 'int-or-string')
    return { type: 'string', format: 'int-or-string' };
  // Clients find a kind by its definition. Without properties, they accept every field. Kubernetes leaves the mark of an open root out of v2.
  if (isOpen && isRoot) {
    const { 'x-kubernetes-preserve-unknown-fields': _, ...marks } = extensions(schema);
    return { type: 'object', ...marks };
  }
  if (isOpen || typeof type !== 'string' || schema.nullable === true) return extensions(schema);
  return {
    type,
    ...(typeof format === 'string' ? { format } : {}),
    ...described,
    ...(Array.isArray(required) ? { required: required as string[] } : {}),
    ...(isSchema(items) ? { items: asV2(items) } : {}),
    ...(isSchema(additionalProperties) ? { additionalProperties: asV2(additionalProperties) } : {}),
    ...(isSchema(properties) ? { properties: propertiesOf(properties) } : {}),
    ...constraints(rest),
    ...extensions(schema),
  };
}

/** The constraints of values that v2 has beside the type. Kubernetes leaves defaults and combined schemas out. */
function constraints(schema: SchemaV3): Pick<SchemaV2, Constraint> {
  const known: ReadonlySet<string> = new Set(constraintNames);
  return Object.fromEntries(Object.entries(schema).filter(([name]) => known.has(name)));
}

function propertiesOf(properties: SchemaV3): Record<string, SchemaV2> {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, asV2(schema as SchemaV3)]));
}

function reference(schema: SchemaV3): string | undefined {
  const [only] = Array.isArray(schema.allOf) && schema.allOf.length === 1 ? (schema.allOf as SchemaV3[]) : [schema];
  return typeof only?.$ref === 'string' ? only.$ref : undefined;
}

function isSchema(value: unknown): value is SchemaV3 {
  return typeof value === 'object' && value !== null;
}

function extensions(schema: SchemaV3): SchemaV2 {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name.startsWith('x-kubernetes-')));
}
