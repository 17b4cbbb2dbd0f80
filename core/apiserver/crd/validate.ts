/**
 * Checks a value against a structural schema, without the CEL rules (cel-rules.ts) and the types of lists (list-types.ts). Each part of the schema is compiled once
 * to closures. For a valid value, the closures make no texts. Messages are those of the Kubernetes API server (kube-openapi's validate package, converted to field
 * errors).
 */

import { compilePattern } from '../../match/cel/base/pattern.ts';
import { stableStringify } from '../../object/canonical.ts';
import {
  type FieldPath,
  formatPath,
  invalidField,
  notSupported,
  required,
  tooLong,
  tooMany,
  typeInvalid,
} from '../../object/field-error.ts';
import { isNumber, isWhole, jsonText } from '../../object/json.ts';
import { equalJson, ownField } from '../../object/json-value.ts';
import type { Cause } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';
import type { SchemaProps } from './definition.ts';
import { formatCheck } from './formats.ts';
import { junctorChecks, type ValueCheck } from './junctor-checks.ts';
import { LazyParts } from './lazy-parts.ts';
import { oldField, oldItems } from './old-values.ts';

/** Compiles a schema to a check, which runs one closure after the other. Both throw SyntaxError if a pattern is not valid. */
export function compileCheck(schema: SchemaProps): ValueCheck {
  const type = schema['x-kubernetes-int-or-string'] ? 'intOrString' : schema.type;
  const isType = type === undefined ? undefined : ownField(typeTests, type);
  const checks = [
    ...constraints(schema),
    ...(schema['x-kubernetes-embedded-resource'] ? [checkEmbedded] : []),
    ...junctorChecks(schema, compileCheck),
  ];
  return (value, path, causes, old) => {
    if (value === null && schema.nullable) return;
    const before = causes.length;
    if (isType && !isType(value))
      causes.push(wrongType(value, path, type === 'intOrString' ? 'integer,string' : type!));
    else for (const check of checks) check(value, path, causes, old);
    if (causes.length > before && old !== undefined && equalJson(value, old)) causes.length = before;
  };
}

const typeTests: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isRecord,
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  number: isNumber,
  integer: isWhole,
  intOrString: (value) => typeof value === 'string' || isWhole(value),
};

function constraints(schema: SchemaProps): ValueCheck[] {
  return [
    ...objectChecks(schema),
    ...listChecks(schema),
    ...numberChecks(schema),
    ...stringChecks(schema),
    ...(schema.enum?.length ? [enumCheck(schema.enum)] : []),
  ];
}

function objectChecks(schema: SchemaProps): ValueCheck[] {
  const checks: ValueCheck[] = [];
  const names = schema.required ?? [];
  const properties = new LazyParts(schema.properties, compileCheck);
  const others =
    typeof schema.additionalProperties === 'object' ? compileCheck(schema.additionalProperties) : undefined;
  if (names.length > 0) {
    checks.push((value, path, causes) => {
      if (!isRecord(value)) return;
      for (const name of names) {
        if (!Object.hasOwn(value, name)) causes.push(required(formatPath([...path, name])));
      }
    });
  }
  const isClosed = schema.additionalProperties === false;
  if (schema.properties || others || isClosed) {
    checks.push((value, path, causes, old) => {
      if (!isRecord(value)) return;
      for (const name in value) {
        const check = properties.get(name) ?? others;
        if (!check && isClosed) {
          const at = formatPath([...path, name]);
          causes.push(invalidField(formatPath(path), name, `${at} in body is a forbidden property`));
        }
        if (!check) continue;
        path.push(name);
        check(value[name], path, causes, oldField(old, name));
        path.pop();
      }
    });
  }
  const { minProperties, maxProperties } = schema;
  if (minProperties !== undefined || maxProperties !== undefined) {
    checks.push((value, path, causes) => {
      if (!isRecord(value)) return;
      const count = Object.keys(value).length;
      if (count < (minProperties ?? 0)) {
        causes.push(inBody(value, path, `should have at least ${minProperties} properties`));
      }
      if (count > (maxProperties ?? count)) causes.push(tooMany(formatPath(path), count, maxProperties!));
    });
  }
  return checks;
}

function listChecks(schema: SchemaProps): ValueCheck[] {
  const checks: ValueCheck[] = [];
  const { minItems, maxItems } = schema;
  if (minItems !== undefined || maxItems !== undefined) {
    checks.push((value, path, causes) => {
      if (!Array.isArray(value)) return;
      if (value.length < (minItems ?? 0)) {
        causes.push(inBody(value, path, `should have at least ${minItems} items`));
      }
      if (value.length > (maxItems ?? value.length)) causes.push(tooMany(formatPath(path), value.length, maxItems!));
    });
  }
  if (schema.items) {
    const check = compileCheck(schema.items);
    checks.push((value, path, causes, old) => {
      if (!Array.isArray(value)) return;
      const oldOf = oldItems(old, schema);
      for (let index = 0; index < value.length; index++) {
        path.push(index);
        check(value[index], path, causes, oldOf(value[index]));
        path.pop();
      }
    });
  }
  return checks;
}

function numberChecks(schema: SchemaProps): ValueCheck[] {
  const checks: ValueCheck[] = [];
  const push = (isRight: (value: number | bigint) => boolean, text: string) =>
    checks.push((value, path, causes) => {
      if (isNumber(value) && !isRight(value)) causes.push(inBody(value, path, text));
    });
  const { minimum, maximum, multipleOf } = schema;
  if (minimum !== undefined && schema.exclusiveMinimum) push((v) => v > minimum, `should be greater than ${minimum}`);
  else if (minimum !== undefined) push((v) => v >= minimum, `should be greater than or equal to ${minimum}`);
  if (maximum !== undefined && schema.exclusiveMaximum) push((v) => v < maximum, `should be less than ${maximum}`);
  else if (maximum !== undefined) push((v) => v <= maximum, `should be less than or equal to ${maximum}`);
  if (multipleOf !== undefined && multipleOf > 0) {
    push((v) => isMultiple(Number(v), Number(multipleOf)), `should be a multiple of ${multipleOf}`);
  } else if (multipleOf !== undefined) {
    checks.push((value, path, causes) => {
      if (!isNumber(value)) return;
      const field = formatPath(path);
      const why = `factor MultipleOf declared for ${field} must be positive: ${multipleOf}`;
      causes.push(invalidField(field, multipleOf, why));
    });
  }
  if (schema.format === 'int32' && schema.type === 'integer') {
    checks.push((value, path, causes) => {
      if (isNumber(value) && (typeof value === 'bigint' || value !== (value | 0)))
        causes.push(wrongType(value, path, 'int32'));
    });
  }
  return checks;
}

/** For people, 0.3 is a multiple of 0.1. In binary fractions, it is not. So the check allows a small difference. */
function isMultiple(value: number, of: number): boolean {
  const times = value / of;
  return Math.abs(times - Math.round(times)) < 1e-9 * Math.max(1, Math.abs(times));
}

function stringChecks(schema: SchemaProps): ValueCheck[] {
  const checks: ValueCheck[] = [];
  const { minLength, maxLength, pattern, format } = schema;
  if (minLength !== undefined || maxLength !== undefined) {
    checks.push((value, path, causes) => {
      if (typeof value !== 'string') return;
      const length = codePoints(value);
      if (minLength !== undefined && length < minLength) {
        causes.push(inBody(value, path, `should be at least ${minLength} chars long`));
      }
      if (maxLength !== undefined && length > maxLength) causes.push(tooLong(formatPath(path), maxLength));
    });
  }
  if (pattern !== undefined) {
    const compiled = compilePattern(pattern);
    checks.push((value, path, causes) => {
      if (typeof value === 'string' && !compiled.test(value)) {
        causes.push(inBody(value, path, `should match '${pattern}'`));
      }
    });
  }
  const isFormat = format === undefined ? undefined : formatCheck(format);
  if (isFormat) {
    checks.push((value, path, causes) => {
      if (typeof value !== 'string' || isFormat(value)) return;
      const detail = `${formatPath(path)} in body must be of type ${format}: ${jsonText(value)}`;
      causes.push(typeInvalid(formatPath(path), value, detail));
    });
  }
  return checks;
}

/** The length in code points, as in Go. JavaScript counts UTF-16 units. */
function codePoints(text: string): number {
  let count = text.length;
  for (let index = 1; index < text.length; index++) {
    if ((text.charCodeAt(index) & 0xfc00) === 0xdc00 && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800) count--;
  }
  return count;
}

function enumCheck(values: readonly unknown[]): ValueCheck {
  const scalars = new Set(values.filter((value) => typeof value !== 'object' || value === null));
  const structured = new Set(values.filter((value) => typeof value === 'object').map(stableStringify));
  return (value, path, causes) => {
    const isListed = typeof value === 'object' ? structured.has(stableStringify(value)) : scalars.has(value);
    if (!isListed) causes.push(notSupported(formatPath(path), value, values));
  };
}

const checkEmbedded: ValueCheck = (value, path, causes) => {
  if (!isRecord(value)) return;
  for (const name of ['apiVersion', 'kind']) {
    const field = formatPath([...path, name]);
    const text = value[name];
    if (text === undefined) causes.push(required(field));
    else if (typeof text !== 'string') causes.push(invalidField(field, text, 'must be a string'));
    else if (text === '') causes.push(invalidField(field, text, 'must not be empty'));
  }
};

function inBody(value: unknown, path: FieldPath, text: string): Cause {
  const field = formatPath(path);
  return invalidField(field, value, `${field} in body ${text}`);
}

function wrongType(value: unknown, path: FieldPath, type: string): Cause {
  const field = formatPath(path);
  const actual = typeName(value);
  return typeInvalid(field, actual, `${field} in body must be of type ${type}: "${actual}"`);
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (isNumber(value)) return isWhole(value) ? 'integer' : 'number';
  return typeof value;
}
