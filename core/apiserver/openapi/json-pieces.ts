/** The JSON of a large document in pieces, so that other work can go on between two of them. */
import { jsonText } from '../../object/json.ts';
import { isRecord } from '../../runtime/is-record.ts';

/** `depth`: the levels of fields that have pieces of their own. */
export function* jsonPieces(value: unknown, depth: number): Generator<string, void> {
  if (depth === 0 || !isRecord(value)) return yield jsonText(value);
  yield* jsonFields(fieldsOf(value, depth - 1));
}

/** The JSON of an object whose fields come one after the other. */
export function* jsonFields(
  fields: Iterable<readonly [name: string, pieces: Iterable<string>]>,
): Generator<string, void> {
  let separator = '{';
  for (const [name, pieces] of fields) {
    yield `${separator}${JSON.stringify(name)}:`;
    yield* pieces;
    separator = ',';
  }
  yield separator === '{' ? '{}' : '}';
}

function* fieldsOf(
  value: Readonly<Record<string, unknown>>,
  depth: number,
): Generator<readonly [string, Iterable<string>]> {
  for (const [name, field] of Object.entries(value)) if (field !== undefined) yield [name, jsonPieces(field, depth)];
}
