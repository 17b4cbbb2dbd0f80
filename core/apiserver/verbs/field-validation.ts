/** Treats unknown and duplicate fields as `fieldValidation` asks: ignores them, warns about each, or refuses the write. */
import type { Cause } from '../../runtime/errors.ts';
import type { Kind, WriteOptions } from '../space.ts';
import { badRequest, invalidObject } from '../status-errors.ts';

export interface CheckedWrite {
  readonly kind: Kind;
  readonly version: string;
  readonly options: WriteOptions;
  /** For an unknown field, the Kubernetes API server refuses a patch with Invalid, and a whole object with BadRequest. */
  readonly isPatch?: boolean;
}

export function reportUnknownFields(paths: readonly string[], write: CheckedWrite): void {
  report('unknown', paths, write);
}

export function reportDuplicateFields(paths: readonly string[], write: CheckedWrite): void {
  report('duplicate', paths, write);
}

function report(flaw: string, paths: readonly string[], { kind, version, options, isPatch }: CheckedWrite): void {
  if (paths.length === 0 || options.fieldValidation === 'Ignore') return;
  const texts = [...new Set(paths)].map((path) => `${flaw} field "${path}"`);
  if (options.fieldValidation !== 'Strict') {
    for (const text of texts) options.warn?.(text);
    return;
  }
  const error = `strict decoding error: ${texts.join(', ')}`;
  if (!isPatch) throw badRequest(`${kind.kind} in version "${version}" cannot be handled as a ${kind.kind}: ${error}`);
  const cause: Cause = { reason: 'FieldValueInvalid', message: `Invalid value: ${error}`, field: 'patch' };
  throw invalidObject({ group: '', kind: '' }, '', [cause]);
}
