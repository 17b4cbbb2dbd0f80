/** Treats unknown and duplicate fields as `fieldValidation` asks: ignores them, warns about each, or refuses the write. */
import type { Cause } from '../../runtime/errors.ts';
import { suggest } from '../../runtime/suggest.ts';
import type { FieldType } from '../schema.ts';
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

/** For kinds of the mesh: the field that the author may have meant. For all other kinds, the text is exactly that of the Kubernetes API server. */
function hint(kind: Kind, version: string, path: string): string {
  if (!kind.custom || kind.definitionUid !== undefined) return '';
  const names = path.match(/[^.[\]]+/g) ?? [];
  const unknown = names.pop() ?? '';
  let type: FieldType | undefined = kind.schema(version);
  for (const name of names) {
    if (type?.type === 'list') type = type.items;
    else type = type?.type === 'object' ? type.field(name)?.type : undefined;
  }
  if (type?.type !== 'object') return '';
  const known = Array.from(type.fields(), ([name]) => name).sort();
  const near = suggest(unknown, known);
  return near === undefined ? ` (the fields here are ${known.join(', ')})` : ` (did you mean "${near}"?)`;
}

/** The bound of the Kubernetes API server. Longer lists would not help the author, and the answer could be longer than the body. */
const reportedMax = 100;

function report(flaw: string, paths: readonly string[], { kind, version, options, isPatch }: CheckedWrite): void {
  if (paths.length === 0 || options.fieldValidation === 'Ignore') return;
  const texts = [...new Set(paths)]
    .slice(0, reportedMax)
    .map((path) => `${flaw} field "${path}"${flaw === 'unknown' ? hint(kind, version, path) : ''}`);
  if (options.fieldValidation !== 'Strict') {
    for (const text of texts) options.warn?.(text);
    return;
  }
  const error = `strict decoding error: ${texts.join(', ')}`;
  if (!isPatch) throw badRequest(`${kind.kind} in version "${version}" cannot be handled as a ${kind.kind}: ${error}`);
  const cause: Cause = { reason: 'FieldValueInvalid', message: `Invalid value: ${error}`, field: 'patch' };
  throw invalidObject({ group: '', kind: '' }, '', [cause]);
}
