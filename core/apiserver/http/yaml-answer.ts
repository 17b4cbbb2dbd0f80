/** Writes answers as YAML. Runs in the thread of body-thread.ts, unless the answer is short: the library writes some 2 MB a second. */
import { Scalar, stringify } from 'yaml';
import { BanyanError } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';

/** Characters of an answer, at most. Each level of a value indents all its lines: 1.5 MB of JSON with hundreds of levels would become hundreds of megabytes. */
export const yamlLengthMax = 8 * 1024 * 1024;
/** Columns of a level. */
const indent = 2;

/** The lists and the order of a Kubernetes API server, for readers of YAML 1.1 and of YAML 1.2. */
const style = {
  compat: 'yaml-1.1',
  aliasDuplicateObjects: false,
  indent,
  indentSeq: false,
  // A folded line would repeat its indentation every few characters, far to the right.
  lineWidth: 0,
  sortMapEntries: true,
} as const;

/** Throws TooLarge if the text may have more than `yamlLengthMax` characters. */
export function yamlText(answer: object): string {
  if (lengthOf(answer, 0) > yamlLengthMax) throw tooLongForYaml();
  const parts = Object.entries(answer)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => (Array.isArray(value) ? listText(name, value) : written({ [name]: value })));
  return parts.join('');
}

/** The library builds a tree of what it writes. The tree of one item after the other needs little memory, however long the list is. */
function listText(name: string, list: readonly unknown[]): string {
  const empty = written({ [name]: [] });
  if (list.length === 0) return empty;
  return `${empty.slice(0, -' []\n'.length)}\n${list.map((item) => written([item])).join('')}`;
}

function written(value: object): string {
  return stringify(value, (_name, field: unknown) => (isUnfitForBlock(field) ? quoted(field) : field), style);
}

/** A literal block loses spaces at its begin or end. */
function isUnfitForBlock(field: unknown): field is string {
  return typeof field === 'string' && field.includes('\n') && !/^\S(?:[\s\S]*[^ ])?$/.test(field);
}

function quoted(text: string): Scalar {
  const scalar = new Scalar(text);
  scalar.type = Scalar.QUOTE_DOUBLE;
  return scalar;
}

export function tooLongForYaml(): BanyanError {
  const remedy = 'list in chunks (limit), or accept application/json';
  return new BanyanError('TooLarge', `the answer has more than ${yamlLengthMax} characters as YAML: ${remedy}`);
}

/** About the length of the text: what makes a text long is the indentation of its lines. */
function lengthOf(value: unknown, level: number): number {
  const margin = (level + 1) * indent;
  if (typeof value === 'string') return value.length + margin * (value.split('\n').length + 1);
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + lengthOf(item, level + 1), margin);
  if (!isRecord(value)) return margin;
  return Object.entries(value).reduce((sum, [name, field]) => sum + name.length + lengthOf(field, level + 1), margin);
}
