/**
 * Causes of an Invalid answer as the Kubernetes API server words them (apimachinery's validation/field package), and
 * the path of the field that is being looked at.
 */
import type { Cause } from '../runtime/errors.ts';

/** Grows and shrinks as a walk goes down and up, so that a valid object costs no text. Numbers are list indexes; a key in brackets is a map key. */
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
  return { reason: 'FieldValueInvalid', message: withDetail(`Invalid value: ${show(value)}`, detail), field };
}

export function typeInvalid(field: string, value: unknown, detail: string): Cause {
  return { reason: 'FieldValueTypeInvalid', message: withDetail(`Invalid value: ${show(value)}`, detail), field };
}

export function forbiddenField(field: string, detail: string): Cause {
  return { reason: 'FieldValueForbidden', message: withDetail('Forbidden', detail), field };
}

export function duplicate(field: string, value: unknown): Cause {
  return { reason: 'FieldValueDuplicate', message: `Duplicate value: ${show(value)}`, field };
}

export function notSupported(field: string, value: unknown, supported: readonly unknown[]): Cause {
  const values = supported.map((item) => JSON.stringify(typeof item === 'string' ? item : JSON.stringify(item)));
  const message = `Unsupported value: ${show(value)}: supported values: ${values.join(', ')}`;
  return { reason: 'FieldValueNotSupported', message, field };
}

export function tooLong(field: string, max: number): Cause {
  return { reason: 'FieldValueTooLong', message: `Too long: may not be more than ${max} bytes`, field };
}

export function tooMany(field: string, actual: number, max: number): Cause {
  return { reason: 'FieldValueTooMany', message: `Too many: ${actual}: must have at most ${max} items`, field };
}

/** A value may be as large as an object: a message shows its beginning. */
const shownCharactersMax = 512;

function show(value: unknown): string {
  const text = JSON.stringify(value ?? null);
  if (text.length <= shownCharactersMax) return text;
  // A part of a text keeps the whole in memory: this is a copy.
  return `${Buffer.from(text.slice(0, shownCharactersMax)).toString()}…`;
}

function withDetail(text: string, detail: string): string {
  return detail === '' ? text : `${text}: ${detail}`;
}
