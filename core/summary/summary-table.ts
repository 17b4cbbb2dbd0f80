/**
 * Makes the table of a StatusSummary from a partial: typed columns, sorted rows, and the counts of rows that are left out. The table depends only on the
 * values, not on the order in which they arrived.
 */
import { type CelProgram, type CelType, compileCel } from '../match/cel/cel.ts';
import { CelError } from '../match/cel/cel-error.ts';
import { type CelValue, celValue } from '../match/cel/values.ts';
import { compareText } from '../object/text-order.ts';
import type { Cell, CellValues } from './cells.ts';
import { decimalOf, divideDecimal, parseDecimal, shownDecimal } from './decimal.ts';
import { countDistinct } from './distinct.ts';
import { quantile } from './quantile-sketch.ts';
import type { Summarizer } from './summarizer.ts';
import { type AggregateType, type CombinedField, type SummarizerSpec, topValuesDefault } from './summarizer-spec.ts';
import { topValues } from './top-values.ts';
import { type Grouped, groupKey, type RowErrors, type Scalar, type UserPartial } from './user-partial.ts';

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
}

/** `Any`: the result of an expression of `groupBy` or `select`. A number that JSON cannot hold exactly is shown as its decimal text. */
export type ColumnType = 'Any' | 'Integer' | 'Number' | 'List';

export type ShownValue = Scalar | readonly { readonly value: Scalar; readonly count: number }[];

export interface SummaryTable {
  readonly columns: readonly Column[];
  readonly rows: readonly { readonly columns: readonly ShownValue[] }[];
  /** Number of summarized rows. */
  readonly total: number;
  readonly rowErrors: RowErrors;
  /** Number of groups that were merged into `otherGroup`. */
  readonly dropped?: number;
  /** Number of rows of `otherGroup`. So no group that was merged into it has more rows than this. */
  readonly errorBound?: number;
}

/** The text in the first column of the row with all groups that exceed the limit. */
export const otherGroup = '__other__';

interface TableRow {
  readonly values: readonly ShownValue[];
  /** The columns as CEL values, for `having`. */
  readonly bindings: () => Record<string, CelValue>;
}

export function summaryTable(summarizer: Summarizer, partial: UserPartial): SummaryTable {
  const { spec } = summarizer;
  const { content, rows: total } = partial;
  const columns = columnsOf(spec);
  const found =
    content.form === 'selected'
      ? content.sample.map(({ values }): TableRow => ({ values, bindings: () => ({}) }))
      : groupRows(summarizer, content, columns);
  const { kept, errors } = having(spec, found);
  const order = orderOf(spec, columns);
  const shown = kept.map(({ values }) => values).sort(order);
  const rest = content.form === 'grouped' ? content.rest : undefined;
  const other = rest && [otherGroup, ...nulls(columns.length)].slice(0, spec.groupBy?.length ?? 0);
  const otherValues = rest && other ? [[...other, ...aggregates(summarizer, rest.rows, rest.cells)]] : [];
  return {
    columns,
    rows: [...shown, ...otherValues].map((columns) => ({ columns })),
    total,
    rowErrors: errors === 0 ? partial.errors : { ...partial.errors, count: partial.errors.count + errors },
    ...(rest ? { dropped: countDistinct(rest.groups), errorBound: rest.rows } : {}),
  };
}

export function columnsOf(spec: SummarizerSpec): Column[] {
  if (spec.select) return spec.select.map(({ name }) => ({ name, type: 'Any' }));
  const fields = (spec.combinedFields ?? []).map(({ name, type }) => ({ name, type: columnType[type] }));
  return [...(spec.groupBy ?? []).map(({ name }): Column => ({ name, type: 'Any' })), ...fields];
}

/** The types of the columns as variables of `having`. */
export function havingVariables(spec: SummarizerSpec): Record<string, CelType> {
  return Object.fromEntries(columnsOf(spec).map(({ name, type }) => [name, type === 'List' ? { list: 'dyn' } : 'dyn']));
}

const columnType: { readonly [type in AggregateType]: ColumnType } = {
  COUNT: 'Integer',
  SUM: 'Number',
  AVG: 'Number',
  MIN: 'Number',
  MAX: 'Number',
  DISTINCT: 'Integer',
  P50: 'Number',
  P90: 'Number',
  P99: 'Number',
  TOPK: 'List',
};

// ------------------------------------------------------------------------------------------------------ groups

/** The rows of the table, one for each group. Without `groupBy` there is always one group, even if there are no rows. */
function groupRows(summarizer: Summarizer, { groups }: Grouped, columns: readonly Column[]): TableRow[] {
  const isWhole = (summarizer.spec.groupBy ?? []).length === 0;
  const all = isWhole && groups.size === 0 ? [{ key: '[]', rows: 0, cells: [] }] : [...groups.values()].map(keyed);
  return all.map(({ key, rows, cells }) => {
    const values = [...(JSON.parse(key) as Scalar[]), ...aggregates(summarizer, rows, cells)];
    const bindings = () =>
      Object.fromEntries(columns.map((column, i) => [column.name, bound(column, values[i] ?? null)]));
    return { values, bindings };
  });
}

function keyed({ id, rows, cells }: { id: string; rows: number; cells: readonly (Cell | undefined)[] }) {
  return { key: groupKey(id), rows, cells };
}

function aggregates(
  { spec, cellOfField }: Summarizer,
  rows: number,
  cells: readonly (Cell | undefined)[],
): readonly ShownValue[] {
  return (spec.combinedFields ?? []).map((field, i) => {
    const place = cellOfField[i];
    return place === undefined ? rows : aggregate(field, cells[place]);
  });
}

/** The value of an aggregate. If no row has a value: COUNT, DISTINCT and SUM are 0, TOPK is empty, and the others are null. */
function aggregate({ type, k = topValuesDefault }: CombinedField, cell: Cell | undefined): ShownValue {
  switch (type) {
    case 'COUNT':
      return (cell as CellValues['count'] | undefined) ?? 0;
    case 'SUM':
      return shownDecimal((cell as CellValues['sum'] | undefined)?.sum ?? 0n);
    case 'DISTINCT':
      return countDistinct((cell as CellValues['distinct'] | undefined) ?? []);
    case 'TOPK':
      return cell === undefined
        ? []
        : topValues(cell as CellValues['top'], k).map(({ value, count }) => ({
            value: JSON.parse(value) as Scalar,
            count,
          }));
    default:
      return cell === undefined ? null : calculated(type, cell);
  }
}

function calculated(type: 'AVG' | 'MIN' | 'MAX' | 'P50' | 'P90' | 'P99', cell: Cell): ShownValue {
  if (type === 'AVG') {
    const { sum, rows } = cell as CellValues['sum'];
    return shownDecimal(divideDecimal(sum, rows));
  }
  if (type === 'MIN' || type === 'MAX') return shownDecimal(cell as bigint);
  const value = quantile(cell as CellValues['sketch'], Number(type.slice(1)) / 100);
  const decimal = value === undefined ? undefined : decimalOf(value);
  return decimal === undefined ? null : shownDecimal(decimal);
}

// ------------------------------------------------------------------------------------------- having and order

const programs = new WeakMap<SummarizerSpec, CelProgram>();

/** Leaves out the groups for which the condition is false. If the condition fails for a group, the group is left out too and counts as an error. */
function having(spec: SummarizerSpec, rows: readonly TableRow[]): { kept: readonly TableRow[]; errors: number } {
  if (spec.having === undefined) return { kept: rows, errors: 0 };
  const program = programs.get(spec) ?? compileCel(spec.having, havingVariables(spec), 'bool');
  programs.set(spec, program);
  let errors = 0;
  const kept = rows.filter(({ bindings }) => {
    try {
      return program.evaluate(bindings()) === true;
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      errors++;
      return false;
    }
  });
  return { kept, errors };
}

/** Converts a column's value for CEL. The decimal text of an aggregate becomes a number. */
function bound({ type }: Column, value: ShownValue): CelValue {
  return type === 'Number' && typeof value === 'string' ? Number(value) : celValue(value);
}

type RowOrder = (a: readonly ShownValue[], b: readonly ShownValue[]) => number;

/** The order of the rows: first by `orderBy`, then by all columns from the left. So equal tables give equal texts. */
function orderOf(spec: SummarizerSpec, columns: readonly Column[]): RowOrder {
  const requested = (spec.orderBy ?? []).map(({ name, descending = false }) => ({
    at: columns.findIndex((column) => column.name === name),
    descending,
  }));
  const keys = [...requested, ...columns.map((_, at) => ({ at, descending: false }))];
  return (a, b) => {
    for (const { at, descending } of keys) {
      const order = compareShown(columns[at]!, a[at] ?? null, b[at] ?? null, descending);
      if (order !== 0) return order;
    }
    return 0;
  };
}

/** Compares two values of a column. A missing value is last, ascending and descending. */
function compareShown(column: Column, a: ShownValue, b: ShownValue, descending: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order = compareValues(column, a, b);
  return descending ? -order : order;
}

/** Compares two values that are not null. Numbers are before texts. */
function compareValues({ type }: Column, a: Exclude<ShownValue, null>, b: Exclude<ShownValue, null>): number {
  const [x, y] = type === 'Number' ? [parseDecimal(a), parseDecimal(b)] : [a, b];
  if (isNumber(x) && isNumber(y)) return x < y ? -1 : x > y ? 1 : 0;
  if (isNumber(x) || isNumber(y)) return isNumber(x) ? -1 : 1;
  return compareText(textOf(x), textOf(y));
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function nulls(n: number): null[] {
  return new Array<null>(n).fill(null);
}
