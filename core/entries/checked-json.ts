/** Parses the JSON of an entry and checks it against a schema. If the JSON is wrong, a text for people describes the first fault. */

import type * as z from 'zod';
import { parseJson } from '../object/json.ts';
import { beyondLimits } from '../object/json-limits.ts';
import { describeError } from '../runtime/errors.ts';
import { checkSchema, problemText } from '../runtime/schema-problems.ts';
import { asText } from '../store/bytes.ts';

/** The parsed value, or a text that says what is wrong. */
export function checkedJson(what: 'the attributes' | 'the body', shape: z.ZodType, bytes: Uint8Array): object | string {
  let value: unknown;
  try {
    value = parseJson(asText(bytes));
  } catch (error) {
    return `${what} ${what === 'the body' ? 'is' : 'are'} no JSON: ${describeError(error)}`;
  }
  const limitFlaw = beyondLimits(value);
  if (limitFlaw !== undefined) return `${what}: ${limitFlaw}`;
  const checked = checkSchema(shape, value);
  if ('value' in checked) return value as object;
  return `${what}: ${problemText(checked.problems[0]!, 'the whole value')}`;
}
