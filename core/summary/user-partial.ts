/**
 * The partial of a summary that a user defines: rows of some destinations, aggregated. Partials of disjoint sets of rows merge into that of their union,
 * associatively and commutatively and without any loss of exactness, so that any tree of merges equals a fold over the rows.
 *
 * Bounds. Groups: at most `groupsMax`, those with the smallest hashes, the rest merged into one. What is kept was never merged into the rest anywhere:
 * `below` says up to which hash groups are kept, and a merge keeps to the lower of both. So groups that are shown are exact. Rows of a selection: a sample,
 * the smallest hashes. Errors: a count and a sample.
 */

import { compareText } from '../object/text-order.ts';
import { type Cell, type CellKind, mergeCells } from './cells.ts';
import { type Distinct, distinctOf, mergeDistinct } from './distinct.ts';
import { smallestOf } from './order.ts';

/** What a column of a row can hold. */
export type Scalar = string | number | boolean | null;

export interface UserPartial {
  /** The summarizer's specification, hashed: partials of different ones don't merge. */
  readonly spec: string;
  /** Rows that passed the filter and had no error. */
  readonly rows: number;
  readonly errors: RowErrors;
  /** Destinations whose rows are left out, since their part of the tree has another version of the summarizer. */
  readonly outdated: number;
  readonly content: Grouped | SelectedRows;
}

export interface RowErrors {
  readonly count: number;
  /** At most `errorsMax`, the smallest. */
  readonly sample: readonly RowError[];
}

export interface RowError {
  /** Of the destination's agent: `eu:paris:store-17`. */
  readonly path: string;
  /** `deployments.apps shop/till` */
  readonly object: string;
  /** Of the summarizer: `spec.combinedFields[1].subject`. */
  readonly field: string;
  readonly message: string;
}

export interface Grouped {
  readonly form: 'grouped';
  /** The kinds of the cells of each group. */
  readonly kinds: readonly CellKind[];
  readonly groupsMax: number;
  /** By `Group.id`. */
  readonly groups: ReadonlyMap<string, SummaryGroup>;
  /** Ids from here on are in `rest`; absent: none is. */
  readonly below?: string;
  readonly rest?: Rest;
}

export interface SummaryGroup {
  /** The hash of the key, and the key: JSON of the values. */
  readonly id: string;
  readonly rows: number;
  readonly cells: readonly (Cell | undefined)[];
}

export interface Rest {
  readonly rows: number;
  readonly cells: readonly (Cell | undefined)[];
  /** Which groups are in it, counted. */
  readonly groups: Distinct;
}

export interface SelectedRows {
  readonly form: 'selected';
  readonly limit: number;
  /** Sorted by hash. */
  readonly sample: readonly SelectedRow[];
}

export interface SelectedRow {
  /** Of what names the row: a uniform sample, whatever the rows hold. */
  readonly hash: string;
  readonly values: readonly Scalar[];
}

/** A bound on what a summary's object holds however many rows fail, and more than a person reads. */
export const errorsMax = 10;
/** The hash before the key in a group's id. */
const hashLength = 16;

export function groupKey(id: string): string {
  return id.slice(hashLength);
}

export function mergeUserPartials(a: UserPartial, b: UserPartial): UserPartial {
  return {
    spec: a.spec,
    rows: a.rows + b.rows,
    errors: {
      count: a.errors.count + b.errors.count,
      sample: smallestOf(a.errors.sample, b.errors.sample, compareErrors, errorsMax),
    },
    outdated: a.outdated + b.outdated,
    content: mergeContents(a.content, b.content),
  };
}

/** The same with fewer groups: for a partial that is too large to send. */
export function withGroupsMax(partial: UserPartial, groupsMax: number): UserPartial {
  const { content } = partial;
  if (content.form === 'selected') return partial;
  return { ...partial, content: cut({ ...content, groupsMax, groups: new Map(content.groups) }, content.below) };
}

function mergeContents(a: Grouped | SelectedRows, b: Grouped | SelectedRows): Grouped | SelectedRows {
  if (a.form === 'selected' && b.form === 'selected') {
    const limit = Math.min(a.limit, b.limit);
    return { form: 'selected', limit, sample: smallestOf(a.sample, b.sample, compareRows, limit) };
  }
  if (a.form === 'grouped' && b.form === 'grouped') return mergeGrouped(a, b);
  throw new Error('partials of two forms have one specification');
}

function mergeGrouped(a: Grouped, b: Grouped): Grouped {
  const { kinds } = a;
  const [larger, smaller] = a.groups.size >= b.groups.size ? [a.groups, b.groups] : [b.groups, a.groups];
  const groups = new Map(larger);
  for (const [id, group] of smaller) {
    const known = groups.get(id);
    groups.set(id, known ? { id, ...mergeTotals(kinds, known, group) } : group);
  }
  const rest = a.rest && b.rest ? mergeRests(kinds, a.rest, b.rest) : (a.rest ?? b.rest);
  const below = a.below === undefined || (b.below !== undefined && b.below < a.below) ? b.below : a.below;
  const groupsMax = Math.min(a.groupsMax, b.groupsMax);
  return cut({ form: 'grouped', kinds, groupsMax, groups, ...(rest ? { rest } : {}) }, below);
}

/** Moves into the rest what does not lie below, and what is too many. */
function cut(content: Grouped & { groups: Map<string, SummaryGroup> }, below: string | undefined): Grouped {
  const { kinds, groups, groupsMax } = content;
  let bound = below;
  if (groups.size > groupsMax) {
    const first = [...groups.keys()].sort(compareText)[groupsMax]!;
    if (bound === undefined || first < bound) bound = first;
  }
  if (bound === undefined) return content;
  let { rest } = content;
  for (const group of [...groups.values()]) {
    if (group.id < bound) continue;
    groups.delete(group.id);
    const one = { rows: group.rows, cells: group.cells, groups: distinctOf(group.id) };
    rest = rest ? mergeRests(kinds, rest, one) : one;
  }
  return { ...content, below: bound, ...(rest ? { rest } : {}) };
}

function mergeRests(kinds: readonly CellKind[], a: Rest, b: Rest): Rest {
  return { ...mergeTotals(kinds, a, b), groups: mergeDistinct(a.groups, b.groups) };
}

interface Totals {
  readonly rows: number;
  readonly cells: readonly (Cell | undefined)[];
}

function mergeTotals(kinds: readonly CellKind[], a: Totals, b: Totals): Totals {
  return { rows: a.rows + b.rows, cells: kinds.map((kind, i) => mergeCells(kind, a.cells[i], b.cells[i])) };
}

export function compareErrors(a: RowError, b: RowError): number {
  return (
    compareText(a.path, b.path) ||
    compareText(a.object, b.object) ||
    compareText(a.field, b.field) ||
    compareText(a.message, b.message)
  );
}

function compareRows(a: SelectedRow, b: SelectedRow): number {
  return compareText(a.hash, b.hash);
}
