/** The continue token of a list: the position of the list, and the place after which the next page begins. Clients must not read it. */
import * as z from 'zod';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Place } from './fleet-question.ts';
import { expired } from './positions.ts';

/** Changes when the fields of a token change. A token of another version is answered like an old one. */
const version = 1;

const token = z.object({
  v: z.number(),
  position: z.string(),
  path: z.string(),
  namespace: z.string(),
  name: z.string(),
});

export interface ListToken {
  readonly position: string;
  readonly after: Place;
}

export function encodeToken({ position, after: { path, namespace, name } }: ListToken): string {
  return Buffer.from(JSON.stringify({ v: version, position, path, namespace, name })).toString('base64url');
}

/** Throws BadRequest if the text is no token, and Expired if it is a token of another version. */
export function decodeToken(text: string): ListToken {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    // The answer is the same as for a token with other fields.
  }
  if (typeof (value as { v?: unknown } | undefined)?.v === 'number' && (value as { v: number }).v !== version)
    throw expired('the continue token is of another version of this program');
  const checked = token.safeParse(value);
  if (!checked.success) {
    const shown = JSON.stringify(text.slice(0, 40));
    throw new BanyanError(
      'BadRequest',
      `continue: Invalid value: ${shown}: it is not a token of this API; start a new list without continue`,
    );
  }
  const { position, path, namespace, name } = checked.data;
  return { position, after: { path, namespace, name } };
}
