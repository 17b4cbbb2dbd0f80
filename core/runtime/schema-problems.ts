/**
 * The only place where the issues of a schema become text. Every check of a file, of a request and of a message from another node uses `checkSchema`, so that
 * each problem names the field, the value and a remedy in the same words. A message that a schema gives itself stays.
 */

import * as z from 'zod';
import { isRecord } from './is-record.ts';
import { alternatives, formOf, shownText, shownValue, wordsOf } from './schema-words.ts';
import { suggest } from './suggest.ts';

/** A problem at a path of the checked value. The empty path is the whole value. */
export interface SchemaProblem {
  readonly path: readonly PropertyKey[];
  /** Continues the name of the field (`is missing`), or stands after a colon (`99999 is too large; at most 65535`). */
  readonly message: string;
}

export type Checked<T, P> = { readonly value: T } | { readonly problems: readonly P[] };

export function checkSchema<T>(schema: z.ZodType<T>, value: unknown): Checked<T, SchemaProblem> {
  const result = schema.safeParse(value, { error: wordsOf });
  if (result.success) return { value: result.data };
  return { problems: result.error.issues.flatMap((issue) => problemsOf({ schema, value }, [], issue)) };
}

/** `spec.relays[0].name is missing`. `whole`: the name of the whole value, such as `the file`. */
export function problemText({ path, message }: SchemaProblem, whole: string): string {
  return fieldText(fieldOf(path) || whole, message);
}

/** All problems in one line, for messages that have no room for more. */
export function problemsText(problems: readonly SchemaProblem[], whole: string): string {
  return problems.map((problem) => problemText(problem, whole)).join('; ');
}

export function fieldText(field: string, message: string): string {
  return /^(is|has|must) /.test(message) ? `${field} ${message}` : `${field}: ${message}`;
}

/** `spec.relays[0].name`; empty for the whole value. */
export function fieldOf(path: readonly PropertyKey[]): string {
  return path
    .map((part, i) => (typeof part === 'number' ? `[${part}]` : `${i === 0 ? '' : '.'}${String(part)}`))
    .join('');
}

interface Subject {
  readonly schema: z.core.$ZodType;
  readonly value: unknown;
}

/** `above`: the path to which the path of the issue is relative. */
function problemsOf(subject: Subject, above: readonly PropertyKey[], issue: z.core.$ZodIssue): SchemaProblem[] {
  const path = [...above, ...issue.path];
  if (issue.code === 'unrecognized_keys') return unknownKeys(subject, path, issue.keys);
  if (issue.code === 'invalid_union') return unionProblems(subject, path, issue.errors);
  return [{ path, message: issue.message }];
}

function unknownKeys(
  { schema, value }: Subject,
  path: readonly PropertyKey[],
  keys: readonly string[],
): SchemaProblem[] {
  const knownNames = knownKeys(schema, path);
  const present = Object.keys(valueAt(value, path) ?? {}).filter((key) => !keys.includes(key));
  return keys.map((key) => {
    const near = suggest(key, knownNames);
    if (near === key) return { path: [...path, key], message: `must not be beside ${present.join(', ')}; remove one` };
    const remedy = near ? `did you mean ${shownText(near)}?` : `known keys are: ${knownNames.join(', ')}`;
    return { path: [...path, key], message: `unknown key ${shownText(key)}; ${remedy}` };
  });
}

/** The problems of a value that fits none of several schemas: those of the schema that fits best. */
function unionProblems(
  subject: Subject,
  path: readonly PropertyKey[],
  options: readonly (readonly z.core.$ZodIssue[])[],
): SchemaProblem[] {
  const value = valueAt(subject.value, path);
  if (value === undefined) return [{ path, message: 'is missing' }];
  const wrongTypes = options.map((issues) =>
    issues.find((issue) => issue.code === 'invalid_type' && issue.path.length === 0),
  );
  const expected = wrongTypes.flatMap((issue) => (issue?.code === 'invalid_type' ? [formOf(issue.expected)] : []));
  if (expected.length === options.length) {
    const message = `must be ${alternatives([...new Set(expected)])}, and is ${value === null ? 'empty' : shownValue(value)}`;
    return [{ path, message }];
  }
  if (isRecord(value) && !knownKeys(subject.schema, path).some((key) => key in value)) {
    const missing = options.map((issues) => issues.flatMap((issue) => missingKey(issue, value)).join(', '));
    const message = `must have either ${missing.join(', or ')}`;
    return [{ path, message }, ...unknownKeys(subject, path, Object.keys(value))];
  }
  const ranked = options
    .filter((_, i) => !wrongTypes[i])
    .toSorted((a, b) => unknownIn(a) - unknownIn(b) || a.length - b.length);
  return ranked[0]!.flatMap((issue) => problemsOf(subject, path, issue));
}

function missingKey(issue: z.core.$ZodIssue, value: Readonly<Record<PropertyKey, unknown>>): string[] {
  const [key, ...deeper] = issue.path;
  return key === undefined || deeper.length > 0 || key in value ? [] : [String(key)];
}

function unknownIn(issues: readonly z.core.$ZodIssue[]): number {
  return issues.filter(({ code }) => code === 'unrecognized_keys').length;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((at, part) => (at as Record<PropertyKey, unknown> | null | undefined)?.[part], value);
}

/** The keys that a schema has at a path of its value, in any alternative. */
function knownKeys(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  const schemas = path.reduce((above, part) => above.flatMap((one) => childrenOf(one, part)), alternativesOf(schema));
  return [...new Set(schemas.flatMap((one) => (one instanceof z.ZodObject ? Object.keys(one.shape) : [])))];
}

function childrenOf(schema: z.core.$ZodType, part: PropertyKey): z.core.$ZodType[] {
  if (schema instanceof z.ZodObject) {
    const child = schema.shape[part as string] as z.core.$ZodType | undefined;
    return child ? alternativesOf(child) : [];
  }
  return schema instanceof z.ZodArray ? alternativesOf(schema.element as z.core.$ZodType) : [];
}

/** The schemas of values, without defaults and the like around them. */
function alternativesOf(schema: z.core.$ZodType): z.core.$ZodType[] {
  if (schema instanceof z.ZodUnion)
    return schema.options.flatMap((option) => alternativesOf(option as z.core.$ZodType));
  const isWrapper =
    schema instanceof z.ZodDefault || schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault;
  return isWrapper ? alternativesOf(schema.unwrap() as z.core.$ZodType) : [schema];
}
