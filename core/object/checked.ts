/** Checks JSON that another node sent, before any other code uses it. */
import type * as z from 'zod';
import { BanyanError, describeError } from '../runtime/errors.ts';
import { beyondLimits } from './json-limits.ts';

/** Returns the checked value. Throws Protocol with the expected type (`what`) and the first mistake. */
export function decodeChecked<T>(what: string, schema: z.ZodType<T>, bytes: Uint8Array): T {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
  } catch (error) {
    throw new BanyanError('Protocol', `${what} that is no JSON: ${describeError(error)}`, {}, { cause: error });
  }
  const wrong = beyondLimits(value);
  if (wrong !== undefined) throw new BanyanError('Protocol', `${what} that is not valid: ${wrong}`);
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  throw new BanyanError(
    'Protocol',
    `${what} that is not valid: ${issue!.path.join('.') || 'the whole value'}: ${issue!.message}`,
  );
}
