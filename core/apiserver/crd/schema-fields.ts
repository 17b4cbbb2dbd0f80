/**
 * Checks every node of a schema, also the nodes in junctors: fields that Kubernetes does not support, types of lists, and rules. A rule is compiled only if its
 * node and all nodes below have no other mistake, because the type of `self` depends on them.
 */

import { forbiddenField, invalidField, notSupported } from '../../object/field-error.ts';
import type { Cause } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';
import type { SchemaProps } from './definition.ts';
import { partsOfJunctors } from './junctors.ts';
import { checkListTypes } from './schema-lists.ts';
import { checkRuleCode, checkRuleForms, type RulePlace } from './schema-rules.ts';

/** Fields of JSON Schema that a definition may not use. */
export interface RefusedProps {
  id?: string;
  $schema?: string;
  $ref?: string;
  additionalItems?: unknown;
  patternProperties?: Record<string, SchemaProps>;
  definitions?: Record<string, SchemaProps>;
  dependencies?: Record<string, SchemaProps | string[]>;
}

export interface FieldPlace extends Omit<RulePlace, 'isResource'> {
  readonly isRoot: boolean;
  /** True inside of apiVersion, kind and metadata of a resource. */
  readonly isMeta: boolean;
  /** Why the node may not have a default. */
  readonly noDefault: string | undefined;
  /** False in junctors, and in a schema that is not structural: there, no rule is compiled. */
  readonly hasRules: boolean;
  /** Leaves out mistakes that the stored definition has too. */
  fresh(causes: Cause[]): Cause[];
}

interface Found {
  readonly causes: Cause[];
  readonly ruleCauses: Cause[];
}

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const metaFields = ['metadata', 'kind', 'apiVersion'];

export function checkFields(schema: SchemaProps, place: FieldPlace): Found {
  const below = [...childrenOf(schema, place)].map(([child, at]) => checkFields(child, at));
  const causes = [
    ...place.fresh(checkNode(schema, place)),
    ...below.flatMap((found) => found.causes),
    ...place.fresh(checkExtensions(schema, place.field)),
  ];
  const ruleCauses = below.flatMap((found) => found.ruleCauses);
  if (causes.length > 0 || !place.hasRules) return { causes, ruleCauses };
  const isResource = place.isRoot || schema['x-kubernetes-embedded-resource'] === true;
  return { causes, ruleCauses: [...ruleCauses, ...checkRuleCode(schema, { ...place, isResource })] };
}

function checkNode(schema: SchemaProps & RefusedProps, { field, noDefault, isMeta }: FieldPlace): Cause[] {
  const {
    type,
    properties = {},
    additionalProperties,
    dependencies,
    patternProperties = {},
    definitions = {},
  } = schema;
  const refused: Readonly<Record<string, boolean>> = {
    id: Boolean(schema.id),
    additionalItems: schema.additionalItems !== undefined,
    patternProperties: Object.keys(patternProperties).length > 0,
    definitions: Object.keys(definitions).length > 0,
    dependencies: dependencies !== undefined,
    $ref: schema.$ref !== undefined,
  };
  const forbid = (isWrong: unknown, name: string, why: string): Cause[] =>
    isWrong ? [forbiddenField(`${field}.${name}`, why)] : [];
  return [
    ...(type && !types.includes(type) ? [notSupported(`${field}.type`, type, types)] : []),
    ...forbid(noDefault && schema.default !== undefined, 'default', `must not be set ${noDefault}`),
    ...Object.entries(refused).flatMap(([name, isSet]) => forbid(isSet, name, `${name} is not supported`)),
    ...forbid(type === 'null', 'type', 'type cannot be set to null, use nullable as an alternative'),
    ...forbid(Array.isArray(schema.items), 'items', 'items must be a schema object and not an array'),
    ...forbid(
      isMeta && schema['x-kubernetes-embedded-resource'],
      'x-kubernetes-embedded-resource',
      'must not be used inside of resource meta',
    ),
    ...forbid(
      schema.uniqueItems,
      'uniqueItems',
      'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
    ),
    ...forbid(
      additionalProperties !== undefined && additionalProperties !== true && Object.keys(properties).length > 0,
      'additionalProperties',
      'additionalProperties and properties are mutual exclusive',
    ),
  ];
}

function checkExtensions(schema: SchemaProps, field: string): Cause[] {
  const preserve = 'x-kubernetes-preserve-unknown-fields';
  return [
    ...(schema[preserve] === false ? [invalidField(`${field}.${preserve}`, false, 'must be true or undefined')] : []),
    ...checkListTypes(schema, field),
    ...checkRuleForms(schema, field),
  ];
}

function* childrenOf(schema: SchemaProps & RefusedProps, place: FieldPlace): Generator<[SchemaProps, FieldPlace]> {
  const { field, isRoot, isMeta, uncorrelatable } = place;
  const { additionalProperties, properties = {}, items, definitions = {}, dependencies = {} } = schema;
  const inner = { ...place, isRoot: false };
  if (isRecord(additionalProperties)) {
    const noDefault = isMeta ? 'inside additionalProperties applying to object metadata' : place.noDefault;
    yield [additionalProperties as SchemaProps, { ...inner, field: `${field}.additionalProperties`, noDefault }];
  }
  const isResource = isRoot || schema['x-kubernetes-embedded-resource'] === true;
  for (const [name, property] of Object.entries(properties)) {
    const isMetaField = isResource && metaFields.includes(name);
    const child = { ...inner, field: `${field}.properties[${name}]` };
    const noDefault = isMetaField && isRoot ? `in top-level ${name}` : place.noDefault;
    yield [property, { ...child, isMeta: isMeta || isMetaField, noDefault }];
  }
  for (const [part, at] of partsOfJunctors(schema, field)) yield [part, { ...inner, field: at, hasRules: false }];
  for (const [name, part] of Object.entries({ ...definitions })) {
    yield [part, { ...inner, field: `${field}.definitions[${name}]`, hasRules: false }];
  }
  if (items) {
    const ofList = schema['x-kubernetes-list-type'] === 'map' ? undefined : field;
    const child = { ...inner, field: `${field}.items`, uncorrelatable: uncorrelatable ?? ofList };
    if (!Array.isArray(items)) yield [items, child];
    else for (const [index, item] of items.entries()) yield [item, { ...child, field: `${field}.items[${index}]` }];
  }
  for (const [name, part] of Object.entries(dependencies)) {
    if (isRecord(part))
      yield [part as SchemaProps, { ...inner, field: `${field}.dependencies[${name}]`, hasRules: false }];
  }
}
