/**
 * Functions that Kubernetes adds to the language: for strings, lists, regular expressions, quantities, and `format`.
 * https://kubernetes.io/docs/reference/using-api/cel/#cel-options-language-features-and-libraries
 */
import { Environment } from '@marcbachmann/cel-js';
import { UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { chargeText } from './budget.ts';
import { compilePattern, type Pattern } from './pattern.ts';
import { parseQuantity, Quantity } from './quantity.ts';

const sync = { async: false } as const;

export const baseEnvironment = new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false });

function define(signature: string, handler: (...args: never[]) => unknown): void {
  baseEnvironment.registerFunction(signature, handler as (...args: unknown[]) => unknown, sync);
}

// ------------------------------------------------------------------------------------------------ strings

define('string.charAt(int): string', (text: string, index: bigint) => {
  if (index < 0n || index > BigInt(text.length)) throw new RangeError(`index out of range: ${index}`);
  return text.charAt(Number(index));
});
define('string.replace(string, string): string', (text: string, old: string, by: string) => {
  chargeText(occurrences(text, old) * by.length);
  return text.replaceAll(old, () => by);
});
define('string.replace(string, string, int): string', (text: string, old: string, by: string, limit: bigint) => {
  chargeText(occurrences(text, old) * (by.length + 1));
  const parts = text.split(old);
  const count = limit < 0n ? parts.length : Number(limit);
  return parts.reduce((whole, part, index) => whole + (index <= count ? by : old) + part);
});
define('list<string>.joinTexts(): string', (texts: string[]) => joined(texts, ''));
define('list<string>.joinTexts(string): string', joined);
define('string.reverse(): string', (text: string) => [...text].reverse().join(''));
define('string.format(list): string', format);

function occurrences(text: string, old: string): number {
  if (old === '') return text.length + 1;
  let count = 0;
  for (let at = text.indexOf(old); at >= 0; at = text.indexOf(old, at + old.length)) count++;
  return count;
}

function joined(texts: string[], separator: string): string {
  let characters = separator.length * texts.length;
  for (const text of texts) {
    if (typeof text !== 'string') throw new TypeError('string.join(): list must contain only strings');
    characters += text.length;
  }
  chargeText(characters);
  return texts.join(separator);
}

// -------------------------------------------------------------------------------------------------- lists

type Ordered = bigint | number | string | boolean | Date;

define('list.isSorted(): bool', (list: Ordered[]) =>
  list.every((item, index) => index === 0 || list[index - 1]! <= item),
);
define('list.sum(): dyn', (list: (bigint | number)[]) => {
  let sum = list[0] ?? 0n;
  for (const item of list.slice(1))
    sum = typeof sum === 'bigint' && typeof item === 'bigint' ? sum + item : Number(sum) + Number(item);
  return sum;
});
define('list.min(): dyn', (list: Ordered[]) => first(list, 'min', (a, b) => a < b));
define('list.max(): dyn', (list: Ordered[]) => first(list, 'max', (a, b) => a > b));
define('list.indexOf(dyn): int', (list: unknown[], item: unknown) => BigInt(list.indexOf(item)));
define('list.lastIndexOf(dyn): int', (list: unknown[], item: unknown) => BigInt(list.lastIndexOf(item)));

/** The first item in the order of `isBefore`. */
function first(list: Ordered[], name: string, isBefore: (a: Ordered, b: Ordered) => boolean): Ordered {
  const [head, ...rest] = list;
  if (head === undefined) throw new RangeError(`${name} called on empty list`);
  let found = head;
  for (const item of rest) if (isBefore(item, found)) found = item;
  return found;
}

// ------------------------------------------------------------------------------------- regular expressions

/** Limit for the cache of compiled patterns. Most patterns are literals of rules, but an expression can also make any number of patterns at run time. */
const patternsMax = 256;
const patterns = new Map<string, Pattern>();

function patternOf(source: string): Pattern {
  let pattern = patterns.get(source);
  if (!pattern) {
    pattern = compilePattern(source);
    if (patterns.size >= patternsMax) patterns.clear();
    patterns.set(source, pattern);
  }
  return pattern;
}

define('string.matchesPattern(string): bool', (text: string, source: string) => patternOf(source).test(text));
define('matches(string, string): bool', (text: string, source: string) => patternOf(source).test(text));

// --------------------------------------------------------------------------------------------- quantities

baseEnvironment.registerType('kubernetes.Quantity', Quantity);

const q = 'kubernetes.Quantity';
define(`quantity(string): ${q}`, (text: string) => {
  const quantity = parseQuantity(text);
  if (!quantity) throw new TypeError(`not a quantity: ${text}`);
  return quantity;
});
define('isQuantity(string): bool', (text: string) => parseQuantity(text) !== undefined);
define(`${q}.sign(): int`, (a: Quantity) => (a.nanos > 0n ? 1n : a.nanos < 0n ? -1n : 0n));
define(`${q}.isInteger(): bool`, (a: Quantity) => a.nanos % nanosPerUnit === 0n);
define(`${q}.asInteger(): int`, (a: Quantity) => {
  if (a.nanos % nanosPerUnit !== 0n) throw new RangeError('cannot convert value to integer');
  return a.nanos / nanosPerUnit;
});
define(`${q}.asApproximateFloat(): double`, (a: Quantity) => Number(a.nanos) / 1e9);
define(`${q}.add(${q}): ${q}`, (a: Quantity, b: Quantity) => new Quantity(a.nanos + b.nanos));
define(`${q}.add(int): ${q}`, (a: Quantity, b: bigint) => new Quantity(a.nanos + b * nanosPerUnit));
define(`${q}.sub(${q}): ${q}`, (a: Quantity, b: Quantity) => new Quantity(a.nanos - b.nanos));
define(`${q}.sub(int): ${q}`, (a: Quantity, b: bigint) => new Quantity(a.nanos - b * nanosPerUnit));
define(`${q}.isLessThan(${q}): bool`, (a: Quantity, b: Quantity) => a.nanos < b.nanos);
define(`${q}.isGreaterThan(${q}): bool`, (a: Quantity, b: Quantity) => a.nanos > b.nanos);
define(`${q}.compareTo(${q}): int`, (a: Quantity, b: Quantity) =>
  a.nanos < b.nanos ? -1n : a.nanos > b.nanos ? 1n : 0n,
);
baseEnvironment.registerOperator(`${q} == ${q}`, (a: Quantity, b: Quantity) => a.nanos === b.nanos);

const nanosPerUnit = 1_000_000_000n;

// ------------------------------------------------------------------------------------------------- format

/** Formats a text with the verbs %s %d %f %e %b %o %x %X of the strings extension. `%.3f` sets the precision to 3. */
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
      return textOf(value);
    case 'd':
      return String(wholeOf(value));
    case 'f':
      return Number(value).toFixed(precision);
    case 'e':
      return Number(value)
        .toExponential(precision)
        .replace(/e([+-])(\d)$/, 'e$10$2');
    case 'b':
      return typeof value === 'boolean' ? (value ? '1' : '0') : wholeOf(value).toString(2);
    case 'o':
      return wholeOf(value).toString(8);
    case 'x':
    case 'X': {
      const hex = typeof value === 'string' ? Buffer.from(value).toString('hex') : wholeOf(value).toString(16);
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

function textOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(textOf).join(', ')}]`;
  if (value instanceof Map)
    return `{${[...value]
      .map(([key, item]) => `${textOf(key)}: ${textOf(item)}`)
      .sort()
      .join(', ')}}`;
  if (value instanceof Date) return value.toISOString().replace('.000Z', 'Z');
  return String(value);
}
