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

/** Number of values of TOPK if the field has no `k`: as many as a person reads. */
export const topValuesDefault = 10;

export interface CombinedField {
  name: string;
  type: AggregateType;
  subject?: string;
  /** Only for TOPK: the number of values. Absent: topValuesDefault. */
  k?: number;
}

export const aggregateTypes = ['COUNT', 'SUM', 'AVG', 'MIN', 'MAX', 'DISTINCT', 'P50', 'P90', 'P99', 'TOPK'] as const;
export type AggregateType = (typeof aggregateTypes)[number];

/** The variables of expressions that are evaluated for each row. */
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

/** Types that can be converted to a number. A value of type `dyn` is checked for each row. */
export const numericTypes: ReadonlySet<string> = new Set([
  'dyn',
  'int',
  'uint',
  'double',
  'google.protobuf.Duration',
  'kubernetes.Quantity',
]);

/** Types of values that may be a column of a row or a part of the key of a group. */
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
