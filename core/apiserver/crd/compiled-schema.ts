/** The schema of one version, compiled once to functions: pruning and defaults, validation, CEL rules, and the type model. */
import type { KubeObject } from '../../object/meta.ts';
import type { Cause } from '../../runtime/errors.ts';
import type { ObjectType } from '../schema.ts';
import { compileRules } from './cel-rules.ts';
import type { SchemaProps } from './definition.ts';
import { compilePrepare } from './prepare.ts';
import { rootType } from './structural-type.ts';
import { compileCheck } from './validate.ts';

export interface CompiledSchema {
  readonly type: ObjectType;
  /** Removes unknown fields and fills in defaults, in place. Returns the paths of the unknown fields. */
  prepare(object: KubeObject): string[];
  validate(object: KubeObject, old?: KubeObject): Cause[];
}

export function compileSchema(schema: SchemaProps, typeName: string): CompiledSchema {
  const check = compileCheck(schema);
  const rules = compileRules(schema);
  return {
    type: rootType(schema, typeName),
    prepare: compilePrepare(schema),
    validate(object, old) {
      const causes: Cause[] = [];
      check(object, [], causes);
      // Rules expect values of the right types. So they run only if the check has found no mistakes, as in the Kubernetes API server.
      if (causes.length === 0) rules?.(object, old, causes);
      return causes;
    },
  };
}
