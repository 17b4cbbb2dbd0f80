/** Turns a structural schema into the type model (apiserver/schema.ts) that patches, server-side apply and OpenAPI use. */
import type { Field, FieldType, ListType, ObjectType } from '../schema.ts';
import type { SchemaProps } from './definition.ts';
import { LazyParts } from './lazy-parts.ts';
import { objectMetaType } from './object-meta-type.ts';

const string: FieldType = { type: 'string' };
/** The fields of every object, whatever its schema says about them. */
const resourceFields: ReadonlyMap<string, Field> = new Map([
  ['apiVersion', { type: string, required: false }],
  ['kind', { type: string, required: false }],
  ['metadata', { type: objectMetaType, required: false }],
]);

/** The type of a whole object: the properties of the schema, and the properties of every Kubernetes object. */
export function rootType(schema: SchemaProps, name: string): ObjectType {
  return typeOfObject(schema, { isResource: true, name });
}

function typeOf(schema: SchemaProps): FieldType {
  if (schema['x-kubernetes-int-or-string']) return { type: 'intOrString' };
  switch (schema.type) {
    case 'array':
      return typeOfList(schema);
    case 'string':
    case 'integer':
    case 'number':
    case 'boolean':
      return schema.format === undefined ? { type: schema.type } : { type: schema.type, format: schema.format };
    case 'object':
      return typeOfObjectOrMap(schema);
    default:
      return { type: 'any', mapType: mapTypeOf(schema) };
  }
}

function typeOfObjectOrMap(schema: SchemaProps): FieldType {
  const isResource = schema['x-kubernetes-embedded-resource'] === true;
  if (isResource || schema.properties) return typeOfObject(schema, { isResource });
  if (typeof schema.additionalProperties === 'object') {
    return { type: 'map', values: typeOf(schema.additionalProperties), mapType: mapTypeOf(schema) };
  }
  if (schema['x-kubernetes-preserve-unknown-fields'] || schema.additionalProperties === true) {
    return { type: 'any', mapType: mapTypeOf(schema) };
  }
  return typeOfObject(schema, { isResource: false });
}

function typeOfList(schema: SchemaProps): ListType {
  const items: SchemaProps = schema.items ?? {};
  const mapKeys = schema['x-kubernetes-list-map-keys'];
  const defaults: Record<string, string | number | boolean> = {};
  for (const key of mapKeys ?? []) {
    const value = items.properties?.[key]?.default;
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') defaults[key] = value;
  }
  return {
    type: 'list',
    items: typeOf(items),
    listType: schema['x-kubernetes-list-type'] ?? 'atomic',
    ...(mapKeys ? { mapKeys } : {}),
    ...(Object.keys(defaults).length > 0 ? { mapKeyDefaults: defaults } : {}),
  };
}

function typeOfObject(schema: SchemaProps, options: { isResource: boolean; name?: string }): ObjectType {
  const required = new Set(schema.required);
  const properties = new LazyParts(
    schema.properties,
    (property, name): Field => ({
      type: typeOf(property),
      required: required.has(name),
      ...(property.default === undefined ? {} : { default: property.default }),
    }),
  );
  const ofResource = options.isResource ? resourceFields : undefined;
  const field = (name: string) => ofResource?.get(name) ?? properties.get(name);
  return {
    type: 'object',
    ...(options.name === undefined ? {} : { name: options.name }),
    mapType: mapTypeOf(schema),
    preserveUnknown: schema['x-kubernetes-preserve-unknown-fields'] === true,
    field,
    fields: () =>
      [...new Set([...(ofResource?.keys() ?? []), ...properties.names()])].map((name) => [name, field(name)!]),
  };
}

function mapTypeOf(schema: SchemaProps): 'atomic' | 'granular' {
  return schema['x-kubernetes-map-type'] ?? 'granular';
}
