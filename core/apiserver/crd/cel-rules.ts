/**
 * x-kubernetes-validations: CEL rules at any level of a schema. A transition rule compares the new value with the old value.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
 *
 * old-values.ts finds the old value. schema-rules.ts refuses a definition with transition rules at a place without old values.
 */

import { Optional } from '@marcbachmann/cel-js';
import { defaultBudget, type EvaluationBudget } from '../../match/cel/budget.ts';
import { type CelProgram, type CelType, compileCel } from '../../match/cel/cel.ts';
import { CelError } from '../../match/cel/cel-error.ts';
import type { CelValue } from '../../match/cel/values.ts';
import {
  duplicate,
  type FieldPath,
  forbiddenField,
  formatPath,
  invalidField,
  required,
} from '../../object/field-error.ts';
import { equalJson } from '../../object/json-value.ts';
import type { Cause } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';
import { celConverter, celType } from './cel-schema.ts';
import type { SchemaProps, ValidationRule } from './definition.ts';
import { LazyParts, schemasIn, schemasWith } from './lazy-parts.ts';
import { type OldValue, oldField, oldItems } from './old-values.ts';

/** Facts about one run of all rules. */
interface Run {
  readonly causes: Cause[];
  readonly budget: EvaluationBudget;
  /** Takes the failures of rules about parts that have not changed. */
  readonly warn: (text: string) => void;
}

/** The nearest part around a value, or the value itself, that has an old value. */
interface Compared {
  readonly value: unknown;
  readonly old: OldValue;
}

/** Goes through the object and its old state in parallel. `around`: absent for a new object. */
type RuleCheck = (value: unknown, old: OldValue, path: FieldPath, run: Run, around?: Compared) => void;

export interface CompiledValidationRule {
  readonly rule: ValidationRule;
  readonly program: CelProgram;
  readonly message: CelProgram | undefined;
  readonly isTransition: boolean;
}

/** Compiles the rules of a schema. Undefined if the schema has none. Both throw CelError if a rule does not compile. */
export function compileRules(
  schema: SchemaProps,
): ((object: object, old: object | undefined, causes: Cause[], warn?: (text: string) => void) => void) | undefined {
  const check = rulesOf(schema, true, ruledIn(schema));
  return (
    check &&
    ((object, old, causes, warn = () => {}) =>
      check(object, old, [], { causes, budget: defaultBudget(), warn }, old && { value: object, old }))
  );
}

/** The same for a schema inside of another one, without exceptions for unchanged parts. */
export function compileRulesBelow(
  schema: SchemaProps,
  isResource: boolean,
): ((value: unknown, old: unknown, causes: Cause[]) => void) | undefined {
  const check = rulesOf(schema, isResource, ruledIn(schema));
  return check && ((value, old, causes) => check(value, old, [], { causes, budget: defaultBudget(), warn: () => {} }));
}

export function countRules(schema: SchemaProps): number {
  let count = 0;
  for (const { 'x-kubernetes-validations': rules } of schemasIn(schema)) count += rules?.length ?? 0;
  return count;
}

/** Throws CelError if the rule does not compile. */
export function compileRule(rule: ValidationRule, self: CelType): CompiledValidationRule {
  const variables = { self, oldSelf: rule.optionalOldSelf ? ({ optional: self } as const) : self };
  const program = compileCel(rule.rule, variables, 'bool', 'kubernetes');
  const message = rule.messageExpression
    ? compileCel(rule.messageExpression, variables, 'string', 'kubernetes')
    : undefined;
  return { rule, program, message, isTransition: program.variables.has('oldSelf') };
}

type Ruled = ReadonlySet<SchemaProps>;

/** The schemas that have rules. */
function ruledIn(schema: SchemaProps): Ruled {
  return schemasWith(schema, (one) => (one['x-kubernetes-validations']?.length ?? 0) > 0);
}

function rulesOf(schema: SchemaProps, isResource: boolean, ruled: Ruled): RuleCheck | undefined {
  if (!ruled.has(schema)) return undefined;
  const own = ownRules(schema, isResource);
  const below = rulesBelow(schema, ruled);
  if (!own || !below) return own ?? below;
  return (...args) => {
    own(...args);
    below(...args);
  };
}

function ownRules(schema: SchemaProps, isRoot: boolean): RuleCheck | undefined {
  const rules = schema['x-kubernetes-validations'];
  if (!rules?.length) return undefined;
  const isResource = isRoot || schema['x-kubernetes-embedded-resource'] === true;
  const compiled = rules.map((rule) => compileRule(rule, celType(schema, isResource)));
  const convert = celConverter(schema, isResource, neededFields(compiled));
  const typeName = schema.type ?? 'any';
  return (value, old, path, { causes, budget, warn }, around) => {
    if (value === null || value === undefined) return;
    const self = convert(value);
    let oldSelf: CelValue | undefined;
    for (const rule of compiled) {
      if (rule.isTransition) {
        if ((old === undefined || old === null) && !rule.rule.optionalOldSelf) continue;
        if (old !== undefined && old !== null) oldSelf ??= convert(old);
      }
      const failure = evaluate(rule, bindings(rule, self, oldSelf), budget);
      if (!failure) continue;
      const cause = causeOf(rule.rule, failure.text, path, typeName);
      if (failure.isVerdict && !rule.isTransition && around && equalJson(around.value, around.old))
        warn(`${cause.field}: ${cause.message}`);
      else causes.push(cause);
    }
  };
}

/**
 * The names of the fields that at least one rule uses; undefined: all fields. Only these fields are converted, because the conversion of a value costs more
 * than the evaluation of most rules.
 */
function neededFields(rules: readonly CompiledValidationRule[]): ReadonlySet<string> | undefined {
  const needed = new Set<string>();
  for (const { program, message } of rules) {
    for (const part of message ? [program, message] : [program]) {
      for (const variable of ['self', 'oldSelf']) {
        const fields = part.fieldsOf(variable);
        if (!fields) return undefined;
        for (const field of fields) needed.add(field);
      }
    }
  }
  return needed;
}

function bindings(
  rule: CompiledValidationRule,
  self: CelValue,
  oldSelf: CelValue | undefined,
): Record<string, CelValue> {
  if (!rule.isTransition) return { self };
  if (!rule.rule.optionalOldSelf) return { self, oldSelf: oldSelf ?? null };
  return { self, oldSelf: oldSelf === undefined ? Optional.none() : Optional.of(oldSelf) };
}

/** `isVerdict`: the rule was evaluated, and does not hold. Otherwise it could not be evaluated. */
interface Failure {
  readonly text: string;
  readonly isVerdict: boolean;
}

/** Undefined: the rule holds. */
function evaluate(
  { rule, program, message }: CompiledValidationRule,
  values: Record<string, CelValue>,
  budget: EvaluationBudget,
): Failure | undefined {
  const fixedMessage = rule.message ?? `failed rule: ${rule.rule.trim()}`;
  try {
    if (program.evaluate(values, budget) === true) return undefined;
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    const text =
      error.kind === 'cost'
        ? `call cost exceeds limit for rule: ${fixedMessage}`
        : `${error.message} evaluating rule: ${fixedMessage}`;
    return { text, isVerdict: false };
  }
  return { text: (message && expressedMessage(message, values, budget)) ?? fixedMessage, isVerdict: true };
}

/**
 * The message from the rule's expression. Undefined if the expression fails or does not give a single line: then the fixed message is used, as in the
 * Kubernetes API server.
 */
function expressedMessage(
  message: CelProgram,
  values: Record<string, CelValue>,
  budget: EvaluationBudget,
): string | undefined {
  try {
    const text = message.evaluate(values, budget);
    const trimmed = typeof text === 'string' ? text.trim() : '';
    return trimmed === '' || trimmed.includes('\n') ? undefined : trimmed;
  } catch (error) {
    if (error instanceof CelError) return undefined;
    throw error;
  }
}

function causeOf(rule: ValidationRule, text: string, path: FieldPath, typeName: string): Cause {
  const field = formatPath(path) + (rule.fieldPath ?? '');
  const name = field.startsWith('.') ? field.slice(1) : field;
  switch (rule.reason) {
    case 'FieldValueRequired':
      return required(name, text);
    case 'FieldValueForbidden':
      return forbiddenField(name, text);
    case 'FieldValueDuplicate':
      return duplicate(name, typeName);
    default:
      return invalidField(name, typeName, text);
  }
}

function rulesBelow(schema: SchemaProps, ruled: Ruled): RuleCheck | undefined {
  if (schema.type === 'array' && schema.items) {
    const check = rulesOf(schema.items, false, ruled);
    return check && listRules(check, schema);
  }
  const { properties: fields, additionalProperties } = schema;
  const properties = new LazyParts(fields, (property) => rulesOf(property, false, ruled));
  const others = typeof additionalProperties === 'object' ? rulesOf(additionalProperties, false, ruled) : undefined;
  if (!fields && !others) return undefined;
  return (value, old, path, run, around) => {
    if (!isRecord(value)) return;
    for (const name in value) {
      const property = properties.get(name);
      const check = property ?? others;
      if (!check) continue;
      path.push(property ? name : `[${name}]`);
      checkBelow(check, value[name], oldField(old, name), path, run, around);
      path.pop();
    }
  };
}

function checkBelow(
  check: RuleCheck,
  value: unknown,
  old: OldValue,
  path: FieldPath,
  run: Run,
  around: Compared | undefined,
): void {
  check(value, old, path, run, around && old !== undefined ? { value, old } : around);
}

function listRules(check: RuleCheck, schema: SchemaProps): RuleCheck {
  return (value, old, path, run, around) => {
    if (!Array.isArray(value)) return;
    const oldOf = oldItems(old, schema);
    for (let index = 0; index < value.length; index++) {
      path.push(index);
      checkBelow(check, value[index], oldOf(value[index]), path, run, around);
      path.pop();
    }
  };
}
