/**
 * The estimated costs of the rules of a definition. A Kubernetes API server refuses rules that could cost too much, mostly because lists, maps or texts have no
 * maximal size (k8s.io/apiextensions-apiserver, pkg/apis/apiextensions/validation, and k8s.io/apiserver/pkg/cel/common/schemas.go).
 */

import { estimateCel } from '../../match/cel/cel.ts';
import { times } from '../../match/cel/cost/sizes.ts';
import { celFieldName } from '../../match/cel/values.ts';
import { forbiddenField } from '../../object/field-error.ts';
import { ownField } from '../../object/json-value.ts';
import type { Cause } from '../../runtime/errors.ts';
import { celType } from './cel-schema.ts';
import type { SchemaProps } from './definition.ts';

/** Limit for one expression, and for all of a definition. */
const ruleCostMax = 10_000_000;
const definitionCostMax = 100_000_000;
/** The bytes of the longest request. */
const requestMax = 3 * 1024 * 1024;
/** The same, without the quotes or brackets around the value. */
const valueMax = requestMax - 2;

/** The number of values of a schema that one object can have. Undefined: a list or map around it has no maximal size. */
type Cardinality = number | undefined;

/** The fields and costs of all expressions of a schema. Expressions that do not compile have the cost 0. */
export function costsOf(schema: SchemaProps, field: string): Generator<readonly [field: string, cost: number]> {
  return costsBelow(schema, { field, isResource: true, cardinality: 1 });
}

export function costMistake(field: string, what: 'rule' | 'messageExpression', cost: number): Cause[] {
  return mistake(field, `estimated ${what} cost`, cost, ruleCostMax);
}

/** Messages name at most four expressions, each with at least a hundredth of the limit. */
const mostExpensiveMax = 4;

/** Expressions that cost too much all together. */
export function totalMistakes(costs: ReadonlyMap<string, number>, field: string): Cause[] {
  const total = [...costs.values()].reduce((sum, cost) => sum + cost, 0);
  const ofAll = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema';
  const causes = mistake(field, ofAll, total, definitionCostMax);
  if (causes.length === 0) return causes;
  const expensive = [...costs]
    .filter(([, cost]) => cost >= definitionCostMax / 100)
    .sort(([, a], [, b]) => (a === b ? 0 : b - a));
  const part = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema';
  return [...expensive.slice(0, mostExpensiveMax).map(([at]) => forbiddenField(at, part)), ...causes];
}

interface Place {
  readonly field: string;
  readonly isResource: boolean;
  readonly cardinality: Cardinality;
}

function* costsBelow(schema: SchemaProps, place: Place): Generator<readonly [string, number]> {
  const { cardinality } = place;
  const isResource = place.isResource || schema['x-kubernetes-embedded-resource'] === true;
  for (const [index, { rule, messageExpression }] of (schema['x-kubernetes-validations'] ?? []).entries()) {
    const field = `${place.field}.x-kubernetes-validations[${index}]`;
    const factor = cardinality ?? Math.floor(requestMax / (minBytes(schema) + 1));
    const once = (source: string) => expressionCost(source, schema, isResource);
    yield [`${field}.rule`, times(once(rule), factor)];
    if (messageExpression) yield [`${field}.messageExpression`, once(messageExpression)];
  }
  const below = { isResource: false, cardinality: cardinalityBelow(schema, cardinality) };
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    yield* costsBelow(property, { ...below, field: `${place.field}.properties[${name}]` });
  }
  if (typeof schema.additionalProperties === 'object') {
    yield* costsBelow(schema.additionalProperties, { ...below, field: `${place.field}.additionalProperties` });
  }
  if (schema.items) yield* costsBelow(schema.items, { ...below, field: `${place.field}.items` });
}

/** The cardinality of the schemas directly below a schema. */
function cardinalityBelow(schema: SchemaProps, own: Cardinality): Cardinality {
  const factor = factorOf(schema);
  return own === undefined || factor === undefined ? undefined : times(own, factor);
}

function factorOf(schema: SchemaProps): number | undefined {
  if (schema.type === 'array') return schema.maxItems === undefined ? undefined : Math.max(0, Number(schema.maxItems));
  if (schema.type !== 'object' || !schema.additionalProperties) return 1;
  return schema.maxProperties === undefined ? undefined : Math.max(0, Number(schema.maxProperties));
}

/** The greatest cost of the expression for one value of the schema. 0: it does not compile. */
export function expressionCost(source: string, schema: SchemaProps, isResource: boolean): number {
  const self = celType(schema, isResource);
  return estimateCel(source, { self, oldSelf: self }, (path) => sizeAt(schema, isResource, path.slice(1))) ?? 0;
}

function mistake(field: string, what: string, cost: number, max: number): Cause[] {
  if (cost <= max) return [];
  const excess = cost / max;
  const factor = excess > 100 ? 'more than 100x' : `${excess.toFixed(excess < 1.5 ? 6 : 1)}x`;
  const remedy =
    'try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared';
  return [forbiddenField(field, `${what} exceeds budget by factor of ${factor} (${remedy})`)];
}

function sizeAt(schema: SchemaProps, isResource: boolean, [step, ...rest]: readonly string[]): number | undefined {
  if (step === undefined) return sizeMax(schema);
  const below = stepInto(schema, isResource, step);
  return below && sizeAt(below, below['x-kubernetes-embedded-resource'] === true, rest);
}

const text: SchemaProps = { type: 'string' };
/** Kubernetes takes the keys of maps for texts without any character. */
const key: SchemaProps = { type: 'string', maxLength: 0 };
const resource: SchemaProps = {
  type: 'object',
  properties: {
    apiVersion: text,
    kind: text,
    metadata: { type: 'object', properties: { name: text, generateName: text } },
  },
};

function stepInto(schema: SchemaProps, isResource: boolean, step: string): SchemaProps | undefined {
  const values = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
  if (step === '@items' || step === '@values') return schema.items ?? values;
  if (step === '@keys') return values && key;
  const properties = isResource ? { ...schema.properties, ...resource.properties } : (schema.properties ?? {});
  return Object.entries(properties).find(([name]) => celFieldName(name) === step)?.[1];
}

/** The greatest number of characters, items or entries of a value. Undefined: expressions can't read the value. */
function sizeMax(schema: SchemaProps): number | undefined {
  const { maxLength, maxItems, maxProperties, items, additionalProperties } = schema;
  if (schema['x-kubernetes-int-or-string']) return textMax(maxLength);
  switch (schema.type) {
    case 'array':
      return items && Number(maxItems ?? Math.floor(valueMax / (minBytes(items) + 1)));
    case 'object':
      if (typeof additionalProperties !== 'object') return 0;
      return Number(maxProperties ?? Math.floor(valueMax / (minBytes(additionalProperties) + 6)));
    case 'string':
      return stringMax(schema);
    case 'boolean':
    case 'integer':
    case 'number':
      return 0;
    default:
      return undefined;
  }
}

const formatMax: Readonly<Record<string, number>> = { duration: 32, date: 12, 'date-time': 32 };

function stringMax({ format = '', maxLength, enum: values = [] }: SchemaProps): number {
  const max = ownField(formatMax, format);
  if (max !== undefined) return max;
  if (format === 'byte') return Number(maxLength ?? valueMax);
  if (maxLength === undefined && values.length > 0) {
    return Math.max(0, ...values.map((value) => (typeof value === 'string' ? Buffer.byteLength(value) : 0)));
  }
  return textMax(maxLength);
}

/** A character has at most four bytes. */
function textMax(maxLength: SchemaProps['maxLength']): number {
  return maxLength === undefined ? valueMax : 4 * Math.max(0, Number(maxLength));
}

const formatMin: Readonly<Record<string, number>> = { duration: 3, date: 12, 'date-time': 21 };

/** The bytes of the shortest value. */
function minBytes(schema: SchemaProps): number {
  if (schema['x-kubernetes-int-or-string']) return 1;
  switch (schema.type) {
    case 'object':
      return typeof schema.additionalProperties === 'object' ? 2 : 2 + requiredBytes(schema);
    case 'string':
      return ownField(formatMin, schema.format ?? '') ?? 2;
    case 'boolean':
      return 4;
    case 'integer':
    case 'number':
      return 1;
    default:
      return 2;
  }
}

function requiredBytes({ required = [], properties = {} }: SchemaProps): number {
  return required.reduce((sum, name) => {
    const property = ownField(properties, name);
    return property && property.default === undefined ? sum + name.length + minBytes(property) + 4 : sum;
  }, 0);
}
