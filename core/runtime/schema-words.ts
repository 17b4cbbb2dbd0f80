/** Our words for the mistakes that a schema finds in one value. `schema-problems.ts` adds the field. */
import type * as z from 'zod';
import { isRecord } from './is-record.ts';
import { suggest } from './suggest.ts';

const forms: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list (- …)',
  tuple: 'a list (- …)',
  object: 'a map (key: value)',
  record: 'a map (key: value)',
};
const scalars: readonly string[] = ['string', 'number', 'int', 'boolean'];

/** Our word for a type that a schema expects. `expected` is the schema's name of the type. */
export function formOf(expected: string): string {
  return forms[expected] ?? expected;
}

/** More characters than these do not help to recognise a value. */
const shownCharactersMax = 60;

export function shownText(text: string): string {
  return JSON.stringify(text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}…` : text);
}

export function shownValue(value: unknown): string {
  if (typeof value === 'string') return shownText(value);
  if (Array.isArray(value)) return 'a list';
  return isRecord(value) ? 'a map' : String(value);
}

/** The message of a schema for text that does not fit: `"x": write host:port`. Not for text that may be secret. */
export function refusing(remedy: string): (issue: { readonly input?: unknown }) => string {
  return ({ input }) => `${shownValue(input)}: ${remedy}`;
}

/** Undefined: the library's message stays. */
export function wordsOf(issue: z.core.$ZodRawIssue): string | undefined {
  const { input } = issue;
  if (input === undefined) return 'is missing';
  switch (issue.code) {
    case 'invalid_type':
      return input !== null && isPrivate(issue.path ?? [])
        ? `must be ${formOf(issue.expected)}`
        : wrongType(issue.expected, input);
    case 'invalid_value':
      return wrongChoice(issue.values, input, issue.path?.at(-1));
    case 'too_big':
      return wrongSize(input, 'large', `${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}`);
    case 'too_small':
      return wrongSize(input, 'small', `${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}`);
    case 'invalid_format':
      return issue.pattern === undefined ? `must be a valid ${issue.format}` : `must match ${issue.pattern}`;
    default:
      return undefined;
  }
}

/** A file that is no configuration at all may have any content. */
function isPrivate(path: readonly PropertyKey[]): boolean {
  return path.length === 0 || /token|secret|password|key|-data$/i.test(String(path.at(-1)));
}

function wrongType(expected: string, input: unknown): string {
  if (input === null) return `is empty; write ${formOf(expected)}`;
  if (!scalars.includes(expected) || typeof input === 'object') {
    return `must be ${formOf(expected)}, and is ${shownValue(input)}`;
  }
  if (expected === 'string') return `${shownValue(input)} is a ${typeof input}; write ${JSON.stringify(String(input))}`;
  if (expected === 'int') return `${shownValue(input)} is not a whole number`;
  const kind = typeof input === 'string' ? 'text' : `a ${typeof input}`;
  const isQuotedNumber = expected === 'number' && typeof input === 'string' && /^-?\d+(\.\d+)?$/.test(input);
  return `${shownValue(input)} is ${kind}; write ${isQuotedNumber ? input : formOf(expected)}`;
}

/** `key`: the last part of the field. */
function wrongChoice(choices: readonly unknown[], input: unknown, key: PropertyKey | undefined): string {
  const texts = choices.map((choice) => String(choice));
  const [only] = texts;
  if (texts.length === 1) return `must be ${shownText(only!)}, and is ${shownValue(input)}`;
  const near = typeof input === 'string' ? suggest(input, texts) : undefined;
  const remedy = near === undefined ? `write ${alternatives(texts)}` : `did you mean ${shownText(near)}?`;
  return `${shownValue(input)} is no ${typeof key === 'string' ? key : 'choice'}; ${remedy}`;
}

function wrongSize(input: unknown, excess: 'large' | 'small', limit: string): string {
  if (typeof input === 'string') {
    return input === '' ? `is empty; write text` : `has ${input.length} characters; write ${limit}`;
  }
  if (Array.isArray(input))
    return input.length === 0 ? `is an empty list; write ${limit}` : `has ${input.length} entries; write ${limit}`;
  return `${shownValue(input)} is too ${excess}; ${limit}`;
}

/** `auto, grpc or websocket` */
export function alternatives(texts: readonly string[]): string {
  const last = texts.at(-1) ?? '';
  return texts.length > 1 ? `${texts.slice(0, -1).join(', ')} or ${last}` : last;
}
