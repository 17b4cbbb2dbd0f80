/** Checks the types of lists and maps in a schema: atomic, set, map and granular, and the keys of a list of type map. */
import { forbiddenField, invalidField, notSupported, required } from '../../object/field-error.ts';
import type { Cause } from '../../runtime/errors.ts';
import type { SchemaProps } from './definition.ts';
import { propertyOf } from './schema-path.ts';

export function checkListTypes(schema: SchemaProps, field: string): Cause[] {
  const { items, 'x-kubernetes-list-type': listType, 'x-kubernetes-map-type': mapType } = schema;
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  return [
    ...(mapType === undefined ? [] : checkType(schema, 'object', 'map', field)),
    ...checkOneOf(mapType, ['atomic', 'granular'], `${field}.x-kubernetes-map-type`),
    ...(listType === undefined ? [] : checkType(schema, 'array', 'list', field)),
    ...(listType === 'set' && schema.type === 'array' && items ? checkSetItems(items, field) : []),
    ...checkOneOf(listType, ['atomic', 'set', 'map'], `${field}.x-kubernetes-list-type`),
    ...(keys.length > 0 && listType !== 'map' ? [keysWithoutMap(listType, field)] : []),
    ...(listType === 'map' ? checkMapList(schema, keys, field) : []),
    ...(items && (listType === 'set' || listType === 'map') ? checkNulls(items, listType, keys, field) : []),
  ];
}

function checkType({ type }: SchemaProps, needed: string, what: string, field: string): Cause[] {
  if (type === needed) return [];
  const why = `must be ${needed} if x-kubernetes-${what}-type is specified`;
  return [type ? invalidField(`${field}.type`, type, why) : required(`${field}.type`, why)];
}

function checkOneOf(value: string | undefined, known: readonly string[], field: string): Cause[] {
  return value === undefined || known.includes(value) ? [] : [notSupported(field, value, known)];
}

/** The Kubernetes API server shows the type of the list in both messages. */
function checkSetItems(items: SchemaProps, field: string): Cause[] {
  const { type, 'x-kubernetes-list-type': listType = null, 'x-kubernetes-map-type': mapType } = items;
  const why = 'must be atomic as item of a list with x-kubernetes-list-type=set';
  if (type === 'array' && listType !== null && listType !== 'atomic') {
    return [invalidField(`${field}.items.x-kubernetes-list-type`, listType, why)];
  }
  if (type !== 'object' || mapType === 'atomic') return [];
  return [invalidField(`${field}.items.x-kubernetes-map-type`, listType, why)];
}

function keysWithoutMap(listType: string | undefined, field: string): Cause {
  const at = `${field}.x-kubernetes-list-type`;
  const why = 'must be map if x-kubernetes-list-map-keys is non-empty';
  return listType === undefined ? required(at, why) : invalidField(at, listType, why);
}

function checkMapList({ items }: SchemaProps, keys: readonly string[], field: string): Cause[] {
  const causes: Cause[] = [];
  const at = `${field}.x-kubernetes-list-map-keys`;
  if (keys.length === 0) causes.push(required(at, 'must not be empty if x-kubernetes-list-type is map'));
  if (!items) return [...causes, required(`${field}.items`, 'must have a schema if x-kubernetes-list-type is map')];
  const ofMap = "if parent array's x-kubernetes-list-type is map";
  if (items.type !== 'object') {
    return [...causes, invalidField(`${field}.items.type`, items.type ?? '', `must be object ${ofMap}`)];
  }
  for (const [index, key] of keys.entries()) {
    const property = propertyOf(items, key);
    if (!property) causes.push(invalidField(at, keys, 'entries must all be names of item properties'));
    else if (property.type === 'array' || property.type === 'object') {
      causes.push(invalidField(`${field}.items.properties[${key}].type`, items.type, `must be a scalar type ${ofMap}`));
    }
    if (keys.indexOf(key) < index) causes.push(invalidField(at, keys, 'must not contain duplicate entries'));
  }
  return causes;
}

/** Items of sets and maps, and keys, must be there: otherwise two items could not be told apart. */
function checkNulls(items: SchemaProps, listType: string, keys: readonly string[], field: string): Cause[] {
  const causes: Cause[] = [];
  if (items.nullable) {
    const why = `cannot be nullable when x-kubernetes-list-type is ${listType}`;
    causes.push(forbiddenField(`${field}.items.nullable`, why));
  }
  for (const key of listType === 'map' ? keys : []) {
    const property = propertyOf(items, key);
    if (!property) continue;
    const at = `${field}.items.properties[${key}]`;
    const why = 'this property is in x-kubernetes-list-map-keys, so it';
    if (!items.required?.includes(key) && property.default === undefined) {
      causes.push(required(`${at}.default`, `${why} must have a default or be a required property`));
    }
    if (property.nullable) causes.push(forbiddenField(`${at}.nullable`, `${why} cannot be nullable`));
  }
  return causes;
}
