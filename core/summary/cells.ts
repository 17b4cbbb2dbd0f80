/**
 * The cells of a group. A group has one cell for each subject and each kind of aggregate. A cell is a value that merges in any order. If no row of the group
 * has a value for the subject, the cell is undefined. Aggregates of the same subject that need the same kind of cell share it.
 */
import * as z from 'zod';
import { boundedRowCount, countedMax, countUpTo } from '../object/bounded-counts.ts';
import { type Distinct, distinctOf, hashesMax, mergeDistinct } from './distinct.ts';
import { mergeSketches, type QuantileSketch, sketchOf } from './quantile-sketch.ts';
import { mergeTop, rowsMax, type TopValues, topOf, topValuesMax } from './top-values.ts';

export interface CellValues {
  /** Number of rows with a value. */
  count: number;
  /** The sum in units of 10⁻⁹, and the number of rows in it. */
  sum: { readonly sum: bigint; readonly rows: number };
  min: bigint;
  max: bigint;
  sketch: QuantileSketch;
  distinct: Distinct;
  top: TopValues;
}

export type CellKind = keyof CellValues;

/** The value of a cell. The position of the cell in its group gives its kind. */
export type Cell = CellValues[CellKind];

/** The value of a row: as a number for aggregates that calculate, as a text for aggregates that compare. */
export interface CellInput {
  readonly number: bigint;
  readonly text: string;
  /** The name of the row. */
  readonly row: string;
}

interface CellRules<T> {
  of(input: CellInput): T;
  merge(a: T, b: T): T;
  encode(value: T): unknown;
  readonly schema: z.ZodType<T>;
}

const naturals = countUpTo(countedMax);
const hash = z.string().regex(/^[0-9a-f]{16}$/);
/** Limit for the digits of a sum on the wire. */
const decimalDigitsMax = 60;
const decimalMax = 10n ** BigInt(decimalDigitsMax) - 1n;
const decimal = z
  .string()
  .regex(new RegExp(`^-?\\d{1,${decimalDigitsMax}}$`))
  .transform((digits) => BigInt(digits));
const bins = z
  .array(z.tuple([z.number().int(), naturals]))
  .max(1024)
  .transform((pairs) => new Map(pairs));
/** A value of TOPK. Longer values cause an error already when a row is evaluated. */
const value = z.string().max(1024);

const rules: { readonly [kind in CellKind]: CellRules<CellValues[kind]> } = {
  count: { of: () => 1, merge: (a, b) => a + b, encode: boundedRowCount, schema: naturals },
  sum: {
    of: ({ number }) => ({ sum: number, rows: 1 }),
    merge: (a, b) => ({ sum: a.sum + b.sum, rows: a.rows + b.rows }),
    encode: ({ sum, rows }) => [boundedDecimal(sum), boundedRowCount(rows)],
    schema: z.tuple([decimal, naturals]).transform(([sum, rows]) => ({ sum, rows })),
  },
  min: { of: ({ number }) => number, merge: (a, b) => (a < b ? a : b), encode: String, schema: decimal },
  max: { of: ({ number }) => number, merge: (a, b) => (a > b ? a : b), encode: String, schema: decimal },
  sketch: {
    of: ({ number }) => sketchOf(Number(number) / 1e9),
    merge: mergeSketches,
    encode: ({ zero, above, below }) => [boundedRowCount(zero), sortedBins(above), sortedBins(below)],
    schema: z.tuple([naturals, bins, bins]).transform(([zero, above, below]) => ({ zero, above, below })),
  },
  distinct: {
    of: ({ text }) => distinctOf(text),
    merge: mergeDistinct,
    encode: (hashes) => hashes,
    schema: z.array(hash).max(hashesMax),
  },
  top: {
    of: ({ text, row }) => topOf(text, row),
    merge: mergeTop,
    encode: ({ values, rows, sample }) => [
      values.map(({ hash, value, count }) => [hash, value, boundedRowCount(count)]),
      boundedRowCount(rows),
      sample.map(({ hash, value }) => [hash, value]),
    ],
    schema: z
      .tuple([
        z.array(z.tuple([hash, value, naturals])).max(topValuesMax),
        naturals,
        z.array(z.tuple([hash, value])).max(rowsMax),
      ])
      .transform(([values, rows, sample]) => ({
        values: values.map(([hash, value, count]) => ({ hash, value, count })),
        rows,
        sample: sample.map(([hash, value]) => ({ hash, value })),
      })),
  },
};

export const cellKinds = Object.keys(rules) as CellKind[];

export function cellOf(kind: CellKind, input: CellInput): Cell {
  return rules[kind].of(input);
}

export function mergeCells(kind: CellKind, a: Cell | undefined, b: Cell | undefined): Cell | undefined {
  if (a === undefined) return b;
  if (b === undefined) return a;
  // Both cells are of this kind, because all groups have their cells in the order of the summarizer's kinds.
  const { merge } = rules[kind] as CellRules<Cell>;
  return merge(a, b);
}

/** Encodes a cell. Equal cells give equal JSON. */
export function encodeCell(kind: CellKind, cell: Cell | undefined): unknown {
  const { encode } = rules[kind] as CellRules<Cell>;
  return cell === undefined ? null : encode(cell);
}

export function cellSchema(kind: CellKind): z.ZodType<Cell | undefined> {
  const schema = rules[kind].schema as z.ZodType<Cell>;
  return schema.nullable().transform((cell) => cell ?? undefined);
}

function sortedBins(from: ReadonlyMap<number, number>): [number, number][] {
  return [...from].sort(([a], [b]) => a - b).map(([bin, count]) => [bin, boundedRowCount(count)]);
}

/** Cuts a sum to the limit. Correct sums are far below the limit (`decimalOf`). */
function boundedDecimal(sum: bigint): string {
  if (sum > decimalMax) return decimalMax.toString();
  return (sum < -decimalMax ? -decimalMax : sum).toString();
}
