/**
 * Checks that a schema is structural. In a structural schema, every node outside of allOf, anyOf, oneOf and not has a type, and the nodes inside of these only
 * check values (junctors.ts). The server needs this to remove unknown fields, to fill in defaults, and to record the owner of each field.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */

import { forbiddenField, invalidField, required } from '../../object/field-error.ts';
import type { Cause } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';
import type { SchemaProps } from './definition.ts';
import { checkCompleteness, checkJunctors, checkPattern } from './junctors.ts';

/** Where a node is. Its type is necessary everywhere, and the message depends on the place. */
const places = {
  root: 'at the root',
  item: 'for specified array items',
  field: 'for specified object fields',
} as const;

type Place = keyof typeof places;

/** The mistakes, sorted by their texts, as the Kubernetes API server sorts them. */
export function checkStructural(schema: SchemaProps, field: string): Cause[] {
  const text = (cause: Cause) => `${cause.field}: ${cause.message}`;
  const causes = [...checkNode(schema, 'root', field), ...checkCompleteness(schema, field)];
  return causes.sort((a, b) => (text(a) < text(b) ? -1 : 1));
}

function checkNode(schema: SchemaProps, place: Place, field: string): Cause[] {
  const { items, properties = {}, additionalProperties } = schema;
  const values = isRecord(additionalProperties) ? (additionalProperties as SchemaProps) : undefined;
  return [
    ...(items ? checkNode(items, 'item', `${field}.items`) : []),
    ...Object.entries(properties).flatMap(([name, property]) =>
      checkNode(property, 'field', `${field}.properties[${name}]`),
    ),
    ...(values ? checkNode(values, 'field', `${field}.additionalProperties`) : []),
    ...checkType(schema, place, field),
    ...checkPattern(schema, field),
    ...checkJunctors(schema, field),
    ...checkIntOrString(schema, field),
    ...(schema['x-kubernetes-embedded-resource'] ? checkEmbedded(schema, field) : []),
    ...checkMetaFields(schema, place, field),
  ];
}

function checkType(schema: SchemaProps, place: Place, field: string): Cause[] {
  const { type, items, additionalProperties } = schema;
  const causes: Cause[] = [];
  if (type === 'array' && !items) causes.push(required(`${field}.items`, 'must be specified'));
  if (place === 'root' && additionalProperties !== undefined) {
    causes.push(forbiddenField(`${field}.additionalProperties`, 'must not be used at the root'));
  }
  const isFree = ['int-or-string', 'preserve-unknown-fields', 'embedded-resource'] as const;
  if (!type && !isFree.some((extension) => schema[`x-kubernetes-${extension}`])) {
    causes.push(required(`${field}.type`, `must not be empty ${places[place]}`));
  }
  if (place === 'root' && type && type !== 'object') {
    causes.push(invalidField(`${field}.type`, type, 'must be object at the root'));
  }
  return causes;
}

function checkIntOrString(schema: SchemaProps, field: string): Cause[] {
  if (!schema['x-kubernetes-int-or-string']) return [];
  const others = ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource'] as const;
  return others.flatMap((name) =>
    schema[name] ? [invalidField(`${field}.${name}`, true, 'must be false if x-kubernetes-int-or-string is true')] : [],
  );
}

function checkEmbedded(schema: SchemaProps, field: string): Cause[] {
  const { type, additionalProperties, properties = {} } = schema;
  const causes: Cause[] = [];
  const why = 'must be object if x-kubernetes-embedded-resource is true';
  if (!type) causes.push(required(`${field}.type`, why));
  else if (type !== 'object') causes.push(invalidField(`${field}.type`, type, why));
  if (additionalProperties !== undefined) {
    const unused = 'must not be used if x-kubernetes-embedded-resource is set';
    causes.push(forbiddenField(`${field}.additionalProperties`, unused));
  }
  if (!schema['x-kubernetes-preserve-unknown-fields'] && Object.keys(properties).length === 0) {
    const needed =
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields';
    causes.push(required(`${field}.properties`, needed));
  }
  return causes;
}

/** The server defines apiVersion, kind and metadata of a resource, at the root and in an embedded resource. */
function checkMetaFields({ properties = {}, ...schema }: SchemaProps, place: Place, field: string): Cause[] {
  if (place !== 'root' && !schema['x-kubernetes-embedded-resource']) return [];
  const at = (name: string) => `${field}.properties[${name}]`;
  const ofType = (name: string, type: string): Cause[] => {
    const property = properties[name];
    if (!property || property.type === type) return [];
    return [invalidField(`${at(name)}.type`, property.type ?? '', `must be ${type}`)];
  };
  const isOpen = place === 'root' && properties.metadata && !isPlainMetadata(properties.metadata);
  return [
    ...ofType('kind', 'string'),
    ...ofType('apiVersion', 'string'),
    ...ofType('metadata', 'object'),
    ...(isOpen
      ? [
          forbiddenField(
            at('metadata'),
            'must not specify anything other than name and generateName, but metadata is implicitly specified',
          ),
        ]
      : []),
  ];
}

/** These fields of a schema describe and check nothing that the server would have to know. */
const ignored = new Set(['type', 'default', 'example', 'externalDocs', 'properties']);

/** A schema may restrict only name and generateName. */
function isPlainMetadata(schema: SchemaProps): boolean {
  const isEmpty = (value: unknown) => !value || (Array.isArray(value) && value.length === 0);
  const names = Object.keys(schema.properties ?? {});
  return (
    names.every((name) => name === 'name' || name === 'generateName') &&
    Object.entries(schema).every(([key, value]) => ignored.has(key) || (isEmpty(value) && typeof value !== 'number'))
  );
}
