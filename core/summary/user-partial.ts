/**
 * The partial of a user-defined summary: the aggregated rows of a set of destinations. Two partials of disjoint sets of rows merge into the partial of both
 * sets together. The merge is associative, commutative and exact, so the order of merging does not matter.
 *
 * Bounds:
 * - Groups: at most `groupsMax`, those with the smallest hashes. All other groups are merged into `rest`. Each side keeps only groups with an id less than its
 *   `below`, and a merge uses the smaller `below` of both sides. So no part of a kept group was ever merged into `rest`, and the shown groups are exact.
 * - Rows of a selection: a sample of the rows with the smallest hashes.
 * - Errors: a count and a sample.
 */

import { compareText } from '../object/text-order.ts';
import { type Cell, type CellKind, mergeCells } from './cells.ts';
import { type Distinct, distinctOf, mergeDistinct } from './distinct.ts';
import { smallestOf } from './order.ts';

/** The value of one column. */
export type Scalar = string | number | boolean | null;

export interface UserPartial {
  /** Hash of the summarizer's specification. Only partials with the same hash may be merged. */
  readonly spec: string;
  /** Number of rows that passed the filter without an error. */
  readonly rows: number;
  readonly errors: RowErrors;
  /** Number of destinations whose rows are left out, because their part of the tree has another version of the summarizer. */
  readonly outdated: number;
  readonly content: Grouped | SelectedRows;
}

export interface RowErrors {
  readonly count: number;
  /** The first errors in the order of `compareErrors`, at most `errorsMax`. */
  readonly sample: readonly RowError[];
}

export interface RowError {
  /** Path of the destination's agent: `eu:paris:store-17`. */
  readonly path: string;
  /** `deployments.apps shop/till` */
  readonly object: string;
  /** Field of the summarizer: `spec.combinedFields[1].subject`. */
  readonly field: string;
  readonly message: string;
}

export interface Grouped {
  readonly form: 'grouped';
  /** The kinds of the cells, in their order. They are the same in all groups. */
  readonly kinds: readonly CellKind[];
  readonly groupsMax: number;
  /** Groups, keyed by `SummaryGroup.id`. */
  readonly groups: ReadonlyMap<string, SummaryGroup>;
  /** Groups with this id or a greater one are in `rest`. Absent: all groups are kept. */
  readonly below?: string;
  readonly rest?: Rest;
}

export interface SummaryGroup {
  /** The hash of the key, then the key: JSON of the values. */
  readonly id: string;
  readonly rows: number;
  readonly cells: readonly (Cell | undefined)[];
}

export interface Rest {
  readonly rows: number;
  readonly cells: readonly (Cell | undefined)[];
  /** The hashes of the groups in `rest`, to count these groups. */
  readonly groups: Distinct;
}

export interface SelectedRows {
  readonly form: 'selected';
  readonly limit: number;
  /** Sorted by hash. */
  readonly sample: readonly SelectedRow[];
}

export interface SelectedRow {
  /** Hash of the row's name. So the sample is uniform and does not depend on the values of the rows. */
  readonly hash: string;
  readonly values: readonly Scalar[];
}

/** Limit for the sample of errors: more than a person reads. It limits the size of a StatusSummary for any number of failing rows. */
export const errorsMax = 10;
/** Length of the hash before the key in the id of a group. */
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

/** Returns the partial with fewer groups. Used for a partial that is too large to send. */
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
    const before = groups.get(id);
    groups.set(id, before ? { id, ...mergeTotals(kinds, before, group) } : group);
  }
  const rest = a.rest && b.rest ? mergeRests(kinds, a.rest, b.rest) : (a.rest ?? b.rest);
  const below = a.below === undefined || (b.below !== undefined && b.below < a.below) ? b.below : a.below;
  const groupsMax = Math.min(a.groupsMax, b.groupsMax);
  return cut({ form: 'grouped', kinds, groupsMax, groups, ...(rest ? { rest } : {}) }, below);
}

/** Moves groups into `rest`: groups whose id is not less than `below`, and groups that exceed `groupsMax`. */
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
