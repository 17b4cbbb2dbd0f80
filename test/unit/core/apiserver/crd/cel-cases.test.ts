import { describe, expect, it } from 'vitest';
import { compileRules } from '../../../../../core/apiserver/crd/cel-rules.ts';
import type { SchemaProps } from '../../../../../core/apiserver/crd/definition.ts';
import { checkDefinitionSchema } from '../../../../../core/apiserver/crd/definition-schema.ts';
import type { Cause } from '../../../../../core/runtime/errors.ts';
import { type CelAnswer, celCaseSchema, celCases, celCaseValue } from '../../../../support/cel-cases.ts';

function answerOf(rule: string): CelAnswer {
  const spec: SchemaProps = { ...celCaseSchema, 'x-kubernetes-validations': [{ rule, message: 'does not hold' }] };
  const schema: SchemaProps = { type: 'object', properties: { spec } };
  if (
    checkDefinitionSchema(schema, 'schema', { hasStatus: false, isUnchanged: false, fresh: (causes) => causes })
      .length > 0
  )
    return 'refused';
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
