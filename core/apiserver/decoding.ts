/** Why the server can't read a value as the type of its field. The answer depends on how the value has arrived. */

import { isNumber, jsonText } from '../object/json.ts';
import { BanyanError } from '../runtime/errors.ts';
import { isRecord } from '../runtime/is-record.ts';
import type { Patch } from './space.ts';
import { patchRefused } from './status-errors.ts';

/** The cause of a BadRequest about a whole object. */
export class Undecodable extends Error {
  /** The path of the field, with indexes and keys. Empty: the whole object. The words of Kubernetes do not always name the field. */
  readonly field: string;
  /** The words for a value that a strategic merge patch has brought. */
  readonly restoring: string;

  constructor(message: string, { field = '', restoring = message } = {}) {
    super(message);
    this.field = field;
    this.restoring = restoring;
  }
}

/** Runs `decode`. If it can't read `patched`, the result of the patch, the answer of Kubernetes is about the field `patch`. */
export function decodePatched<T>(patch: Patch, patched: unknown, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof BanyanError && error.cause instanceof Undecodable)) throw error;
    const { message, restoring } = error.cause;
    if (patch.type === 'strategic') throw patchRefused(goText(patch.patch), restoring);
    throw patchRefused(jsonText(patched), message);
  }
}

/** A value as Go prints it. */
export function goText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`;
  if (!isRecord(value)) return value === null ? '<nil>' : String(value);
  const names = Object.keys(value).sort();
  return `map[${names.map((name) => `${name}:${goText(value[name])}`).join(' ')}]`;
}

/** The name that the JSON decoder of Go has for a value. */
export function goTypeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (isNumber(value)) return 'number';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}
