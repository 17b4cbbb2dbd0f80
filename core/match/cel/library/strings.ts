/** The strings library of Kubernetes: version 2 of the extension of cel-go (ext.Strings), without `format` (text-format.ts) and regular expressions. */
import type { Environment } from '@marcbachmann/cel-js';
import { chargeText } from '../base/charge.ts';
import { definer } from './define.ts';
import { namespace } from './namespaces.ts';

export function addStrings(environment: Environment): void {
  const define = definer(environment);
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
  define('string.lowerLatin(): string', (text: string) => text.replace(/[A-Z]+/g, (part) => part.toLowerCase()));
  define('string.upperLatin(): string', (text: string) => text.replace(/[a-z]+/g, (part) => part.toUpperCase()));
  define(`${namespace('strings')}.quote(string): string`, (_, text: string) => `"${text.replace(special, escaped)}"`);
}

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

const escapes: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};
// biome-ignore lint/suspicious/noControlCharactersInRegex: `quote` escapes them.
const special = /[\u0007\b\f\n\r\t\v\\"]/g;

function escaped(character: string): string {
  return escapes[character] ?? character;
}
