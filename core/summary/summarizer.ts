/**
 * Compiles a StatusSummarizer, assigns a cell to each aggregate, and makes the partial of one row.
 *
 * If an expression fails for a row, the row counts only as an error, so that all columns of a summary are about the same rows. A subject that reads a missing
 * field, or is null, has no value for the row. This is no error: the aggregates of this subject leave out the row.
 */
import { type CelProgram, compileCel } from '../match/cel/cel.ts';
import { CelError } from '../match/cel/cel-error.ts';
import type { CelValue } from '../match/cel/values.ts';
import { stableStringify } from '../object/canonical.ts';
import { type Cell, type CellKind, cellOf } from './cells.ts';
import { decimalOf } from './decimal.ts';
import { sampleHash } from './order.ts';
import { describeValue, plainOf, scalarOf } from './scalar.ts';
import {
  type AggregateType,
  type CombinedField,
  isNumeric,
  type RowVariable,
  rowVariables,
  type SummarizerSpec,
} from './summarizer-spec.ts';
import type { Grouped, RowError, Scalar, SelectedRows, UserPartial } from './user-partial.ts';

export interface SummaryRow {
  /** Path of the destination's agent: `eu:paris:store-17`. */
  readonly path: string;
  /** `deployments.apps shop/till` */
  readonly object: string;
  /** The value of a variable. The expressions read only these `fields` of it; undefined: they may read all fields. */
  variable(name: RowVariable, fields: ReadonlySet<string> | undefined): CelValue;
}

export interface Summarizer {
  readonly spec: SummarizerSpec;
  /** The value of `UserPartial.spec` in the partials of this summarizer. */
  readonly fingerprint: string;
  readonly kinds: readonly CellKind[];
  /** For each combined field: the index of its cell. Undefined: the field counts rows and needs no cell. */
  readonly cellOfField: readonly (number | undefined)[];
  /** The partial of no rows. */
  readonly empty: UserPartial;
  /** Makes the partial of one row. Undefined: the filter leaves out the row. */
  evaluate(row: SummaryRow): UserPartial | undefined;
}

/** Limit for the CEL steps of all expressions of one row: about 0.5 ms. So with any expressions, ten thousand rows take at most a few seconds. */
const rowSteps = 10_000;
/** Limits for the values of a row, so that a partial stays within `partialBytesMax`. */
const keyBytesMax = 1024;
const valueBytesMax = 256;
const columnCharactersMax = 512;
const rowBytesMax = 4096;
const messageCharactersMax = 256;

const cellOfType: { readonly [type in AggregateType]: CellKind } = {
  COUNT: 'count',
  SUM: 'sum',
  AVG: 'sum',
  MIN: 'min',
  MAX: 'max',
  DISTINCT: 'distinct',
  P50: 'sketch',
  P90: 'sketch',
  P99: 'sketch',
  TOPK: 'top',
};

interface CompiledCell {
  readonly kind: CellKind;
  /** The first combined field that needs this cell. Error messages name the subject of this field. */
  readonly field: string;
  readonly type: AggregateType;
  readonly subject: CelProgram;
}

interface Compiled {
  readonly filter?: CelProgram;
  readonly groupBy: readonly CelProgram[];
  readonly cells: readonly CompiledCell[];
  readonly select: readonly CelProgram[];
}

/** The value of an expression cannot be used for a row. */
class RowProblem extends Error {}

/** Compiles a summarizer. Throws CelError if an expression does not compile. */
export function compileSummarizer(spec: SummarizerSpec): Summarizer {
  const { cells, cellOfField } = layOut(spec.combinedFields ?? []);
  const compiled: Compiled = {
    ...(spec.filter === undefined ? {} : { filter: compileCel(spec.filter, rowVariables, 'bool') }),
    groupBy: (spec.groupBy ?? []).map(({ def }) => compileCel(def, rowVariables)),
    cells,
    select: (spec.select ?? []).map(({ def }) => compileCel(def, rowVariables)),
  };
  const uses = usesOf(compiled);
  const kinds = cells.map(({ kind }) => kind);
  const nothing: Grouped | SelectedRows = spec.select
    ? { form: 'selected', limit: spec.limit, sample: [] }
    : { form: 'grouped', kinds, groupsMax: spec.maxGroups, groups: new Map() };
  // `having` and `orderBy` only change the table, not the partials, so they are not part of the fingerprint.
  const { having: _having, orderBy: _orderBy, ...counting } = spec;
  const fingerprint = sampleHash(stableStringify(counting));
  const empty: UserPartial = {
    spec: fingerprint,
    rows: 0,
    errors: { count: 0, sample: [] },
    outdated: 0,
    content: nothing,
  };
  return {
    spec,
    fingerprint,
    kinds,
    cellOfField,
    empty,
    evaluate: (row) => evaluateRow(compiled, uses, empty, row),
  };
}

/** Assigns one cell to each pair of subject and kind. */
function layOut(fields: readonly CombinedField[]): { cells: CompiledCell[]; cellOfField: (number | undefined)[] } {
  const cells: CompiledCell[] = [];
  const places = new Map<string, number>();
  const cellOfField = fields.map(({ type, subject }, i) => {
    if (subject === undefined) return undefined;
    const kind = cellOfType[type];
    const place = places.get(`${kind} ${subject}`);
    if (place !== undefined) return place;
    const field = `spec.combinedFields[${i}].subject`;
    places.set(`${kind} ${subject}`, cells.length);
    return cells.push({ kind, field, type, subject: compileCel(subject, rowVariables) }) - 1;
  });
  return { cells, cellOfField };
}

type Uses = ReadonlyMap<RowVariable, ReadonlySet<string> | undefined>;

function usesOf({ filter, groupBy, cells, select }: Compiled): Uses {
  const uses = new Map<RowVariable, ReadonlySet<string> | undefined>();
  for (const program of [...(filter ? [filter] : []), ...groupBy, ...cells.map(({ subject }) => subject), ...select]) {
    for (const name of Object.keys(rowVariables) as RowVariable[]) {
      if (!program.variables.has(name)) continue;
      const fields = program.fieldsOf(name);
      const before = uses.get(name);
      uses.set(name, (uses.has(name) && !before) || !fields ? undefined : new Set([...(before ?? []), ...fields]));
    }
  }
  return uses;
}

// ------------------------------------------------------------------------------------------------------- a row

function evaluateRow(compiled: Compiled, uses: Uses, empty: UserPartial, row: SummaryRow): UserPartial | undefined {
  const bindings = Object.fromEntries([...uses].map(([name, fields]) => [name, row.variable(name, fields)]));
  const budget = { remaining: rowSteps };
  const name = `${row.path} ${row.object}`;
  let at = 'spec.filter';
  const run = (field: string, program: CelProgram) => {
    at = field;
    return program.evaluate(bindings, budget);
  };
  try {
    if (compiled.filter && !passes(run('spec.filter', compiled.filter))) return undefined;
    const { content } = empty;
    const one = { ...empty, rows: 1 };
    if (content.form === 'selected') {
      const values = compiled.select.map((program, i) => column(() => run(`spec.select[${i}].def`, program)));
      at = 'spec.select';
      if (JSON.stringify(values).length > rowBytesMax)
        throw new RowProblem(`the columns of a row take more than ${rowBytesMax} bytes`);
      return { ...one, content: { ...content, sample: [{ hash: sampleHash(name), values }] } };
    }
    const key = compiled.groupBy.map((program, i) => keyPart(run(`spec.groupBy[${i}].def`, program)));
    at = 'spec.groupBy';
    const id = groupId(JSON.stringify(key));
    const cells = compiled.cells.map((cell) => subjectCell(cell, () => run(cell.field, cell.subject), name));
    return { ...one, content: { ...content, groups: new Map([[id, { id, rows: 1, cells }]]) } };
  } catch (error) {
    if (!(error instanceof CelError || error instanceof RowProblem)) throw error;
    const sample: RowError = {
      path: row.path,
      object: row.object,
      field: at,
      message: cutText(error.message, messageCharactersMax),
    };
    return { ...empty, errors: { count: 1, sample: [sample] } };
  }
}

function passes(value: CelValue): boolean {
  if (typeof value === 'boolean') return value;
  throw new RowProblem(`must be true or false, is ${describeValue(value)}`);
}

function keyPart(value: CelValue): Scalar {
  const scalar = scalarOf(plainOf(value));
  if (scalar !== undefined) return scalar;
  throw new RowProblem(`must be a text, a number, true, false or null, is ${describeValue(value)}`);
}

/** The value of a column. A missing field gives null. */
function column(read: () => CelValue): Scalar {
  const value = valueOrNothing(read);
  const scalar = scalarOf(value);
  if (scalar === undefined)
    throw new RowProblem(`must be a text, a number, true, false or null, is ${describeValue(value)}`);
  return typeof scalar === 'string' ? cutText(scalar, columnCharactersMax) : scalar;
}

function subjectCell({ kind, type }: CompiledCell, read: () => CelValue, row: string): Cell | undefined {
  const value = valueOrNothing(read);
  if (value === null) return undefined;
  if (kind === 'count') return cellOf(kind, { number: 0n, text: '', row });
  if (isNumeric(type)) {
    const number = decimalOf(value);
    if (number === undefined)
      throw new RowProblem(`${type} needs a number up to 10^30, the value is ${describeValue(value)}`);
    return cellOf(kind, { number, text: '', row });
  }
  const scalar = scalarOf(value);
  if (scalar === undefined)
    throw new RowProblem(`${type} needs a text, a number, true or false, the value is ${describeValue(value)}`);
  const text = JSON.stringify(scalar);
  if (Buffer.byteLength(text) > valueBytesMax)
    throw new RowProblem(`the value takes more than ${valueBytesMax} bytes: shorten it with substring(0, 64)`);
  return cellOf(kind, { number: 0n, text, row });
}

function valueOrNothing(read: () => CelValue): CelValue {
  try {
    return plainOf(read());
  } catch (error) {
    if (error instanceof CelError && error.isMissing) return null;
    throw error;
  }
}

/** A cache of the ids of keys, because each row of a group has the same key. */
const idsByKey = new Map<string, string>();
const idsByKeyMax = 10_000;

function groupId(key: string): string {
  const before = idsByKey.get(key);
  if (before !== undefined) return before;
  if (Buffer.byteLength(key) > keyBytesMax)
    throw new RowProblem(`the values take more than ${keyBytesMax} bytes: shorten them with substring(0, 64)`);
  const id = `${sampleHash(key)}${key}`;
  if (idsByKey.size >= idsByKeyMax) idsByKey.clear();
  idsByKey.set(key, id);
  return id;
}

function cutText(text: string, charactersMax: number): string {
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax - 1)}…`;
}
