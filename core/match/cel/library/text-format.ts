/** `format` of the strings library: texts with the verbs %s %d %f %e %b %o %x %X. */
import type { Environment } from '@marcbachmann/cel-js';
import { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { chargeText } from '../base/charge.ts';
import { definer } from './define.ts';
import { durationLiteral, timeText } from './times.ts';

export function addTextFormat(environment: Environment): void {
  definer(environment)('string.format(list): string', format);
}

/** `%.3f` sets the precision to 3. */
function format(text: string, args: unknown[]): string {
  let next = 0;
  return text.replace(/%(?:\.(\d{1,2}))?([a-zA-Z%])/g, (_, precision: string | undefined, verb: string) => {
    if (verb === '%') return '%';
    if (next >= args.length) throw new RangeError(`format has more verbs than its ${args.length} arguments`);
    const part = formatOne(verb, args[next++], precision === undefined ? 6 : Number(precision));
    chargeText(part.length);
    return part;
  });
}

function formatOne(verb: string, value: unknown, precision: number): string {
  switch (verb) {
    case 's':
      return typeof value === 'string'
        ? value
        : value instanceof Date || value instanceof Duration
          ? timeOf(value)
          : textOf(value);
    case 'd':
      return String(wholeOf(value));
    case 'f':
      return fixed(Number(value), precision);
    case 'e':
      return scientific(Number(value), precision);
    case 'b':
      return typeof value === 'boolean' ? (value ? '1' : '0') : wholeOf(value).toString(2);
    case 'o':
      return wholeOf(value).toString(8);
    case 'x':
    case 'X': {
      const isText = typeof value === 'string' || value instanceof Uint8Array;
      const hex = isText ? Buffer.from(value as string).toString('hex') : wholeOf(value).toString(16);
      return verb === 'x' ? hex : hex.toUpperCase();
    }
    default:
      throw new TypeError(`unrecognized formatting clause "${verb}"`);
  }
}

function wholeOf(value: unknown): bigint {
  if (typeof value === 'bigint') return value;
  if (value instanceof UnsignedInt) return value.value;
  throw new TypeError('an integer is needed here');
}

/** With commas between groups of three digits, as Go's package golang.org/x/text writes English. */
function fixed(value: number, precision: number): string {
  const [whole = '', fraction] = value.toFixed(precision).split('.');
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

const raised = '⁰¹²³⁴⁵⁶⁷⁸⁹';

/** `1.5 × 10⁰³`, with narrow spaces. */
function scientific(value: number, precision: number): string {
  const [, digits = '', sign = '', exponent = ''] = /^(.*)e([+-])(\d+)$/.exec(value.toExponential(precision)) ?? [];
  const power = [...exponent.padStart(2, '0')].map((digit) => raised[Number(digit)]).join('');
  return `${digits}\u202f×\u202f10${sign === '-' ? '⁻' : ''}${power}`;
}

function timeOf(value: Date | Duration): string {
  return value instanceof Date ? timeText(value) : durationLiteral(value);
}

/** The text of a value. Inside of lists and maps, texts are in quotes. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inside).join(', ')}]`;
  const entries = value instanceof Map ? [...value] : isPlain(value) ? Object.entries(value) : undefined;
  if (!entries) return String(value);
  return `{${entries
    .map(([key, item]) => `${inside(key)}:${inside(item)}`)
    .sort()
    .join(', ')}}`;
}

function inside(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') return value.toFixed(6);
  if (value instanceof Uint8Array) return `b${JSON.stringify(Buffer.from(value).toString())}`;
  if (value instanceof Date) return `timestamp(${JSON.stringify(timeText(value))})`;
  return value instanceof Duration ? `duration(${JSON.stringify(durationLiteral(value))})` : textOf(value);
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && value.constructor === Object;
}
