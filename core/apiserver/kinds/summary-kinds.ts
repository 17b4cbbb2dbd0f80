/**
 * The kinds for summaries in edge.banyan.io. A StatusSummarizer is a user's question about the reported state of placed objects. A StatusSummary is the
 * answer.
 */

import { aggregateTypes, topValuesDefault } from '../../summary/summarizer-spec.ts';
import { errorsMax } from '../../summary/user-partial.ts';
import { groupsLimit, selectLimit } from '../../summary/user-partial-wire.ts';
import type { SchemaProps } from '../crd/definition.ts';
import { edgeGroup } from './edge-placement.ts';
import { boolean, definition, integer, list, listByKey, object, rule, string, time } from './schema-builders.ts';

/** A person can't compare more columns than this. */
const columnsMax = 16;

function columnName(description: string): SchemaProps {
  return string(description, { pattern: '^[A-Za-z_][A-Za-z0-9_]*$', maxLength: 63 });
}

function expression(description: string): SchemaProps {
  return string(description, { minLength: 1, maxLength: 4096 });
}

const named = (description: string, def: string) =>
  object(description, { name: columnName('The column.'), def: expression(def) }, { required: ['name', 'def'] });

const seen =
  'CEL over obj (the object as delivered), returned (with its status), inventory and propagation. The values of a Secret are null.';

const spec = object(
  'How the state of objects is summarized. There is one row for each object and destination. With combinedFields, the rows are counted in groups. With select, a sample of the rows is shown. Give one of the two.',
  {
    filter: expression(`Only rows for which the result is true are summarized. Left out: all rows. ${seen}`),
    groupBy: list(
      'Rows with the same values form one group. Left out: all rows are one group.',
      named('One value.', seen),
      {
        minItems: 1,
        maxItems: 8,
      },
    ),
    combinedFields: list(
      'The columns that are calculated for each group.',
      object(
        'One column.',
        {
          name: columnName('The column.'),
          type: string(
            'COUNT counts all rows or, with a subject, the rows in which the subject has a value. SUM, AVG, MIN, MAX and the percentiles P50, P90, P99 (within 1 %) need numbers. AVG divides by the number of rows with a value. DISTINCT counts different values (exact up to 511). TOPK lists the most frequent values (exact for up to 128 different values).',
            { enum: [...aggregateTypes] },
          ),
          subject: expression(
            `The value of a row. A row has no value if the result is null, or if a named field does not exist. ${seen}`,
          ),
          k: integer(`Number of values that TOPK lists. The default is ${topValuesDefault}.`, {
            minimum: 1,
            maximum: 100,
          }),
        },
        {
          required: ['name', 'type'],
          'x-kubernetes-validations': [
            {
              ...rule(
                "self.type == 'COUNT' || has(self.subject)",
                'a subject is needed; only COUNT works without one, and then counts rows',
              ),
              reason: 'FieldValueRequired',
              fieldPath: '.subject',
            },
          ],
        },
      ),
      { minItems: 1, maxItems: columnsMax },
    ),
    maxGroups: integer('Maximal number of groups at each level of the tree. The other groups become one, __other__.', {
      minimum: 1,
      maximum: groupsLimit,
      default: groupsLimit,
    }),
    select: list('Shows rows instead of counting them: the columns of each row.', named('One column.', seen), {
      minItems: 1,
      maxItems: columnsMax,
    }),
    limit: integer('For select: maximal number of rows. They are a uniform sample; total has the true number.', {
      minimum: 1,
      maximum: selectLimit,
      default: 20,
    }),
    having: expression(
      'For groups: only groups for which the result is true are shown. CEL over the columns. A column without a value is null.',
    ),
    orderBy: list(
      'The order of the shown rows. Rows that are equal in it are ordered by all columns from the left.',
      object(
        'One column.',
        {
          name: columnName('The column.'),
          descending: boolean('The greatest value comes first. A row without a value always comes last.'),
        },
        { required: ['name'] },
      ),
      { maxItems: columnsMax },
    ),
  },
  {
    'x-kubernetes-validations': [
      rule(
        'has(self.select) != has(self.combinedFields)',
        'give exactly one of select (rows are shown) and combinedFields (rows are counted)',
      ),
      {
        ...rule('!has(self.select) || !has(self.groupBy)', 'groupBy goes with combinedFields, not with select'),
        reason: 'FieldValueForbidden',
        fieldPath: '.groupBy',
      },
      {
        ...rule('!has(self.select) || !has(self.having)', 'having is for groups; with select, use spec.filter'),
        reason: 'FieldValueForbidden',
        fieldPath: '.having',
      },
    ],
  },
);

export const statusSummarizerDefinition = definition({
  group: edgeGroup,
  names: { plural: 'statussummarizers', kind: 'StatusSummarizer', shortNames: ['ssz'] },
  description:
    'Defines how the reported state of objects is summarized. An EdgePlacement uses it by its name in statusSummarizers of spec.downsync, spec.upsync or spec.associated. The result is the StatusSummary PLACEMENT.SUMMARIZER.',
  spec,
  root: { required: ['spec'] },
  columns: [
    { name: 'Filter', type: 'string', jsonPath: '.spec.filter' },
    { name: 'Groups', type: 'string', jsonPath: '.spec.groupBy[*].name' },
    { name: 'Fields', type: 'string', jsonPath: '.spec.combinedFields[*].name' },
    { name: 'Select', type: 'string', jsonPath: '.spec.select[*].name' },
  ],
});

// ---------------------------------------------------------------------------------------------------- the result

function count(description: string): SchemaProps {
  return integer(description, { minimum: 0 });
}

const completeness = object(
  'How many of the destinations the summary covers. fresh + stale + never + quarantined = expected.',
  {
    display: string('The same in one line, such as: 9,998/10,000 fresh (2 stale, oldest 4m)'),
    expected: count('Destinations that the placement matches.'),
    fresh: count('Destinations that are connected and have reported.'),
    stale: count('Destinations that are not connected now. Their last known rows are included.'),
    never: count('Destinations that have not reported yet. They have no rows.'),
    quarantined: count('Destinations with entries that they can not use.'),
    outdated: count(
      'Destinations whose rows are left out, because an older version of the summarizer still summarizes them.',
    ),
    oldestSince: time('When the destination that is stale for the longest time was last heard.'),
  },
);

/** A value of any type. A structural schema can't express this in another way. */
const value: SchemaProps = {
  description: 'A text, a number, true or false. null if there is no value. For TOPK a list of {value, count}.',
  nullable: true,
  'x-kubernetes-preserve-unknown-fields': true,
};

export const statusSummaryDefinition = definition({
  group: edgeGroup,
  names: { plural: 'statussummaries', kind: 'StatusSummary', shortNames: ['ss'] },
  description:
    'The reported state of the objects of one placement, summarized by one StatusSummarizer. Each node of the subtree writes it for the destinations below.',
  more: {
    placement: string('The EdgePlacement.'),
    summarizer: string('The StatusSummarizer.'),
    columns: listByKey(
      'The columns of a row.',
      ['name'],
      object(
        'One column.',
        {
          name: string('The name of the column in the summarizer.'),
          type: string('Integer, Number (a whole number, or the text of a decimal one), List, or Any.', {
            enum: ['Any', 'Integer', 'Number', 'List'],
          }),
        },
        { required: ['name', 'type'] },
      ),
    ),
    rows: list(
      'The result. The row with __other__ in its first column has all groups beyond the limit.',
      object(
        'One row.',
        { columns: list('The values, in the order of the columns.', value) },
        { required: ['columns'] },
      ),
    ),
    total: count('Number of summarized rows: objects at destinations that passed the filter.'),
    dropped: count('Number of groups in the row __other__ (beyond 511 an estimate, within some 4 %).'),
    errorBound: count(
      'Number of rows in the row __other__. No group that is not shown has more rows. Shown groups are exact.',
    ),
    rowErrors: object('Rows that are left out, because an expression failed for them.', {
      count: count('Number of these rows.'),
      sample: list(
        'Some of these rows.',
        object('One row.', {
          path: string('Path of the destination, such as eu:paris:store-17.'),
          object: string('The object, such as: deployments.apps shop/till'),
          field: string('The expression, such as: spec.filter'),
          message: string('The error.'),
        }),
        { maxItems: errorsMax },
      ),
    }),
    completeness,
    observedTime: time('When this summary changed last.'),
  },
  columns: [
    { name: 'Rows', type: 'integer', jsonPath: '.total' },
    { name: 'Of', type: 'string', jsonPath: '.completeness.display' },
    { name: 'Errors', type: 'integer', jsonPath: '.rowErrors.count' },
    { name: 'Observed', type: 'date', jsonPath: '.observedTime' },
    { name: 'Columns', type: 'string', jsonPath: '.columns[*].name', priority: 1 },
    { name: 'Values', type: 'string', jsonPath: '.rows[*].columns', priority: 1 },
  ],
});

export const summaryDefinitions = [statusSummarizerDefinition, statusSummaryDefinition];
