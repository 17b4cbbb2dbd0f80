/** The schema of one version, compiled once to functions: pruning and defaults, validation, CEL rules, and the type model. */
import { invalidField } from '../../object/field-error.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { Cause } from '../../runtime/errors.ts';
import type { ObjectType, ValidationContext } from '../schema.ts';
import type { ScalePaths } from '../space.ts';
import { compileRules } from './cel-rules.ts';
import type { SchemaProps } from './definition.ts';
import { compileListTypes } from './list-types.ts';
import { compilePrepare } from './prepare.ts';
import { checkScaleValues } from './scale-values.ts';
import { rootType } from './structural-type.ts';
import { compileCheck } from './validate.ts';

export interface CompiledSchema {
  readonly type: ObjectType;
  /** Removes unknown fields and fills in defaults, in place. Returns the paths of the unknown fields. */
  prepare(object: KubeObject): string[];
  validate(object: KubeObject, old?: KubeObject, context?: ValidationContext): Cause[];
}

/** Mistakes after which rules can't run: values may be missing, or of other types than the rules expect. */
const blocking = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);
const rulesNotRun =
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';

/** `scale`: the paths of the version's scale subresource. */
export function compileSchema(schema: SchemaProps, typeName: string, scale: ScalePaths | undefined): CompiledSchema {
  const check = compileCheck(schema);
  const checkStatus = compileCheck(schema.properties?.status ?? {});
  const checkLists = compileListTypes(schema);
  const rules = compileRules(schema);
  return {
    type: rootType(schema, typeName),
    prepare: compilePrepare(schema),
    validate(object, old, context) {
      const causes: Cause[] = [];
      const isStatus = context?.subresource === 'status';
      if (!isStatus) check(object, [], causes, old);
      else if (object.status !== undefined) checkStatus(object.status, ['status'], causes, old?.status);
      if (scale) checkScaleValues(object, scale, isStatus, causes);
      causes.push(...doubled(checkLists, object, old));
      if (!rules) return causes;
      if (causes.some(({ reason }) => blocking.has(reason))) causes.push(invalidField('<nil>', null, rulesNotRun));
      else rules(object, old, causes, context?.warn);
      return causes;
    },
  };
}

/** An old object with doubled items may keep them. */
function doubled(check: ReturnType<typeof compileListTypes>, object: KubeObject, old: KubeObject | undefined): Cause[] {
  const causes: Cause[] = [];
  check?.(object, [], causes);
  if (causes.length === 0 || !old) return causes;
  const before: Cause[] = [];
  check?.(old, [], before);
  return before.length === 0 ? causes : [];
}
