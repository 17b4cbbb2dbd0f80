/** The expressions of admission policies and of match conditions. No space evaluates them: they are compiled only, so that a cluster takes them later. */

import { type CelType, compileCel } from '../../../match/cel/cel.ts';
import { CelError } from '../../../match/cel/cel-error.ts';
import { type FieldCheck, isPresent, type ReadValues, recordsOf, wordOf } from './visit.ts';

export interface Expressions {
  readonly variable: FieldCheck;
  readonly validation: FieldCheck;
  readonly message: FieldCheck;
  readonly audit: FieldCheck;
}

type Variables = Readonly<Record<string, CelType>>;

const kind: CelType = { fields: { group: 'string', version: 'string', kind: 'string' } };
const resource: CelType = { fields: { group: 'string', version: 'string', resource: 'string' } };
const request: CelType = {
  fields: {
    kind,
    resource,
    subResource: 'string',
    requestKind: kind,
    requestResource: resource,
    requestSubResource: 'string',
    name: 'string',
    namespace: 'string',
    operation: 'string',
    userInfo: {
      fields: { username: 'string', uid: 'string', groups: { list: 'string' }, extra: { map: { list: 'string' } } },
    },
    dryRun: 'bool',
    options: 'dyn',
  },
};

const base: Variables = { object: 'dyn', oldObject: 'dyn', request, namespaceObject: 'dyn' };

/** The checks for the expressions of one policy, whose variables are known to the expressions after them. */
export function policyExpressions(spec: ReadValues): Expressions {
  const declared: Record<string, CelType> = {};
  const variables: CelType = { fields: declared };
  const names = { ...base, variables, ...(isPresent(spec.paramKind) ? { params: 'dyn' as const } : {}) };
  const pending = recordsOf(spec.variables)
    .filter(({ expression }) => wordOf(expression).trim() !== '')
    .map(({ name }) => wordOf(name));
  return {
    variable: (value, at) => {
      compiled(names, undefined)(value, at);
      const name = pending.shift();
      if (name !== undefined) declared[name] = 'dyn';
    },
    validation: compiled(names, 'bool'),
    message: compiled(names, 'string'),
    audit: compiled(names, 'string', 'one of [string null_type]'),
  };
}

export function matchExpressions(hasParams: boolean): FieldCheck {
  return compiled({ ...base, ...(hasParams ? { params: 'dyn' as const } : {}) }, 'bool');
}

/** The library of the authorizer has types that no other expression has, so an expression that asks it is compiled by clusters only. */
const asksAuthorizer = /\bauthorizer\b/;

function compiled(
  variables: Variables,
  result: 'bool' | 'string' | undefined,
  shown: string | undefined = result,
): FieldCheck {
  return (value, at) => {
    const source = wordOf(value);
    if (asksAuthorizer.test(source)) return;
    try {
      const { resultType } = compileCel(source, variables, result, 'kubernetes');
      if (result !== undefined && resultType === 'dyn') at.invalid('', source, `must evaluate to ${shown} but got dyn`);
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      const [, type] = /^must be of type \w+, is (.*)$/.exec(error.message) ?? [];
      at.invalid(
        '',
        source,
        type === undefined ? `compilation failed: ${error.message}` : `must evaluate to ${shown} but got ${type}`,
      );
    }
  };
}
