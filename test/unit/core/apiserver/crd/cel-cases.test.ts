import { describe, expect, it } from 'vitest';
import { compileRules } from '../../../../../core/apiserver/crd/cel-rules.ts';
import type { SchemaProps } from '../../../../../core/apiserver/crd/definition.ts';
import { checkStructural } from '../../../../../core/apiserver/crd/structural.ts';
import type { Cause } from '../../../../../core/runtime/errors.ts';
import { type CelAnswer, celCaseSchema, celCases, celCaseValue } from '../../../../support/cel-cases.ts';

function answerOf(rule: string): CelAnswer {
  const spec: SchemaProps = { ...celCaseSchema, 'x-kubernetes-validations': [{ rule, message: 'does not hold' }] };
  const schema: SchemaProps = { type: 'object', properties: { spec } };
  if (checkStructural(schema, 'schema').length > 0) return 'refused';
  const causes: Cause[] = [];
  compileRules(schema)!({ spec: celCaseValue }, undefined, causes);
  const [cause] = causes;
  if (!cause) return true;
  return cause.message.includes('evaluating rule') ? 'error' : false;
}

describe.each(Object.entries(celCases))('rules about %s', (_, cases) => {
  it.each(cases)('%s: %s', (rule, answer) => {
    expect(answerOf(rule)).toBe(answer);
  });
});
