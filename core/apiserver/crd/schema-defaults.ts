/** Checks the defaults of a schema. A default must be valid, because nobody checks the value when the server writes the default into an object. */
import { CelError } from '../../match/cel/cel-error.ts';
import { invalidField } from '../../object/field-error.ts';
import type { Cause } from '../../runtime/errors.ts';
import { compileRulesBelow } from './cel-rules.ts';
import type { SchemaProps } from './definition.ts';
import { compilePrepare } from './prepare.ts';
import { ruleMistake } from './rule-mistake.ts';
import { compileCheck } from './validate.ts';

/** The Kubernetes API server does not look at defaults inside of additionalProperties. */
export function checkDefaults(schema: SchemaProps, field: string): Cause[] {
  return checkBelow({ ...schema, 'x-kubernetes-embedded-resource': true }, field, true);
}

function checkBelow(schema: SchemaProps, field: string, isRoot = false): Cause[] {
  return [
    ...(schema.default === undefined ? [] : checkDefault(schema, `${field}.default`, isRoot)),
    ...(schema.items ? checkBelow(schema.items, `${field}.items`) : []),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
      checkBelow(property, `${field}.properties[${name}]`),
    ),
  ];
}

function checkDefault(schema: SchemaProps, field: string, isRoot: boolean): Cause[] {
  const { default: value } = schema;
  const causes: Cause[] = [];
  compileCheck(schema)(value, [], causes);
  return [
    ...(hasUnknownFields(schema) ? [invalidField(field, value, 'must not have unknown fields')] : []),
    ...(causes.length > 0 ? causes : ruleCauses(schema, isRoot)).map((cause) => ({
      ...cause,
      field: cause.field === '' ? field : `${field}.${cause.field}`,
    })),
  ];
}

/** Puts the default into a property of an object, and removes the unknown fields there. */
function hasUnknownFields(schema: SchemaProps): boolean {
  const around: SchemaProps = { type: 'object', properties: { value: schema } };
  return compilePrepare(around)({ value: structuredClone(schema.default) }).length > 0;
}

/** A default can be a new value, or the value before and after a change. Transition rules apply to the change only. */
function ruleCauses(schema: SchemaProps, isRoot: boolean): Cause[] {
  const value = schema.default;
  const causes: Cause[] = [];
  try {
    const check = compileRulesBelow(schema, isRoot);
    check?.(value, value, causes);
    if (causes.length === 0) check?.(value, undefined, causes);
    return causes;
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    return [invalidField('', schema.type ?? 'any', `rule compile error: ${ruleMistake(error)}`)];
  }
}
