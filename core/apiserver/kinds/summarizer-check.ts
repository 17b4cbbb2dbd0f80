/** Checks of a StatusSummarizer that no schema can express: its expressions compile to the right types, and each column that it names exists exactly once. */
import { type CelProgram, type CelType, compileCel } from '../../match/cel/cel.ts';
import { CelError } from '../../match/cel/cel-error.ts';
import { stableStringify } from '../../object/canonical.ts';
import { duplicate, invalidField } from '../../object/field-error.ts';
import type { Cause } from '../../runtime/errors.ts';
import { suggest } from '../../runtime/suggest.ts';
import {
  type CombinedField,
  isNumeric,
  numericTypes,
  rowVariables,
  type SummarizerSpec,
  scalarTypes,
} from '../../summary/summarizer-spec.ts';
import { columnsOf, havingVariables } from '../../summary/summary-table.ts';

/** Returns no causes if the specification did not change. */
export function checkSummarizer(spec: SummarizerSpec, old: SummarizerSpec | undefined): Cause[] {
  if (old && stableStringify(old) === stableStringify(spec)) return [];
  const filter = expression('spec.filter', spec.filter, rowVariables, 'bool');
  const groups = (spec.groupBy ?? []).flatMap(({ def }, i) => scalar(`spec.groupBy[${i}].def`, def));
  const columns = (spec.select ?? []).flatMap(({ def }, i) => scalar(`spec.select[${i}].def`, def));
  const fields = (spec.combinedFields ?? []).flatMap((field, i) => checkField(field, `spec.combinedFields[${i}]`));
  return [...filter.causes, ...groups, ...columns, ...fields, ...checkNames(spec), ...checkHaving(spec)];
}

function checkField({ type, subject }: CombinedField, field: string): Cause[] {
  const { causes, program } = expression(`${field}.subject`, subject, rowVariables);
  if (!program || type === 'COUNT') return causes;
  const resultType = plainType(program);
  if (isNumeric(type) && !numericTypes.has(resultType)) {
    const remedy = resultType === 'bool' ? '; write: expression ? 1 : 0' : '';
    return [
      invalidField(`${field}.subject`, subject, `${type} needs a number, this is of type ${resultType}${remedy}`),
    ];
  }
  return isNumeric(type) || scalarTypes.has(resultType)
    ? causes
    : [
        invalidField(
          `${field}.subject`,
          subject,
          `${type} needs a text, a number, true or false; this is of type ${resultType}`,
        ),
      ];
}

function scalar(field: string, def: string): Cause[] {
  const { causes, program } = expression(field, def, rowVariables);
  if (!program || scalarTypes.has(plainType(program))) return causes;
  return [
    invalidField(field, def, `must be a text, a number, true, false or null; this is of type ${program.resultType}`),
  ];
}

/** The type of a result. For an optional value, the type is that of its inner value, because the result is this value or null. */
function plainType({ resultType }: CelProgram): string {
  return /^optional(?:_type)?<(.*)>$/.exec(resultType)?.[1] ?? resultType;
}

function checkNames(spec: SummarizerSpec): Cause[] {
  const causes: Cause[] = [];
  const seen = new Set<string>();
  for (const list of ['groupBy', 'combinedFields', 'select'] as const) {
    for (const [i, { name }] of (spec[list] ?? []).entries()) {
      if (seen.has(name)) causes.push(duplicate(`spec.${list}[${i}].name`, name));
      seen.add(name);
    }
  }
  for (const [i, { name }] of (spec.orderBy ?? []).entries()) {
    if (seen.has(name)) continue;
    const near = suggest(name, [...seen]);
    const meant = near === undefined ? `there are: ${[...seen].join(', ')}` : `did you mean ${JSON.stringify(near)}?`;
    causes.push(invalidField(`spec.orderBy[${i}].name`, name, `no column has this name; ${meant}`));
  }
  return causes;
}

function checkHaving(spec: SummarizerSpec): Cause[] {
  if (spec.having === undefined || columnsOf(spec).length === 0) return [];
  return expression('spec.having', spec.having, havingVariables(spec), 'bool').causes;
}

function expression(
  field: string,
  source: string | undefined,
  variables: Readonly<Record<string, CelType>>,
  result?: 'bool',
): { causes: Cause[]; program?: CelProgram } {
  if (source === undefined) return { causes: [] };
  try {
    return { causes: [], program: compileCel(source, variables, result) };
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    return { causes: [invalidField(field, source, `compilation failed: ${error.message}`)] };
  }
}
