/** Checks x-kubernetes-validations in a schema: first the form of each rule, then whether the rules compile and what they could cost. */
import { CelError } from '../../match/cel/cel-error.ts';
import { invalidField, notSupported, required } from '../../object/field-error.ts';
import type { Cause } from '../../runtime/errors.ts';
import { costMistake } from './cel-cost.ts';
import { compileRule } from './cel-rules.ts';
import { celType } from './cel-schema.ts';
import type { SchemaProps, ValidationRule } from './definition.ts';
import { ruleMistake } from './rule-mistake.ts';
import { findField } from './schema-path.ts';

const reasons = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];

export function checkRuleForms(schema: SchemaProps, field: string): Cause[] {
  return rulesOf(schema, field).flatMap(([rule, at]) => [
    ...checkTexts(rule, at),
    ...(rule.messageExpression && rule.messageExpression.trim() === ''
      ? [required(`${at}.messageExpression`, 'messageExpression must be non-empty if specified')]
      : []),
    ...(rule.reason === undefined || reasons.includes(rule.reason)
      ? []
      : [notSupported(`${at}.reason`, rule.reason, reasons)]),
    ...(rule.fieldPath ? checkFieldPath(rule.fieldPath, schema, `${at}.fieldPath`) : []),
  ]);
}

function rulesOf(schema: SchemaProps, field: string): (readonly [ValidationRule, string])[] {
  const rules = schema['x-kubernetes-validations'] ?? [];
  return rules.map((rule, index) => [rule, `${field}.x-kubernetes-validations[${index}]`]);
}

/** The first mistake of rule and message. */
function checkTexts({ rule = '', message = '' }: ValidationRule, at: string): Cause[] {
  if (rule.trim() === '') return [required(`${at}.rule`, 'rule is not specified')];
  const text = message.trim();
  if (message !== '' && text === '') return [invalidField(`${at}.message`, message, 'must be non-empty if specified')];
  if (hasLineBreaks(text)) return [invalidField(`${at}.message`, message, 'must not contain line breaks')];
  if (!hasLineBreaks(rule.trim()) || text !== '') return [];
  return [required(`${at}.message`, 'message must be specified if rule contains line breaks')];
}

function hasLineBreaks(text: string): boolean {
  return /[\n\r]/.test(text);
}

function checkFieldPath(path: string, schema: SchemaProps, at: string): Cause[] {
  const causes: Cause[] = [];
  if (path.trim() === '') causes.push(invalidField(at, path, 'must be non-empty if specified'));
  if (hasLineBreaks(path)) causes.push(invalidField(at, path, 'must not contain line breaks'));
  if (typeof findField(path, schema, true) === 'string') causes.push(invalidField(at, path, 'must be a valid path'));
  return causes;
}

export interface RulePlace {
  readonly field: string;
  readonly isResource: boolean;
  /** The field of the list that makes it impossible to find the old value of a value. Absent: every new value can have an old value. */
  readonly uncorrelatable: string | undefined;
  /** The greatest cost of an expression, by its field. */
  costOf(field: string): number;
  /** As in Kubernetes, the cost of a single rule does not count if the schema stays as it is. */
  readonly areCostsKept: boolean;
}

/** Compiles the rules of a node. */
export function checkRuleCode(schema: SchemaProps, place: RulePlace): Cause[] {
  const rules = rulesOf(schema, place.field);
  if (rules.length === 0) return [];
  const self = celType(schema, place.isResource);
  return rules.flatMap(([rule, at]) => {
    const { isTransition, causes } = compiled(rule, at, (one) => compileRule(one, self).isTransition);
    const cost = (name: 'rule' | 'messageExpression'): Cause[] => {
      const found = place.costOf(`${at}.${name}`);
      return place.areCostsKept ? [] : costMistake(`${at}.${name}`, name, found);
    };
    return [
      ...cost('rule'),
      ...causes,
      ...(causes.length === 0 ? cost('messageExpression') : []),
      ...checkOldSelf(rule, isTransition, at, place),
    ];
  });
}

interface Compiled {
  readonly isTransition: boolean;
  readonly causes: Cause[];
}

/** Compiles the rule alone first: a mistake in the rule hides the mistakes of its message. */
function compiled(rule: ValidationRule, at: string, compile: (rule: ValidationRule) => boolean): Compiled {
  const { messageExpression: _, ...alone } = rule;
  let isTransition = false;
  try {
    isTransition = compile(alone);
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    return { isTransition, causes: [invalidField(`${at}.rule`, shown(rule), ruleMistake(error))] };
  }
  if (!rule.messageExpression) return { isTransition, causes: [] };
  try {
    compile(rule);
    return { isTransition, causes: [] };
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    const why = ruleMistake(error, 'messageExpression');
    return { isTransition, causes: [invalidField(`${at}.messageExpression`, shown(rule), why)] };
  }
}

function checkOldSelf(rule: ValidationRule, isTransition: boolean, at: string, place: RulePlace): Cause[] {
  if (isTransition) {
    if (place.uncorrelatable === undefined) return [];
    const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.uncorrelatable}`;
    return [invalidField(`${at}.rule`, rule.rule, why)];
  }
  if (rule.optionalOldSelf === undefined) return [];
  const why = 'may not be set if oldSelf is not used in rule';
  return [invalidField(`${at}.optionalOldSelf`, rule.optionalOldSelf, why)];
}

/** A rule as the messages of the Kubernetes API server show the rule: with the names that the fields have in its code. */
function shown(rule: ValidationRule): object {
  return {
    Rule: rule.rule,
    Message: rule.message ?? '',
    MessageExpression: rule.messageExpression ?? '',
    Reason: rule.reason ?? null,
    FieldPath: rule.fieldPath ?? '',
    OptionalOldSelf: rule.optionalOldSelf ?? null,
  };
}
