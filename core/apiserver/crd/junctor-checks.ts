/** Checks values against allOf, anyOf, oneOf and not. Messages are those of the Kubernetes API server. */
import { type FieldPath, formatPath, invalidField } from '../../object/field-error.ts';
import type { Cause } from '../../runtime/errors.ts';
import type { SchemaProps } from './definition.ts';
import type { OldValue } from './old-values.ts';

/** `old`: the old value in an update. A value that equals its old value is never refused. */
export type ValueCheck = (value: unknown, path: FieldPath, causes: Cause[], old?: OldValue) => void;

/** `compile` compiles the schemas in the junctors. */
export function junctorChecks(schema: SchemaProps, compile: (schema: SchemaProps) => ValueCheck): ValueCheck[] {
  const checks: ValueCheck[] = [];
  if (schema.allOf?.length) checks.push(allOf(schema.allOf.map(compile)));
  if (schema.anyOf?.length && !isIntOrStringPair(schema)) checks.push(anyOf(schema.anyOf.map(compile)));
  if (schema.oneOf?.length) checks.push(oneOf(schema.oneOf.map(compile)));
  if (schema.not) {
    const check = compile(schema.not);
    checks.push((value, path, causes) => {
      if (attempt(check, value, path).length === 0) causes.push(combined(path, 'must not validate the schema (not)'));
    });
  }
  return checks;
}

/** True for the anyOf that authors usually write together with x-kubernetes-int-or-string. The extension alone makes the same check. */
function isIntOrStringPair(schema: SchemaProps): boolean {
  const types = schema.anyOf?.map((sub) => (Object.keys(sub).length === 1 ? sub.type : undefined)).sort();
  return schema['x-kubernetes-int-or-string'] === true && types?.join() === 'integer,string';
}

function allOf(checks: readonly ValueCheck[]): ValueCheck {
  return (value, path, causes) => {
    const failures = checks.map((check) => attempt(check, value, path)).filter((found) => found.length > 0);
    if (failures.length === 0) return;
    for (const found of failures) causes.push(...found);
    const none = failures.length === checks.length ? '. None validated' : '';
    causes.push(combined(path, `must validate all the schemas (allOf)${none}`));
  };
}

function anyOf(checks: readonly ValueCheck[]): ValueCheck {
  return (value, path, causes) => {
    let nearest: Cause[] | undefined;
    for (const check of checks) {
      const found = attempt(check, value, path);
      if (found.length === 0) return;
      if (!nearest || found.length < nearest.length) nearest = found;
    }
    causes.push(combined(path, 'must validate at least one schema (anyOf)'), ...(nearest ?? []));
  };
}

function oneOf(checks: readonly ValueCheck[]): ValueCheck {
  return (value, path, causes) => {
    const results = checks.map((check) => attempt(check, value, path));
    const valid = results.filter((found) => found.length === 0).length;
    if (valid === 1) return;
    const text = 'must validate one and only one schema (oneOf)';
    if (valid > 1) {
      causes.push(combined(path, `${text}. Found ${valid} valid alternatives`));
      return;
    }
    const nearest = results.reduce((best, found) => (found.length < best.length ? found : best));
    causes.push(combined(path, `${text}. Found none valid`), ...nearest);
  };
}

function attempt(check: ValueCheck, value: unknown, path: FieldPath): Cause[] {
  const causes: Cause[] = [];
  check(value, path, causes);
  return causes;
}

function combined(path: FieldPath, text: string): Cause {
  const field = formatPath(path);
  return invalidField(field, '', `${JSON.stringify(field)} ${text}`);
}
