import { describe, expect, it } from 'vitest';
import { sources } from './imports.ts';
import { ambiguousNames, definitionsOf } from './names.ts';

/** Names that two files may define, with the reason. The list may only shrink: a name leaves it when one of the two gets a name of its own. */
const allowedNames: Readonly<Record<string, string>> = {
  object:
    'kinds/schema-builders.ts builds schemas of every JSON type and names each builder as the type; entry-kinds.ts reads the other one as `down.object` only.',
};

const texts = sources();
const nameOf = (line: string) => line.slice(0, line.indexOf(':'));

describe('exported names', () => {
  it('are all found', () => {
    expect(definitionsOf(texts).size).toBeGreaterThan(1000);
  });

  it('mean one thing each: one file defines a name', () => {
    expect(ambiguousNames(texts).filter((line) => !allowedNames[nameOf(line)])).toEqual([]);
  });

  it('are in the list of exceptions only while two files define them', () => {
    const found = ambiguousNames(texts).map(nameOf);
    expect(Object.keys(allowedNames).filter((name) => !found.includes(name))).toEqual([]);
  });
});

describe('the check of names', () => {
  it('finds every kind of definition, and a name that one file has several times only once', () => {
    const text = [
      'export interface One {}',
      'export abstract class Two {}',
      'export async function three() {}',
      'export const four = 4;',
      'export type Four = typeof four;',
      'export type One = 1;',
      "export { five } from './five.ts';",
      'const six = 6;',
    ].join('\n');
    expect([...definitionsOf(new Map([['a.ts', text]])).keys()]).toEqual(['One', 'Two', 'three', 'four', 'Four']);
  });

  it('finds a name that two files define', () => {
    const files = new Map([
      ['a.ts', 'export type Held = 1;\nexport const one = 1;\n'],
      ['b.ts', 'export interface Held {}\n'],
    ]);
    expect(ambiguousNames(files)).toEqual(['Held: a.ts, b.ts']);
  });
});
