/** Checks JSON that another node sent, before any other code uses it. */

import type * as z from 'zod';
import { BanyanError, describeError } from '../runtime/errors.ts';
import { checkSchema, problemText } from '../runtime/schema-problems.ts';
import { parseJson } from './json.ts';
import { beyondLimits } from './json-limits.ts';

/** Returns the checked value. Throws Protocol with the expected type (`what`) and the first mistake. */
export function decodeChecked<T>(what: string, schema: z.ZodType<T>, bytes: Uint8Array): T {
  let value: unknown;
  try {
    value = parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
  } catch (error) {
    throw new BanyanError('Protocol', `${what} that is no JSON: ${describeError(error)}`, {}, { cause: error });
  }
  const wrong = beyondLimits(value);
  if (wrong !== undefined) throw new BanyanError('Protocol', `${what} that is not valid: ${wrong}`);
  const checked = checkSchema(schema, value);
  if ('value' in checked) return checked.value;
  throw new BanyanError(
    'Protocol',
    `${what} that is not valid: ${problemText(checked.problems[0]!, 'the whole value')}`,
  );
}
