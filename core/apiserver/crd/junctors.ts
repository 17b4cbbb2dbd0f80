/**
 * allOf, anyOf, oneOf and not of a structural schema. These junctors may only check a value. Fields that define a value, such as its type and its default, are
 * allowed outside of junctors only.
 */
import { compilePattern } from '../../match/cel/base/pattern.ts';
import { forbiddenField, invalidField, required } from '../../object/field-error.ts';
import { equalJson } from '../../object/json-value.ts';
import { type Cause, describeError } from '../../runtime/errors.ts';
import type { SchemaProps } from './definition.ts';
import { propertyOf } from './schema-path.ts';

/** The fields that define a value, with the word of Kubernetes for their absence. */
const defining = {
  type: 'empty',
  default: 'undefined',
  title: 'empty',
  description: 'empty',
  nullable: 'false',
  'x-kubernetes-preserve-unknown-fields': 'false',
  'x-kubernetes-embedded-resource': 'false',
  'x-kubernetes-int-or-string': 'false',
  'x-kubernetes-list-map-keys': 'empty',
  'x-kubernetes-list-type': 'undefined',
  'x-kubernetes-map-type': 'undefined',
  'x-kubernetes-validations': 'empty',
} as const;

const junctors = ['anyOf', 'allOf', 'oneOf'] as const;

/** The anyOf that authors usually write together with x-kubernetes-int-or-string. Its types are allowed. */
const intOrString = [{ type: 'integer' }, { type: 'string' }];

/** The schemas in the junctors of a node, with their fields. */
export function* partsOfJunctors(schema: SchemaProps, field: string): Generator<readonly [SchemaProps, string]> {
  for (const name of junctors) {
    for (const [index, part] of (schema[name] ?? []).entries()) yield [part, `${field}.${name}[${index}]`];
  }
  if (schema.not) yield [schema.not, `${field}.not`];
}

/** `usual`: the first allOf may be the usual one of integers or texts. */
export function checkJunctors(schema: SchemaProps, field: string, usual = true): Cause[] {
  const isUsual = (part: SchemaProps | undefined) => usual && equalJson(part?.anyOf, intOrString);
  const { anyOf, ...others } = schema;
  return [...partsOfJunctors(isUsual(schema) ? others : schema, field)].flatMap(([part, at]) =>
    checkPart(part, at, part === schema.allOf?.[0] && isUsual(part)),
  );
}

function checkPart(part: SchemaProps, field: string, isUsual = false): Cause[] {
  const { anyOf, ...others } = part;
  return [
    ...checkPattern(part, field),
    ...checkJunctors(isUsual ? others : part, field, false),
    ...(part.items ? checkPart(part.items, `${field}.items`) : []),
    ...Object.entries(part.properties ?? {}).flatMap(([name, property]) =>
      checkPart(property, `${field}.properties[${name}]`),
    ),
    ...checkDefining(part, field),
    ...(part.properties?.metadata
      ? [forbiddenField(`${field}.properties[metadata]`, 'must not be specified in a nested context')]
      : []),
  ];
}

function checkDefining(part: SchemaProps, field: string): Cause[] {
  const { additionalProperties } = part;
  const isSet = (value: unknown) => (Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false);
  return [
    ...(additionalProperties
      ? [forbiddenField(`${field}.additionalProperties`, 'must be undefined to be structural')]
      : []),
    ...Object.entries(defining).flatMap(([name, absence]) =>
      isSet(part[name as keyof typeof defining]) && part[name as keyof typeof defining] !== ''
        ? [forbiddenField(`${field}.${name}`, `must be ${absence} to be structural`)]
        : [],
    ),
  ];
}

/** The junctors of the root may name only fields that are specified outside of junctors too. */
export function checkCompleteness(schema: SchemaProps, field: string): Cause[] {
  return [...partsOfJunctors(schema, field)].flatMap(([part, at]) => checkCounterparts(part, at, schema, field));
}

function checkCounterparts(part: SchemaProps, at: string, outside: SchemaProps | undefined, field: string): Cause[] {
  if (!outside) return [required(field, `because it is defined in ${at}`)];
  return [
    ...[...partsOfJunctors(part, at)].flatMap(([inner, place]) => checkCounterparts(inner, place, outside, field)),
    ...(part.items ? checkCounterparts(part.items, `${at}.items`, outside.items, `${field}.items`) : []),
    ...Object.entries(part.properties ?? {}).flatMap(([name, property]) => {
      const below = `.properties[${name}]`;
      return checkCounterparts(property, at + below, propertyOf(outside, name), field + below);
    }),
  ];
}

export function checkPattern({ pattern }: SchemaProps, field: string): Cause[] {
  if (!pattern) return [];
  try {
    compilePattern(pattern);
    return [];
  } catch (error) {
    const why = `must be a valid regular expression, but isn't: ${describeError(error)}`;
    return [invalidField(`${field}.pattern`, pattern, why)];
  }
}
