/** Rows and summarizers for tests: short to write, complete where it matters. */
import { celValue } from '../../../../core/match/cel/values.ts';
import { compileSummarizer, type Summarizer, type SummaryRow } from '../../../../core/summary/summarizer.ts';
import type { AggregateType, CombinedField, SummarizerSpec } from '../../../../core/summary/summarizer-spec.ts';
import { type SummaryTable, summaryTable } from '../../../../core/summary/summary-table.ts';
import { mergeUserPartials, type UserPartial } from '../../../../core/summary/user-partial.ts';

export interface RowGiven {
  readonly path: string;
  readonly object?: string;
  readonly obj?: unknown;
  readonly status?: unknown;
  readonly labels?: Record<string, string>;
  readonly failed?: boolean;
}

export function row({
  path,
  object = 'deployments.apps shop/till',
  obj = {},
  status,
  labels = {},
  failed = false,
}: RowGiven): SummaryRow {
  const variables = {
    obj: celValue(obj),
    returned: celValue(status === undefined ? {} : { status }),
    inventory: celValue({ name: path, path, labels, annotations: {}, properties: {}, syncTarget: {} }),
    propagation: celValue({
      generation: 1,
      current: true,
      applied: true,
      available: !failed,
      failed,
      reason: failed ? 'Broken' : '',
      message: '',
    }),
  };
  return { path, object, variable: (name) => variables[name] };
}

export function summarizer(spec: Partial<SummarizerSpec>): Summarizer {
  return compileSummarizer({ maxGroups: 1000, limit: 20, ...spec });
}

export function field(name: string, type: AggregateType, subject?: string, k = 10): CombinedField {
  return { name, type, k, ...(subject === undefined ? {} : { subject }) };
}

/** Merges by halves, as a tree of nodes does: many groups are then not copied for each row. */
export function fold(of: Summarizer, rows: readonly SummaryRow[]): UserPartial {
  if (rows.length <= 1) return (rows[0] && of.evaluate(rows[0])) ?? of.empty;
  const half = rows.length >> 1;
  return mergeUserPartials(fold(of, rows.slice(0, half)), fold(of, rows.slice(half)));
}

export function table(of: Summarizer, rows: readonly RowGiven[]): SummaryTable {
  return summaryTable(of, fold(of, rows.map(row)));
}

/** The columns of each row. */
export function lines(of: Summarizer, rows: readonly RowGiven[]): unknown[] {
  return table(of, rows).rows.map(({ columns }) => columns);
}
