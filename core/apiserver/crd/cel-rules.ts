/**
 * x-kubernetes-validations: CEL rules at any level of a schema. A transition rule compares the new value with the old value.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
 *
 * The old value of a new value is at the same path of properties, map keys and items of lists of type map. A value below another kind of list has no old
 * value. structural.ts refuses a definition with transition rules at such a place.
 */

import { Optional } from '@marcbachmann/cel-js';
import { defaultBudget, type EvaluationBudget } from '../../match/cel/budget.ts';
import { type CelProgram, type CelType, compileCel } from '../../match/cel/cel.ts';
import { CelError } from '../../match/cel/cel-error.ts';
import type { CelValue } from '../../match/cel/values.ts';
import { stableStringify } from '../../object/canonical.ts';
import {
  duplicate,
  type FieldPath,
  forbiddenField,
  formatPath,
  invalidField,
  required,
} from '../../object/field-error.ts';
import type { Cause } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';
import { celConverter, celType } from './cel-schema.ts';
import type { SchemaProps, ValidationRule } from './definition.ts';

/** Goes through the object and its old state in parallel. */
type RuleCheck = (value: unknown, old: unknown, path: FieldPath, causes: Cause[], budget: EvaluationBudget) => void;

export interface CompiledValidationRule {
  readonly rule: ValidationRule;
  readonly program: CelProgram;
  readonly message: CelProgram | undefined;
  readonly isTransition: boolean;
}

/** Compiles the rules of a schema. Undefined if the schema has none. Throws CelError if a rule does not compile. */
export function compileRules(
  schema: SchemaProps,
): ((object: object, old: object | undefined, causes: Cause[]) => void) | undefined {
  const check = rulesOf(schema, true);
  return check && ((object, old, causes) => check(object, old, [], causes, defaultBudget()));
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

function rulesOf(schema: SchemaProps, isResource: boolean): RuleCheck | undefined {
  const own = ownRules(schema, isResource);
  const below = rulesBelow(schema);
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
  return (value, old, path, causes, budget) => {
    if (value === null || value === undefined) return;
    const self = convert(value);
    let oldSelf: CelValue | undefined;
    for (const rule of compiled) {
      if (rule.isTransition) {
        if ((old === undefined || old === null) && !rule.rule.optionalOldSelf) continue;
        if (old !== undefined && old !== null) oldSelf ??= convert(old);
      }
      const failure = evaluate(rule, bindings(rule, self, oldSelf), budget);
      if (failure !== undefined) causes.push(causeOf(rule.rule, failure, path, typeName));
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

/** Evaluates a rule. Returns the message if the rule does not hold. Undefined: the rule holds. */
function evaluate(
  { rule, program, message }: CompiledValidationRule,
  values: Record<string, CelValue>,
  budget: EvaluationBudget,
): string | undefined {
  const fixedMessage = rule.message ?? `failed rule: ${rule.rule.trim()}`;
  try {
    if (program.evaluate(values, budget) === true) return undefined;
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    if (error.kind === 'cost') return `call cost exceeds limit for rule: ${fixedMessage}`;
    return `${error.message} evaluating rule: ${fixedMessage}`;
  }
  return (message && expressedMessage(message, values, budget)) ?? fixedMessage;
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

function rulesBelow(schema: SchemaProps): RuleCheck | undefined {
  if (schema.type === 'array' && schema.items) {
    const check = rulesOf(schema.items, false);
    return check && listRules(check, schema);
  }
  const properties = new Map<string, RuleCheck>();
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const check = rulesOf(property, false);
    if (check) properties.set(name, check);
  }
  const others =
    typeof schema.additionalProperties === 'object' ? rulesOf(schema.additionalProperties, false) : undefined;
  if (properties.size === 0 && !others) return undefined;
  return (value, old, path, causes, budget) => {
    if (!isRecord(value)) return;
    for (const name in value) {
      const property = properties.get(name);
      const check = property ?? others;
      if (!check) continue;
      path.push(property ? name : `[${name}]`);
      check(value[name], isRecord(old) && Object.hasOwn(old, name) ? old[name] : undefined, path, causes, budget);
      path.pop();
    }
  };
}

function listRules(check: RuleCheck, schema: SchemaProps): RuleCheck {
  const keys = schema['x-kubernetes-list-type'] === 'map' ? schema['x-kubernetes-list-map-keys'] : undefined;
  return (value, old, path, causes, budget) => {
    if (!Array.isArray(value)) return;
    const byKey = keys && Array.isArray(old) ? new Map(old.map((item) => [listKey(item, keys), item])) : undefined;
    for (let index = 0; index < value.length; index++) {
      path.push(index);
      check(value[index], keys && byKey?.get(listKey(value[index], keys)), path, causes, budget);
      path.pop();
    }
  };
}

function listKey(item: unknown, keys: readonly string[]): string {
  return stableStringify(isRecord(item) ? keys.map((key) => item[key]) : item);
}
