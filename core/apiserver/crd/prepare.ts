/**
 * Prepares a custom resource for validation: removes unknown fields and fills in defaults. Each part of a schema is compiled once to closures. A part of the schema
 * without fields to remove and without defaults has no closure.
 *
 * The steps are those of the Kubernetes API server: remove fields that the schema does not specify; remove nulls where null is no value, except for items of
 * lists; fill in defaults, outer fields before inner fields (a default may contain fields that have defaults too).
 */

import { type FieldPath, formatPath } from '../../object/field-error.ts';
import type { Json } from '../../object/meta.ts';
import { isRecord } from '../../runtime/is-record.ts';
import type { Field, FieldType, ObjectType } from '../schema.ts';
import type { SchemaProps } from './definition.ts';
import { LazyParts } from './lazy-parts.ts';
import { objectMetaType } from './object-meta-type.ts';

/** Changes `value` in place, and adds the paths of removed fields to `unknown`. */
export type Prepare = (value: unknown, path: FieldPath, unknown: string[]) => void;

/** Compiles the preparation of a whole object, which returns the paths of removed fields. */
export function compilePrepare(schema: SchemaProps): (object: object) => string[] {
  const prepare = objectPrepare(schema, { isResource: true, keepsUnknown: false });
  return (object) => {
    const unknown: string[] = [];
    prepare(object, [], unknown);
    return unknown;
  };
}

type Inherited = { keepsUnknown: boolean };

/** Undefined if there is nothing to remove and no default to fill in, in this part of the schema. */
function prepareOf(schema: SchemaProps, inherited: Inherited): Prepare | undefined {
  const keepsUnknown = inherited.keepsUnknown || schema['x-kubernetes-preserve-unknown-fields'] === true;
  if (schema.type === 'array' && schema.items) return itemsPrepare(schema.items);
  if (schema.type !== 'object' && !schema.properties) return undefined;
  if (schema['x-kubernetes-embedded-resource']) return objectPrepare(schema, { isResource: true, keepsUnknown });
  if (schema.properties) return objectPrepare(schema, { isResource: false, keepsUnknown });
  if (typeof schema.additionalProperties === 'object') {
    return mapPrepare(propertyOf(schema.additionalProperties));
  }
  if (keepsUnknown || schema.additionalProperties === true) return undefined;
  return objectPrepare(schema, { isResource: false, keepsUnknown });
}

interface Property {
  readonly prepare: Prepare | undefined;
  readonly default: (() => Json) | undefined;
  readonly nullable: boolean;
}

function propertyOf(schema: SchemaProps): Property {
  return {
    prepare: prepareOf(schema, { keepsUnknown: false }),
    default: schema.default === undefined ? undefined : copier(schema.default),
    nullable: schema.nullable === true,
  };
}

function objectPrepare(schema: SchemaProps, options: { isResource: boolean; keepsUnknown: boolean }): Prepare {
  const keepsUnknown = options.keepsUnknown || schema['x-kubernetes-preserve-unknown-fields'] === true;
  const properties = new LazyParts(schema.properties, propertyOf);
  const ofResource = options.isResource ? resourceProperties : undefined;
  const defaulted = Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
    property.default === undefined || ofResource?.has(name) ? [] : [[name, copier(property.default)] as const],
  );
  const others = typeof schema.additionalProperties === 'object' ? propertyOf(schema.additionalProperties) : undefined;
  const keepsOthers = keepsUnknown || schema.additionalProperties !== undefined;
  return (value, path, unknown) => {
    if (!isRecord(value)) return;
    for (const [name, copy] of defaulted) if (!Object.hasOwn(value, name)) value[name] = copy();
    for (const name in value) {
      const property = ofResource?.get(name) ?? properties.get(name) ?? others;
      if (property) prepareField(value, name, property, path, unknown);
      else if (!keepsOthers) {
        unknown.push(formatPath([...path, name]));
        delete value[name];
      }
    }
  };
}

const scalar: Property = { prepare: undefined, default: undefined, nullable: true };
/** The fields of every object, whatever its schema says about them. */
const resourceProperties: ReadonlyMap<string, Property> = new Map([
  ['apiVersion', scalar],
  ['kind', scalar],
  ['metadata', { ...scalar, prepare: typePrepare(objectMetaType) }],
]);

function prepareField(
  object: Record<string, unknown>,
  name: string,
  property: Property,
  path: FieldPath,
  unknown: string[],
): void {
  if (object[name] === null && !property.nullable) {
    if (!property.default) {
      delete object[name];
      return;
    }
    object[name] = property.default();
  }
  if (!property.prepare) return;
  path.push(name);
  property.prepare(object[name], path, unknown);
  path.pop();
}

function mapPrepare(property: Property): Prepare | undefined {
  if (!property.prepare && property.nullable) return undefined;
  return (value, path, unknown) => {
    if (!isRecord(value)) return;
    for (const name in value) prepareField(value, name, property, path, unknown);
  };
}

/** A null item stays, unless the items have a default: without the item, the others would move. */
function itemsPrepare(schema: SchemaProps): Prepare | undefined {
  const { default: defaultOf, nullable, prepare } = propertyOf(schema);
  const below = listPrepare(prepare);
  if (!defaultOf || nullable) return below;
  return (value, path, unknown) => {
    if (!Array.isArray(value)) return;
    for (let index = 0; index < value.length; index++) if (value[index] === null) value[index] = defaultOf();
    below?.(value, path, unknown);
  };
}

function listPrepare(prepare: Prepare | undefined): Prepare | undefined {
  if (!prepare) return undefined;
  return (value, path, unknown) => {
    if (!Array.isArray(value)) return;
    for (let index = 0; index < value.length; index++) {
      path.push(index);
      prepare(value[index], path, unknown);
      path.pop();
    }
  };
}

/** Removes unknown fields by a type instead of a schema. Used for metadata, whose fields have no defaults. */
function typePrepare(type: FieldType): Prepare | undefined {
  if (type.type === 'list') return listPrepare(typePrepare(type.items));
  if (type.type !== 'object') return undefined;
  return typedObjectPrepare(type);
}

function typedObjectPrepare(type: ObjectType): Prepare {
  const below = new Map<string, Prepare | undefined>();
  for (const [name, field] of type.fields() as Iterable<[string, Field]>) below.set(name, typePrepare(field.type));
  return (value, path, unknown) => {
    if (!isRecord(value)) return;
    for (const name in value) {
      if (!below.has(name)) {
        unknown.push(formatPath([...path, name]));
        delete value[name];
        continue;
      }
      const prepare = below.get(name);
      if (!prepare) continue;
      path.push(name);
      prepare(value[name], path, unknown);
      path.pop();
    }
  };
}

/** Gives each object its own copy of a default, because other code may change the object later. */
function copier(value: Json): () => Json {
  return value === null || typeof value !== 'object' ? () => value : () => structuredClone(value);
}
