/** edge.banyan.io: what is to be known of the reported state of placed objects, and what is known. */

import { aggregateTypes, topValuesDefault } from '../../summary/summarizer-spec.ts';
import { errorsMax } from '../../summary/user-partial.ts';
import { groupsLimit, selectLimit } from '../../summary/user-partial-wire.ts';
import type { SchemaProps } from '../crd/definition.ts';
import { edgeGroup } from './edge-kinds.ts';
import { boolean, definition, integer, list, listByKey, object, rule, string, time } from './schema-builders.ts';

/** As many columns as a person compares. */
const columnsMax = 16;

function columnName(description: string): SchemaProps {
  return string(description, { pattern: '^[A-Za-z_][A-Za-z0-9_]*$', maxLength: 63 });
}

function expression(description: string): SchemaProps {
  return string(description, { minLength: 1, maxLength: 4096 });
}

const named = (description: string, def: string) =>
  object(description, { name: columnName('The column.'), def: expression(def) }, { required: ['name', 'def'] });

const seen = 'CEL over obj (the object as delivered), returned (with its status), inventory and propagation.';

const spec = object(
  'How the state of objects is summarized: one row for each object and destination, counted in groups or shown as a sample. Give either combinedFields or select.',
  {
    filter: expression(`Rows for which this is true are summarized, all if left out. ${seen}`),
    groupBy: list('Rows with the same values are one group; one group in all if left out.', named('One value.', seen), {
      minItems: 1,
      maxItems: 8,
    }),
    combinedFields: list(
      'What is calculated for each group.',
      object(
        'One column.',
        {
          name: columnName('The column.'),
          type: string(
            'COUNT counts rows, or those where the subject has a value. SUM, AVG, MIN, MAX and the percentiles P50, P90, P99 (within 1 %) are of numbers; AVG divides by the rows that have a value. DISTINCT counts different values (exact to 511), TOPK lists the most frequent ones (exact for 128 different ones).',
            { enum: [...aggregateTypes] },
          ),
          subject: expression(`The value; a row where it is null, or names what is not there, has none. ${seen}`),
          k: integer(`How many values TOPK lists; ${topValuesDefault} if left out.`, { minimum: 1, maximum: 100 }),
        },
        {
          required: ['name', 'type'],
          'x-kubernetes-validations': [
            {
              ...rule(
                "self.type == 'COUNT' || has(self.subject)",
                'a subject is needed; only COUNT does without: it counts rows',
              ),
              reason: 'FieldValueRequired',
              fieldPath: '.subject',
            },
          ],
        },
      ),
      { minItems: 1, maxItems: columnsMax },
    ),
    maxGroups: integer('Groups at each level of the tree, at most; the others are one, __other__.', {
      minimum: 1,
      maximum: groupsLimit,
      default: groupsLimit,
    }),
    select: list('Rows are shown, not counted: what of each.', named('One column.', seen), {
      minItems: 1,
      maxItems: columnsMax,
    }),
    limit: integer('Of select: rows that are shown, at most: a uniform sample, with the true total beside it.', {
      minimum: 1,
      maximum: selectLimit,
      default: 20,
    }),
    having: expression(
      'Of groups: those for which this is true are shown. CEL over the columns; a column without a value is null.',
    ),
    orderBy: list(
      'The order of what is shown; then by all columns from the left.',
      object(
        'One column.',
        {
          name: columnName('The column.'),
          descending: boolean('The greatest first. A row without a value comes last either way.'),
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
        'exactly one of select (rows are shown) and combinedFields (rows are counted) is needed',
      ),
      {
        ...rule('!has(self.select) || !has(self.groupBy)', 'groupBy goes with combinedFields, not with select'),
        reason: 'FieldValueForbidden',
        fieldPath: '.groupBy',
      },
      {
        ...rule('!has(self.select) || !has(self.having)', 'having is for groups; with select, say it in spec.filter'),
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
    'Says how the reported state of objects is summarized. Takes effect where an EdgePlacement names it in statusSummarizers of spec.downsync or spec.upsync; the result is the StatusSummary PLACEMENT.SUMMARIZER.',
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
  'Of how many of the destinations this is. fresh + stale + never + quarantined = expected.',
  {
    display: string('In a line, such as: 9,998/10,000 fresh (2 stale, oldest 4m)'),
    expected: count('Destinations that the placement matches.'),
    fresh: count('Those that are connected and have reported.'),
    stale: count('Those that are not connected now; their rows are the last that are known.'),
    never: count('Those that have not reported yet: they have no rows.'),
    quarantined: count('Those that have entries that they could not take.'),
    outdated: count(
      'Those whose rows are left out, since they are still summarized by an older version of the summarizer.',
    ),
    oldestAgeSeconds: count('How long the longest silent destination has been silent.'),
  },
);

/** One of any type: structural schemas have no other word for it. */
const value: SchemaProps = {
  description: 'A text, a number, true or false; null where there is none; for TOPK a list of {value, count}.',
  nullable: true,
  'x-kubernetes-preserve-unknown-fields': true,
};

export const statusSummaryDefinition = definition({
  group: edgeGroup,
  names: { plural: 'statussummaries', kind: 'StatusSummary', shortNames: ['ss'] },
  description:
    'The reported state of the objects of one placement, summarized by one StatusSummarizer. Written by the node, at each level of its subtree.',
  more: {
    placement: string('The EdgePlacement.'),
    summarizer: string('The StatusSummarizer.'),
    columns: listByKey(
      'What the columns of a row are.',
      ['name'],
      object(
        'One column.',
        {
          name: string('As the summarizer calls it.'),
          type: string('Integer, Number (a whole number, or the text of a decimal one), List, or Any.', {
            enum: ['Any', 'Integer', 'Number', 'List'],
          }),
        },
        { required: ['name', 'type'] },
      ),
    ),
    rows: list(
      'What was found. The row whose first column is __other__ has all groups beyond the limit.',
      object(
        'One row.',
        { columns: list('The values, in the order of the columns.', value) },
        { required: ['columns'] },
      ),
    ),
    total: count('Rows that were summarized: objects at destinations that passed the filter.'),
    dropped: count('Groups that are in the row __other__ (beyond 511 an estimate, within some 4 %).'),
    errorBound: count(
      'Rows in the row __other__: no group that is not shown has more. Groups that are shown are exact.',
    ),
    rowErrors: object('Rows that are left out, since an expression failed for them.', {
      count: count('How many.'),
      sample: list(
        'Some of them.',
        object('One.', {
          path: string('Of the destination, such as eu:paris:store-17.'),
          object: string('The object, such as: deployments.apps shop/till'),
          field: string('The expression, such as: spec.filter'),
          message: string('What went wrong.'),
        }),
        { maxItems: errorsMax },
      ),
    }),
    completeness,
    observedTime: time('When anything of this changed last.'),
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
