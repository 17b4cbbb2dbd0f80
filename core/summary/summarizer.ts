/**
 * A StatusSummarizer made ready to run: its expressions compiled, its aggregates laid out in cells, and how one row becomes a partial.
 *
 * A row that an expression fails for counts nowhere but among the errors, so that all columns of a summary are of the same rows. A subject that names what is not
 * there, or is null, has no value, which is no error: COUNT, AVG and the others pass over the row.
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
  /** Of the destination's agent: `eu:paris:store-17`. */
  readonly path: string;
  /** `deployments.apps shop/till` */
  readonly object: string;
  /** Only the fields in `fields` will be named; absent: any. */
  variable(name: RowVariable, fields: ReadonlySet<string> | undefined): CelValue;
}

export interface Summarizer {
  readonly spec: SummarizerSpec;
  /** What its partials carry in `UserPartial.spec`. */
  readonly fingerprint: string;
  readonly kinds: readonly CellKind[];
  /** For each combined field, the place of its cell; undefined for a COUNT of rows. */
  readonly cellOfField: readonly (number | undefined)[];
  /** The partial of nothing. */
  readonly empty: UserPartial;
  /** The partial of one row; undefined: the filter leaves it out. */
  evaluate(row: SummaryRow): UserPartial | undefined;
}

/** Steps for all expressions of one row: some 0.5 ms. Ten thousand rows then take no longer than a few seconds, whatever somebody writes. */
const rowSteps = 10_000;
/** Bounds on what a row gives, with `partialBytesMax` in mind. */
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
  /** The first combined field that needs it: errors name its subject. */
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

/** What an expression of a row gave that can't be used. */
class RowProblem extends Error {}

/** Throws CelError for an expression that does not compile. */
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
  // What changes only how rows are shown leaves the partials as they are.
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

/** One cell for each subject and kind. */
function layOut(fields: readonly CombinedField[]): { cells: CompiledCell[]; cellOfField: (number | undefined)[] } {
  const cells: CompiledCell[] = [];
  const places = new Map<string, number>();
  const cellOfField = fields.map(({ type, subject }, i) => {
    if (subject === undefined) return undefined;
    const kind = cellOfType[type];
    const known = places.get(`${kind} ${subject}`);
    if (known !== undefined) return known;
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
      const known = uses.get(name);
      uses.set(name, (uses.has(name) && !known) || !fields ? undefined : new Set([...(known ?? []), ...fields]));
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

/** What is not there is null. */
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

/** Keys recur with every row of their group. */
const knownIds = new Map<string, string>();
const knownIdsMax = 10_000;

function groupId(key: string): string {
  const known = knownIds.get(key);
  if (known !== undefined) return known;
  if (Buffer.byteLength(key) > keyBytesMax)
    throw new RowProblem(`the values take more than ${keyBytesMax} bytes: shorten them with substring(0, 64)`);
  const id = `${sampleHash(key)}${key}`;
  if (knownIds.size >= knownIdsMax) knownIds.clear();
  knownIds.set(key, id);
  return id;
}

function cutText(text: string, charactersMax: number): string {
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax - 1)}…`;
}
