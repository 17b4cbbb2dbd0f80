/** Reads the configuration of a node: one YAML file, checked as a whole. */

import { readFileSync } from 'node:fs';
import type * as z from 'zod';
import { BanyanError, describeError } from './errors.ts';
import { isRecord } from './is-record.ts';
import { checkSchema, fieldOf, type SchemaProblem } from './schema-problems.ts';
import { type FileProblem, formatProblem, parseYamlFile, type YamlText } from './yaml-text.ts';

/** Throws BadRequest that names the file and the reason. */
export function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new BanyanError('BadRequest', `${file}: can't be read: ${describeError(error)}`, {}, { cause: error });
  }
}

/**
 * Throws BadRequest with a line for each problem: the file, the line, the field, the value and a remedy. `noun`: what the file should be. `check`: what a schema
 * can't see, such as files that are named.
 */
export function parseConfig<T>(
  text: string,
  file: string,
  schema: z.ZodType<T>,
  noun: string,
  check: (value: T) => readonly SchemaProblem[] = () => [],
): T {
  const parsed = parseYamlFile(text);
  if ('problems' in parsed) throw badFile(file, parsed.problems);
  const checked = checkSchema(schema, parsed.value.value);
  const problems = 'value' in checked ? check(checked.value) : checked.problems;
  if ('value' in checked && problems.length === 0) return checked.value;
  throw badFile(file, fileProblems(problems, parsed.value, noun));
}

/** More would not help a person. To find the line of a field takes a search in its map, so all problems of a map with many keys would take minutes. */
const problemsMax = 100;

/** `noun`: what the file should be, such as `topology`. */
export function fileProblems(
  problems: readonly SchemaProblem[],
  { value, lineOf }: YamlText,
  noun: string,
): FileProblem[] {
  if (value === null) return [{ field: '', message: 'the file is empty' }];
  if (!isRecord(value)) return [{ field: '', message: `the file is no ${noun}: write a map (key: value)` }];
  const shown = problems.slice(0, problemsMax).map((problem) => located(problem, lineOf));
  const more = problems.length - shown.length;
  return more > 0 ? [...shown, { field: '', message: `${more} more problems like these` }] : shown;
}

export function located({ path, message }: SchemaProblem, lineOf: YamlText['lineOf']): FileProblem {
  const line = lineOf(path);
  return { field: fieldOf(path), message, ...(line === undefined ? {} : { line }) };
}

/** The error with all problems of the file, one a line. */
export function badFile(file: string, problems: readonly FileProblem[]): BanyanError {
  return new BanyanError('BadRequest', problems.map((problem) => formatProblem(file, problem)).join('\n'));
}
