/** Encodes and decodes partials of user-defined summaries, as JSON. Equal partials give equal bytes. */
import * as z from 'zod';
import { boundedRowCount, countedMax, countUpTo } from '../object/bounded-counts.ts';
import { stableStringify } from '../object/canonical.ts';
import { decodeChecked } from '../object/checked.ts';
import { compareText } from '../object/text-order.ts';
import { BanyanError } from '../runtime/errors.ts';
import { checkSchema, problemText } from '../runtime/schema-problems.ts';
import { text } from '../store/bytes.ts';
import { type Cell, type CellKind, cellKinds, cellSchema, encodeCell } from './cells.ts';
import { hashesMax } from './distinct.ts';
import { errorsMax, type Grouped, type SelectedRows, type UserPartial, withGroupsMax } from './user-partial.ts';

/** Limit for an encoded partial: a quarter of the largest frame. A StatusSummary with the same number of rows has about the same size. */
export const partialBytesMax = 1024 * 1024;
/** The largest limits that a summarizer may have. */
export const groupsLimit = 1000;
export const selectLimit = 200;
const cellsMax = 32;

/** Encodes a partial. If it is too large, the number of its groups is halved until it fits; the other groups are merged into one. */
export function encodeUserPartial(partial: UserPartial): Uint8Array {
  const bytes = text(stableStringify(wireOf(partial)));
  const { content } = partial;
  if (bytes.length <= partialBytesMax || content.form === 'selected' || content.groups.size <= 1) return bytes;
  return encodeUserPartial(withGroupsMax(partial, Math.floor(content.groups.size / 2)));
}

/** Decodes the partial that a child sent. Throws Protocol if the bytes are no partial. */
export function decodeUserPartial(bytes: Uint8Array): UserPartial {
  const { content, ...rest } = decodeChecked('a summary', partialSchema, bytes);
  return { ...rest, content: content.form === 'selected' ? content : groupedOf(content) };
}

/** Cache of decoded contents, because several callers need the same content. */
const decoded = new WeakMap<object, UserPartial>();

export function readUserPartial(content: { readonly body: Uint8Array }): UserPartial {
  const before = decoded.get(content);
  if (before) return before;
  const partial = decodeUserPartial(content.body);
  decoded.set(content, partial);
  return partial;
}

function wireOf({ content, rows, errors, outdated, ...rest }: UserPartial): object {
  const counts = {
    rows: boundedRowCount(rows),
    errors: { ...errors, count: boundedRowCount(errors.count) },
    outdated: boundedRowCount(outdated),
  };
  return { ...rest, ...counts, content: content.form === 'selected' ? content : groupedWire(content) };
}

function groupedWire({ form, kinds, groupsMax, groups, below, rest }: Grouped): object {
  const cells = (of: { cells: readonly (Cell | undefined)[] }) => kinds.map((kind, i) => encodeCell(kind, of.cells[i]));
  return {
    form,
    kinds,
    groupsMax,
    groups: [...groups.values()]
      .sort((a, b) => compareText(a.id, b.id))
      .map((group) => [group.id, boundedRowCount(group.rows), cells(group)]),
    ...(below === undefined ? {} : { below }),
    ...(rest ? { rest: { rows: boundedRowCount(rest.rows), groups: rest.groups, cells: cells(rest) } } : {}),
  };
}

// ---------------------------------------------------------------------------------------------------- reading

const naturals = countUpTo(countedMax);
const hash = z.string().regex(/^[0-9a-f]{16}$/);
/** A text from a row. The summarizer makes only shorter texts. */
const rowText = z.string().max(4096);
const cells = z.array(z.unknown()).max(cellsMax);
const scalar = z.union([rowText, z.number(), z.boolean(), z.null()]);

const groupedSchema = z.object({
  form: z.literal('grouped'),
  kinds: z.array(z.enum(cellKinds)).max(cellsMax),
  groupsMax: naturals.max(groupsLimit),
  groups: z.array(z.tuple([rowText, naturals, cells])).max(groupsLimit),
  below: rowText.exactOptional(),
  rest: z.object({ rows: naturals, groups: z.array(hash).max(hashesMax), cells }).exactOptional(),
});
const selectedSchema = z.object({
  form: z.literal('selected'),
  limit: naturals.max(selectLimit),
  sample: z.array(z.object({ hash, values: z.array(scalar).max(cellsMax) })).max(selectLimit),
}) satisfies z.ZodType<SelectedRows>;
const partialSchema = z.object({
  spec: z.string().max(64),
  rows: naturals,
  errors: z.object({
    count: naturals,
    sample: z.array(z.object({ path: rowText, object: rowText, field: rowText, message: rowText })).max(errorsMax),
  }),
  outdated: naturals,
  content: z.discriminatedUnion('form', [groupedSchema, selectedSchema]),
});

function groupedOf({ kinds, groups, rest, below, ...content }: z.infer<typeof groupedSchema>): Grouped {
  const schemas = kinds.map(cellSchema);
  const read = (encoded: readonly unknown[]) => schemas.map((schema, i) => cellFrom(schema, kinds[i]!, encoded[i]));
  return {
    ...content,
    kinds,
    groups: new Map(groups.map(([id, rows, encoded]) => [id, { id, rows, cells: read(encoded) }])),
    ...(below === undefined ? {} : { below }),
    ...(rest ? { rest: { rows: rest.rows, groups: rest.groups, cells: read(rest.cells) } } : {}),
  };
}

function cellFrom(schema: ReturnType<typeof cellSchema>, kind: CellKind, encoded: unknown): Cell | undefined {
  const checked = checkSchema(schema, encoded ?? null);
  if ('value' in checked) return checked.value;
  throw new BanyanError(
    'Protocol',
    `a summary that is none: a cell of ${kind}: ${problemText(checked.problems[0]!, 'the cell')}`,
  );
}
