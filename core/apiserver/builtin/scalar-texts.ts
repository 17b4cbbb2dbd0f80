/** The texts that Go's decoder turns into values of other types: amounts, bytes, times. What it can't read would break every typed list of the kind. */

import { parseQuantity } from '../../match/cel/base/quantity.ts';
import { ownField } from '../../object/json-value.ts';

/** The expression of the message, with one way to match each text: a second way would take quadratic time for a long text. */
const amount = /^[+-]?[0-9.]+((?:[eEinumkKMGTP]+[-+]?|[-+])[0-9]*)?$/;

/** The mistake in a text of this format, in the words of Go. Undefined: there is none, or the format has no texts of its own. */
export function textMistake(format: string, text: string): string | undefined {
  switch (format) {
    case 'quantity':
      return quantityMistake(text.trim());
    case 'byte':
      return base64Mistake(text);
    case 'date-time':
      return timeMistake(text, secondsLayout);
    case 'micro-time':
      return timeMistake(text, microsLayout);
    default:
      return undefined;
  }
}

function quantityMistake(text: string): string | undefined {
  const parts = amount.exec(text);
  if (!parts) {
    return "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  }
  if (parseQuantity(text)) return undefined;
  const [, suffix = ''] = parts;
  const digits = text.slice(0, text.length - suffix.length);
  return parseQuantity(digits) ? "unable to parse quantity's suffix" : 'unable to parse numeric part of quantity';
}

/** Ends of lines may be anywhere, as in Go. */
function base64Mistake(text: string): string | undefined {
  let count = 0;
  for (let i = 0; i < text.length; i++) {
    const character = text[i]!;
    if (character === '\n' || character === '\r') continue;
    if (/[A-Za-z0-9+/]/.test(character)) {
      count += 1;
      continue;
    }
    const rest = text.slice(i).replaceAll(/[\r\n]/g, '');
    const isPadding = (count % 4 === 2 && rest === '==') || (count % 4 === 3 && rest === '=');
    return isPadding ? undefined : `illegal base64 data at input byte ${paddingByte(text, i, count, rest)}`;
  }
  return count % 4 === 0 ? undefined : `illegal base64 data at input byte ${text.length - (count % 4)}`;
}

/** Go names the byte after a padding that is too short, and the first byte after one that is too long. */
function paddingByte(text: string, at: number, count: number, rest: string): number {
  if (!rest.startsWith('=') || count % 4 < 2) return at;
  if (count % 4 === 3) return at + 1;
  return rest.length === 1 ? text.length : rest[1] === '=' ? at + 2 : at + 1;
}

/** Each part of a layout, and what Go accepts for it. The first part that does not fit is named. */
type Layout = readonly (readonly [part: string, form: RegExp])[];

const date: Layout = [
  ['2006', /^\d{4}/],
  ['-', /^-/],
  ['01', /^\d\d/],
  ['-', /^-/],
  ['02', /^\d\d/],
  ['T', /^T/],
  ['15', /^\d\d/],
  [':', /^:/],
  ['04', /^\d\d/],
  [':', /^:/],
];
const zone = ['Z07:00', /^(Z|[+-]\d\d:\d\d)/] as const;
const secondsLayout: Layout = [...date, ['05', /^\d\d([.,]\d+)?/], zone];
const microsLayout: Layout = [...date, ['05', /^\d\d/], ['.000000', /^[.,]\d{6}/], zone];
const ranges: Readonly<Record<string, readonly [min: number, max: number, name: string]>> = {
  '01': [1, 12, 'month'],
  '02': [1, 31, 'day'],
  '15': [0, 23, 'hour'],
  '04': [0, 59, 'minute'],
  '05': [0, 59.999_999_999, 'second'],
};

/** Number of characters of a text that a message shows. A text may be as large as an object. */
const shownCharactersMax = 128;

function quoted(text: string): string {
  return JSON.stringify(text.length <= shownCharactersMax ? text : `${text.slice(0, shownCharactersMax)}…`);
}

/** A time as nearly all objects have it. Only its day may be out of range. */
const usualTime =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?<micros>\.\d{6})?Z$/;

function timeMistake(text: string, layout: Layout): string | undefined {
  const usual = usualTime.exec(text);
  const isUsual = usual && (layout === secondsLayout || usual.groups?.micros !== undefined);
  if (isUsual && hasDay(text)) return undefined;
  const of = `parsing time ${quoted(text)}`;
  const form = layout.map(([part]) => part).join('');
  let rest = text;
  for (const [part, pattern] of layout) {
    const found = pattern.exec(rest)?.[0];
    if (found === undefined) {
      return `${of} as ${JSON.stringify(form)}: cannot parse ${quoted(rest)} as ${JSON.stringify(part)}`;
    }
    const [min = 0, max = Infinity, name] = ownField(ranges, part) ?? [];
    const value = Number(found.replace(',', '.'));
    if (name !== undefined && (value < min || value > max)) return `${of}: ${name} out of range`;
    rest = rest.slice(found.length);
  }
  if (rest !== '') return `${of}: extra text: ${quoted(rest)}`;
  return hasDay(text) ? undefined : `${of}: day out of range`;
}

/** Whether the month of the time has its day. */
function hasDay(time: string): boolean {
  const [year = 0, month = 0, day = 0] = time.slice(0, 10).split('-').map(Number);
  return new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day;
}
