/** Checks the schema of a definition, so that every stored schema compiles. The messages and their order are those of the Kubernetes API server. */

import { forbiddenField, invalidField } from '../../object/field-error.ts';
import type { Cause } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';
import { costsOf, totalMistakes } from './cel-cost.ts';
import type { SchemaProps } from './definition.ts';
import { partsOfJunctors } from './junctors.ts';
import { checkDefaults } from './schema-defaults.ts';
import { checkFields, type RefusedProps } from './schema-fields.ts';
import { checkStructural } from './structural.ts';

/** Bounds the stack, because code goes through schemas and objects by recursion. */
const depthMax = 100;

export interface SchemaContext {
  /** Whether the status of objects is a subresource. */
  readonly hasStatus: boolean;
  /** As in Kubernetes, the cost of a single rule does not count if the schema stays as it is. */
  readonly isUnchanged: boolean;
  /** Leaves out mistakes that the stored definition has too. */
  fresh(causes: Cause[]): Cause[];
}

export function checkDefinitionSchema(schema: SchemaProps, field: string, context: SchemaContext): Cause[] {
  const { hasStatus, isUnchanged, fresh } = context;
  const deep = tooDeep(schema, field, 0);
  if (deep !== undefined) return [forbiddenField(deep, `must not be nested more than ${depthMax} levels deep`)];
  const unsupported = unsupportedField(schema);
  const ofRoot = fresh([...(hasStatus ? checkStatusRoot(schema, field) : []), ...checkNullable(schema, field)]);
  const structure = unsupported === undefined ? fresh(checkStructural(schema, field)) : [];
  const isStructural = unsupported === undefined && structure.length === 0;
  const defaults = isStructural ? fresh(checkDefaults(schema, field)) : [];
  const hasRules = isStructural && defaults.length === 0;
  const costs = new Map<string, number>(hasRules ? [...costsOf(schema, field)] : []);
  const observed = new Map<string, number>();
  const { causes, ruleCauses } = checkFields(schema, {
    field,
    isRoot: true,
    isMeta: false,
    noDefault: undefined,
    hasRules,
    uncorrelatable: undefined,
    areCostsKept: isUnchanged,
    costOf: (at) => {
      const cost = costs.get(at) ?? 0;
      observed.set(at, cost);
      return cost;
    },
    fresh,
  });
  const all = [...ofRoot, ...structure, ...defaults, ...causes, ...fresh(ruleCauses)];
  if (all.length === 0 && unsupported !== undefined) return [invalidField(field, '', unsupported)];
  return [...all, ...totalMistakes(observed, field)];
}

function tooDeep(schema: SchemaProps & RefusedProps, field: string, depth: number): string | undefined {
  if (depth > depthMax) return field;
  const { properties = {}, additionalProperties, items, definitions = {}, dependencies = {} } = schema;
  const below: (readonly [unknown, string])[] = [
    ...Object.entries(properties).map(([name, one]) => [one, `${field}.properties[${name}]`] as const),
    [additionalProperties, `${field}.additionalProperties`],
    ...[items].flat().map((item) => [item, `${field}.items`] as const),
    ...partsOfJunctors(schema, field),
    ...Object.entries(definitions).map(([name, one]) => [one, `${field}.definitions[${name}]`] as const),
    ...Object.entries(dependencies).map(([name, one]) => [one, `${field}.dependencies[${name}]`] as const),
  ];
  for (const [child, at] of below) {
    const found = isRecord(child) ? tooDeep(child as SchemaProps, at, depth + 1) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A schema with such a field can't be made structural. Undefined: there is none. */
function unsupportedField(schema: SchemaProps & RefusedProps): string | undefined {
  const { patternProperties = {}, dependencies = {}, definitions = {}, properties = {}, items } = schema;
  const isFilled = (fields: object) => Object.keys(fields).length > 0;
  const names = {
    id: Boolean(schema.id),
    schema: Boolean(schema.$schema),
    $ref: Boolean(schema.$ref),
    patternProperties: isFilled(patternProperties),
    dependencies: isFilled(dependencies),
    additionalItems: schema.additionalItems !== undefined,
    definitions: isFilled(definitions),
  };
  const name = Object.entries(names).find(([, isSet]) => isSet)?.[0];
  if (name !== undefined) return `OpenAPIV3Schema '${name}' is not supported`;
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
  }
  if (Array.isArray(items)) return "OpenAPIV3Schema 'items' must be a schema, but is an array";
  const below = [
    ...[...partsOfJunctors(schema, '')].map(([part]) => part),
    ...(items ? [items] : []),
    ...Object.values(properties),
    ...(isRecord(schema.additionalProperties) ? [schema.additionalProperties as SchemaProps] : []),
  ];
  for (const child of below) {
    const found = unsupportedField(child);
    if (found !== undefined) return found;
  }
  return undefined;
}

function checkNullable({ nullable }: SchemaProps, field: string): Cause[] {
  return nullable ? [forbiddenField(`${field}.nullable`, 'nullable cannot be true at the root')] : [];
}

/** The schema of the status is a property of the root, so other fields of the root must not concern the status. */
const besideStatus =
  'Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations';
const allowed = new Set(besideStatus.split(' ').map((name) => name.toLowerCase()));

function checkStatusRoot(schema: SchemaProps, field: string): Cause[] {
  const isZero = (value: unknown) => value === undefined || value === false || value === '';
  const other = Object.entries(schema).some(
    ([name, value]) =>
      !isZero(value) &&
      !allowed.has(
        name
          .replace(/^x-kubernetes-/, 'x')
          .replaceAll('-', '')
          .toLowerCase(),
      ),
  );
  if (schema.type && schema.type !== 'object') {
    const why = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
    return [invalidField(`${field}.type`, schema.type, why)];
  }
  if (!other) return [];
  const why = `only [${besideStatus}] fields are allowed at the root of the schema if the status subresource is enabled`;
  return [invalidField(field, schema, why)];
}
