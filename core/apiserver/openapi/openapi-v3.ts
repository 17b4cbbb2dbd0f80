/**
 * OpenAPI v3 of a space: an index, and one document for each group version. A document contains only the parts that clients use: the component schemas with
 * their kind, and the operations with `x-kubernetes-group-version-kind` and the fieldValidation parameter.
 */

import { hash128 } from '../../object/hash.ts';
import { jsonText } from '../../object/json.ts';
import { groupVersions } from '../discovery/discovery.ts';
import type { Field, FieldType, ObjectType } from '../schema.ts';
import type { Kind, Kinds } from '../space.ts';
import { publishedSchemas } from './published-schemas.ts';

type Schema = Record<string, unknown>;

export function openapiPath(group: string, version: string): string {
  return group === '' ? `api/${version}` : `apis/${group}/${version}`;
}

/** The URL of each document contains a hash, so that a client can keep its copy as long as the document does not change. */
export function openapiIndex(kinds: Kinds, prefix: string): object {
  const paths: Record<string, object> = {};
  for (const [group, versions] of groupVersions(kinds)) {
    for (const version of versions) {
      const path = openapiPath(group, version);
      const hash = Buffer.from(hash128(`${kinds.generation} ${path}`))
        .toString('hex')
        .toUpperCase();
      paths[path] = { serverRelativeURL: `${prefix}/openapi/v3/${path}?hash=${hash}` };
    }
  }
  return { paths };
}

export function openapiDocument(kinds: Kinds, group: string, version: string): object | undefined {
  const served = kinds.all().filter((kind) => kind.group === group && kind.versions.includes(version));
  if (served.length === 0) return undefined;
  const schemas: Record<string, Schema> = {};
  const paths: Record<string, object> = {};
  for (const kind of served) {
    const name = rootSchema(kind, version, schemas);
    for (const [path, item] of pathsOf(kind, version, name)) paths[path] = item;
  }
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'unversioned' },
    paths,
    components: { schemas },
  };
}

/** Adds the schema of the kind, and all schemas to which it refers. Returns the name of the schema. */
function rootSchema(kind: Kind, version: string, schemas: Record<string, Schema>): string {
  const gvk = [{ group: kind.group, version, kind: kind.kind }];
  const own = kind.openapi?.(version);
  if (own) {
    const name = `${kind.group.split('.').reverse().join('.')}.${version}.${kind.kind}`;
    addPublished(objectMeta, schemas);
    const properties = { ...(own.properties as Schema | undefined), ...commonFields() };
    schemas[name] = { ...own, type: 'object', properties, 'x-kubernetes-group-version-kind': gvk };
    return name;
  }
  const type = kind.schema(version);
  const name = type.name ?? kind.kind;
  if (publishedSchemas()[name]) addPublished(name, schemas);
  else addObject(type, schemas);
  schemas[name] = { ...schemas[name], 'x-kubernetes-group-version-kind': gvk };
  return name;
}

/** The fields that all objects have, as a built-in kind describes them. */
function commonFields(): Schema {
  const { apiVersion, kind, metadata } = publishedSchemas()['io.k8s.api.core.v1.ConfigMap']!.properties as Schema;
  return { apiVersion, kind, metadata };
}

const objectMeta = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

/** Adds the published schema of a type, and all schemas to which it refers. Returns the name. */
function addPublished(name: string, schemas: Record<string, Schema>): string {
  const schema = publishedSchemas()[name];
  if (schemas[name] || !schema) return name;
  schemas[name] = schema;
  for (const [, other] of jsonText(schema).matchAll(/#\/components\/schemas\/([^"]+)"/g)) addPublished(other!, schemas);
  return name;
}

function addObject(type: ObjectType, schemas: Record<string, Schema>): string {
  const name = type.name!;
  if (schemas[name]) return name;
  const schema: Schema = { type: 'object' };
  schemas[name] = schema;
  const properties: Schema = {};
  const required: string[] = [];
  for (const [field, of] of type.fields()) {
    properties[field] = fieldSchema(of, schemas);
    if (of.required) required.push(field);
  }
  schema.properties = properties;
  if (required.length > 0) schema.required = required;
  if (type.mapType === 'atomic') schema['x-kubernetes-map-type'] = 'atomic';
  return name;
}

function fieldSchema(field: Field, schemas: Record<string, Schema>): Schema {
  const { patchStrategy, patchMergeKey } = field;
  const strategies = [
    patchStrategy?.merge && 'merge',
    patchStrategy?.replace && 'replace',
    patchStrategy?.retainKeys && 'retainKeys',
  ];
  const strategy = strategies.filter((one) => one).join(',');
  const schema = typeSchema(field.type, schemas);
  const marks = {
    ...(strategy ? { 'x-kubernetes-patch-strategy': strategy } : {}),
    ...(patchMergeKey ? { 'x-kubernetes-patch-merge-key': patchMergeKey } : {}),
  };
  return Object.keys(marks).length > 0 ? { ...schema, ...marks } : schema;
}

function typeSchema(type: FieldType, schemas: Record<string, Schema>): Schema {
  switch (type.type) {
    case 'object':
      if (type.name) return { allOf: [{ $ref: `#/components/schemas/${addObject(type, schemas)}` }], default: {} };
      return { type: 'object' };
    case 'list':
      return {
        type: 'array',
        items: typeSchema(type.items, schemas),
        'x-kubernetes-list-type': type.listType,
        ...(type.mapKeys ? { 'x-kubernetes-list-map-keys': type.mapKeys } : {}),
      };
    case 'map':
      return {
        type: 'object',
        additionalProperties: typeSchema(type.values, schemas),
        ...(type.mapType === 'atomic' ? { 'x-kubernetes-map-type': 'atomic' } : {}),
      };
    case 'any':
      return { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    case 'intOrString':
      return { oneOf: [{ type: 'integer' }, { type: 'string' }], format: 'int-or-string' };
    case 'quantity':
      return { oneOf: [{ type: 'string' }, { type: 'number' }] };
    default:
      return { type: type.type, ...formatOf(type.format) };
  }
}

/** The published schemas make no difference between times with and without microseconds. */
function formatOf(format: string | undefined): object {
  if (format === undefined) return {};
  return { format: format === 'micro-time' ? 'date-time' : format };
}

function pathsOf(kind: Kind, version: string, schema: string): [string, object][] {
  const root = `/${openapiPath(kind.group, version)}${kind.namespaced ? '/namespaces/{namespace}' : ''}/${kind.resource}`;
  const body = { content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } } };
  const operation = (action: string) => ({
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': { group: kind.group, version, kind: kind.kind },
    parameters: ['dryRun', 'fieldManager', 'fieldValidation'].map((name) => ({
      name,
      in: 'query',
      schema: { type: 'string', uniqueItems: true },
    })),
    responses: { 200: { description: 'OK', ...body } },
  });
  return [
    [root, { get: operation('list'), post: { ...operation('post'), requestBody: body } }],
    [
      `${root}/{name}`,
      {
        get: operation('get'),
        put: { ...operation('put'), requestBody: body },
        patch: { ...operation('patch'), requestBody: body },
        delete: operation('delete'),
      },
    ],
  ];
}
