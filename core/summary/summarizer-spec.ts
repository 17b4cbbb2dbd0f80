/** StatusSummarizer as types. core/apiserver/kinds/summary-kinds.ts has its schema. */

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

/** As many values as a person reads. */
export const topValuesDefault = 10;

export interface CombinedField {
  name: string;
  type: AggregateType;
  subject?: string;
  /** Only for TOPK: how many values; absent: topValuesDefault. */
  k?: number;
}

export const aggregateTypes = ['COUNT', 'SUM', 'AVG', 'MIN', 'MAX', 'DISTINCT', 'P50', 'P90', 'P99', 'TOPK'] as const;
export type AggregateType = (typeof aggregateTypes)[number];

/** The variables of the expressions of a row. */
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

/** Types that convert to a number. The type `dyn` is decided for each row. */
export const numericTypes: ReadonlySet<string> = new Set([
  'dyn',
  'int',
  'uint',
  'double',
  'google.protobuf.Duration',
  'kubernetes.Quantity',
]);

/** Types of values without parts: a column of a row, a key of a group. */
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
