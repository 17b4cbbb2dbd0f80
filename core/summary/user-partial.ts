/**
 * The partial of a summary that a user defines: the aggregated rows of some destinations. The partials of disjoint sets of rows merge into the partial of the
 * union. The merge is associative, commutative and exact, so any tree of merges equals a fold over the rows.
 *
 * Bounds:
 * - Groups: at most `groupsMax`, those with the smallest hashes. All other groups are merged into `rest`. A group that is kept was never merged into `rest`
 *   anywhere: `below` is the hash up to which groups are kept, and a merge uses the lower bound of both sides. So the groups that are shown are exact.
 * - Rows of a selection: a sample, by the smallest hashes.
 * - Errors: a count and a sample.
 */

import { compareText } from '../object/text-order.ts';
import { type Cell, type CellKind, mergeCells } from './cells.ts';
import { type Distinct, distinctOf, mergeDistinct } from './distinct.ts';
import { smallestOf } from './order.ts';

/** The value of a column of a row. */
export type Scalar = string | number | boolean | null;

export interface UserPartial {
  /** Hash of the summarizer's specification. Partials with different hashes do not merge. */
  readonly spec: string;
  /** Rows that passed the filter and had no error. */
  readonly rows: number;
  readonly errors: RowErrors;
  /** Destinations whose rows are left out, because their part of the tree has another version of the summarizer. */
  readonly outdated: number;
  readonly content: Grouped | SelectedRows;
}

export interface RowErrors {
  readonly count: number;
  /** The smallest errors, at most `errorsMax`. */
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
  /** The kinds of the cells; the same for each group. */
  readonly kinds: readonly CellKind[];
  readonly groupsMax: number;
  /** By `Group.id`. */
  readonly groups: ReadonlyMap<string, SummaryGroup>;
  /** Groups with ids from here on are in `rest`; absent: all groups are kept. */
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
  /** The groups in `rest`, for the count of different groups. */
  readonly groups: Distinct;
}

export interface SelectedRows {
  readonly form: 'selected';
  readonly limit: number;
  /** Sorted by hash. */
  readonly sample: readonly SelectedRow[];
}

export interface SelectedRow {
  /** Hash of the row's name, so that the sample is uniform, whatever the rows hold. */
  readonly hash: string;
  readonly values: readonly Scalar[];
}

/** Bounds the size of a StatusSummary for any number of failing rows. More than a person reads. */
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

/** The partial with fewer groups, for a partial that is too large to send. */
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

/** Moves groups into `rest`: those from `below` on, and those beyond `groupsMax`. */
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
