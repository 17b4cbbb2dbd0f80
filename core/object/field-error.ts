/** Causes of an Invalid answer, worded like those of the Kubernetes API server (apimachinery's validation/field package), and paths of fields. */

import type { Cause } from '../runtime/errors.ts';
import { jsonText } from './json.ts';

/**
 * The path of the field that a check looks at now. The check adds a part when it goes into a field, and removes the part when it leaves the field. So a
 * valid object costs no text. A number is a list index. A text in brackets is a map key.
 */
export type FieldPath = (string | number)[];

export function formatPath(path: readonly (string | number)[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (text === '') text = part;
    else text += part.startsWith('[') ? part : `.${part}`;
  }
  return text;
}

export function required(field: string, detail = ''): Cause {
  return { reason: 'FieldValueRequired', message: withDetail('Required value', detail), field };
}

export function invalidField(field: string, value: unknown, detail: string): Cause {
  return { reason: 'FieldValueInvalid', message: withDetail(`Invalid value: ${messageValue(value)}`, detail), field };
}

export function typeInvalid(field: string, value: unknown, detail: string): Cause {
  return {
    reason: 'FieldValueTypeInvalid',
    message: withDetail(`Invalid value: ${messageValue(value)}`, detail),
    field,
  };
}

export function forbiddenField(field: string, detail: string): Cause {
  return { reason: 'FieldValueForbidden', message: withDetail('Forbidden', detail), field };
}

export function duplicate(field: string, value: unknown): Cause {
  return { reason: 'FieldValueDuplicate', message: `Duplicate value: ${messageValue(value)}`, field };
}

export function notSupported(field: string, value: unknown, supported: readonly unknown[]): Cause {
  const values = supported.map((item) => jsonText(typeof item === 'string' ? item : jsonText(item)));
  const message = `Unsupported value: ${messageValue(value)}: supported values: ${values.join(', ')}`;
  return { reason: 'FieldValueNotSupported', message, field };
}

export function tooLong(field: string, max: number | bigint): Cause {
  const detail = max < 0 ? 'value is too long' : `may not be more than ${max} bytes`;
  return { reason: 'FieldValueTooLong', message: `Too long: ${detail}`, field };
}

export function tooMany(field: string, actual: number, max: number | bigint): Cause {
  return { reason: 'FieldValueTooMany', message: `Too many: ${actual}: must have at most ${max} items`, field };
}

/** Number of characters of a value that a message shows. A value may be as large as an object. */
const shownCharactersMax = 512;

/** The JSON of a value, as messages of Kubernetes show the value, and cut if it is long. */
export function messageValue(value: unknown): string {
  // A rule may show the same long text for each of its parts.
  if (typeof value === 'string' && value.length > shownCharactersMax)
    return shownText(`${value.slice(0, shownCharactersMax)}…`);
  const text = shownText(value ?? null);
  if (text.length <= shownCharactersMax) return text;
  // Makes a copy: a slice of a string would keep the whole string in memory.
  return `${Buffer.from(text.slice(0, shownCharactersMax)).toString()}…`;
}

/** Go writes these characters so in objects and lists. */
function shownText(value: unknown): string {
  const text = jsonText(value);
  if (typeof value !== 'object') return text;
  return text.replace(/[<>&]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
}

function withDetail(text: string, detail: string): string {
  return detail === '' ? text : `${text}: ${detail}`;
}
