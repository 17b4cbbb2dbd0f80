/** StatusSummarizer as code reads it; apiserver/kinds/summary-kinds.ts is the schema of the same. */

export interface SummarizerSpec {
  filter?: string;
  groupBy?: NamedExpression[];
  combinedFields?: CombinedField[];
  maxGroups: number;
  select?: NamedExpression[];
  limit: number;
  having?: string;
  orderBy?: { name: string; descending?: boolean }[];
}

export interface NamedExpression {
  name: string;
  def: string;
}

/** As many as a person reads. */
export const topValuesDefault = 10;

export interface CombinedField {
  name: string;
  type: AggregateType;
  subject?: string;
  /** Of TOPK: how many values; absent: topValuesDefault. */
  k?: number;
}

export const aggregateTypes = ['COUNT', 'SUM', 'AVG', 'MIN', 'MAX', 'DISTINCT', 'P50', 'P90', 'P99', 'TOPK'] as const;
export type AggregateType = (typeof aggregateTypes)[number];

/** What the expressions of a row see. */
export const rowVariables = {
  obj: 'dyn',
  returned: 'dyn',
  inventory: {
    fields: {
      name: 'string',
      path: 'string',
      labels: { map: 'string' },
      annotations: { map: 'string' },
      properties: { map: 'string' },
      syncTarget: 'dyn',
    },
  },
  propagation: {
    fields: {
      generation: 'int',
      current: 'bool',
      applied: 'bool',
      available: 'bool',
      failed: 'bool',
      reason: 'string',
      message: 'string',
    },
  },
} as const;

export type RowVariable = keyof typeof rowVariables;

/** Types that a number can be calculated from; `dyn` is found out row by row. */
export const numericTypes: ReadonlySet<string> = new Set([
  'dyn',
  'int',
  'uint',
  'double',
  'google.protobuf.Duration',
  'kubernetes.Quantity',
]);

/** Types of a value that has no parts: a column of a row, a key of a group. */
export const scalarTypes: ReadonlySet<string> = new Set([
  ...numericTypes,
  'string',
  'bool',
  'null',
  'google.protobuf.Timestamp',
]);

export function isNumeric(type: AggregateType): boolean {
  return type !== 'COUNT' && type !== 'DISTINCT' && type !== 'TOPK';
}
