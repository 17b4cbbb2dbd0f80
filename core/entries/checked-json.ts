/** What is wrong with an entry, as a text for people. */
import type * as z from 'zod';
import { beyondLimits } from '../object/json-limits.ts';
import { describeError } from '../runtime/errors.ts';
import { asText } from '../store/bytes.ts';
import { entryTypeOf } from './entry-keys.ts';
import { kindOf } from './entry-lookup.ts';

/** Of a key that was not parsed. Undefined: its kind is none that this version knows. */
export function keyFlaw(key: string): string | undefined {
  const type = entryTypeOf(key);
  if (type === undefined) return undefined;
  const { form } = kindOf(type);
  if (form.includes('{object}')) return 'the key names no object';
  return form.includes('{id}') ? 'the key names no placement' : `the key is not of the form ${form}`;
}

/** The value of the JSON text as it was sent, or what is wrong with it. */
export function checkedJson(what: 'the attributes' | 'the body', shape: z.ZodType, bytes: Uint8Array): object | string {
  let value: unknown;
  try {
    value = JSON.parse(asText(bytes));
  } catch (error) {
    return `${what} ${what === 'the body' ? 'is' : 'are'} no JSON: ${describeError(error)}`;
  }
  const wrong = beyondLimits(value);
  if (wrong !== undefined) return `${what}: ${wrong}`;
  const result = shape.safeParse(value);
  if (result.success) return value as object;
  const [issue] = result.error.issues;
  return `${what}: ${issue!.path.join('.') || 'as a whole'}: ${issue!.message}`;
}
