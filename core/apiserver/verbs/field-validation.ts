/** Treats unknown and duplicate fields as `fieldValidation` asks: ignores them, warns about each, or refuses the write. */
import { jsonText } from '../../object/json.ts';
import type { KubeObject } from '../../object/meta.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { suggest } from '../../runtime/suggest.ts';
import { goText } from '../decoding.ts';
import type { FieldType } from '../schema.ts';
import type { Kind, Patch, WriteOptions } from '../space.ts';
import { badRequest, patchRefused } from '../status-errors.ts';

export interface CheckedWrite {
  readonly kind: Kind;
  readonly version: string;
  readonly options: WriteOptions;
  /** For an unknown field, the Kubernetes API server refuses a patch with Invalid, and a whole object with BadRequest. */
  readonly isPatch?: boolean;
  /** The patch that has made the object. */
  readonly patch?: Patch;
}

/** `object` is the object that has the unknown fields. */
export function reportUnknownFields(paths: readonly string[], write: CheckedWrite, object: object): void {
  const { kind, version, options } = write;
  const unknown = paths.map((path) => ({ path, text: `unknown field "${path}"${hint(kind, version, path)}` }));
  const ofPatch = write.patch?.type === 'json' ? 'json patch ' : '';
  const duplicates = duplicateTexts(options.duplicateFields ?? [], ofPatch);
  // The decoder of a Go type finds both in one pass. For a custom kind, pruning comes after decoding.
  const all = [...duplicates, ...unknown];
  if (!kind.custom && !write.patch && duplicates.length > 0)
    all.sort((a, b) => inDocumentOrder(object, a.path, b.path));
  report([...unknownInOperations(write.patch), ...Array.from(all, ({ text }) => text)], write, object);
}

const fieldsOfOperation: ReadonlySet<string> = new Set(['op', 'path', 'from', 'value']);

/** Fields of the operations of a JSON patch that have no meaning. */
function unknownInOperations(patch: Patch | undefined): string[] {
  if (patch?.type !== 'json' || !Array.isArray(patch.operations)) return [];
  return patch.operations.flatMap((operation, i) =>
    Object.keys((operation ?? {}) as object)
      .filter((name) => !fieldsOfOperation.has(name))
      .map((name) => `json patch unknown field "[${i}].${name}"`),
  );
}

export function reportDuplicateFields(paths: readonly string[], write: CheckedWrite): void {
  report(
    Array.from(duplicateTexts(paths), ({ text }) => text),
    write,
    {},
  );
}

/** Refuses an applied object with unknown fields or other `mistakes`, whatever `fieldValidation` says: nobody could own such a field. */
export function refuseUntypedFields(
  paths: readonly string[],
  mistakes: readonly string[],
  object: KubeObject,
  { kind, version }: CheckedWrite,
): void {
  const unknown = [...new Set(paths)].map(
    (path) => `.${path}: field not declared in schema${hint(kind, version, path)}`,
  );
  const texts = [...unknown, ...mistakes];
  if (texts.length === 0) return;
  const which = `${object.metadata.namespace ?? ''}/${object.metadata.name}; ${kind.group}/${version}, Kind=${kind.kind}`;
  const list = texts.length === 1 ? texts[0] : `errors:\n  ${texts.join('\n  ')}`;
  throw new BanyanError('NotTyped', `failed to create typed patch object (${which}): ${list}`);
}

function duplicateTexts(paths: readonly string[], before = '') {
  return paths.map((path) => ({ path, text: `${before}duplicate field "${path}"` }));
}

/** The names and indices of a path. */
const steps = /[^.[\]]+/g;

/** Compares two fields by their places in the object, whose fields are in the order of the request. */
function inDocumentOrder(object: object, left: string, right: string): number {
  const a: string[] = left.match(steps) ?? [];
  const b: string[] = right.match(steps) ?? [];
  let at: unknown = object;
  for (const [index, name] of a.entries()) {
    if (name !== b[index]) {
      const names = Object.keys(at as object);
      return names.indexOf(name) - names.indexOf(b[index] ?? '');
    }
    at = (at as Record<string, unknown>)[name];
  }
  return 0;
}

/** For kinds of the mesh: the field that the author may have meant. For all other kinds, the text is exactly that of the Kubernetes API server. */
function hint(kind: Kind, version: string, path: string): string {
  if (!kind.custom || kind.definitionUid !== undefined) return '';
  const names = path.match(steps) ?? [];
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

function report(
  found: readonly string[],
  { kind, version, options, isPatch, patch }: CheckedWrite,
  object: object,
): void {
  if (found.length === 0 || options.fieldValidation === 'Ignore') return;
  const texts = [...new Set(found)].slice(0, reportedMax);
  if (options.fieldValidation !== 'Strict') {
    for (const text of texts) options.warn?.(text);
    return;
  }
  const error = `strict decoding error: ${texts.join(', ')}`;
  if (!isPatch) throw badRequest(`${kind.kind} in version "${version}" cannot be handled as a ${kind.kind}: ${error}`);
  throw patchRefused(patch?.type === 'strategic' ? goText(patch.patch) : jsonText(object), error);
}
