import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { circlesOf, foldersOf, importsOf, pairsOf, sources } from './imports.ts';
import { namedIn } from './readmes.ts';

/** Two folders that import each other, `a <-> b`, with the reason. The list may only shrink: to remove a pair, move the code that both need below both. */
const allowedPairs: Readonly<Record<string, string>> = {};

/** Files of one circle, with the reason. */
const allowedCircles: readonly { readonly files: readonly string[]; readonly why: string }[] = [];

const texts = sources();
const files = importsOf(texts);

describe('rooms', () => {
  it('are all found', () => {
    expect(texts.size).toBeGreaterThan(500);
    expect([...foldersOf(files).keys()]).toEqual(
      expect.arrayContaining(['core/feed', 'relay/schedule', 'edge-agent/apply']),
    );
  });

  it('import each other in one direction only', () => {
    const pairs = pairsOf(files).filter(({ folders }) => !allowedPairs[folders.join(' <-> ')]);
    expect(pairs).toEqual([]);
  });

  it('are in the list of pairs only while they import each other', () => {
    const found = pairsOf(files).map(({ folders }) => folders.join(' <-> '));
    expect(Object.keys(allowedPairs).filter((pair) => !found.includes(pair))).toEqual([]);
  });

  it.runIf(Object.keys(allowedPairs).length === 0)('do not reach themselves through other rooms either', () => {
    expect(circlesOf(foldersOf(files))).toEqual([]);
  });
});

it('the rooms of a relay import only rooms that are above them in its README', () => {
  const order = namedIn(readFileSync('relay/README.md', 'utf8')).filter((name) => name.endsWith('/'));
  const roomOf = (folder: string) => /^relay\/([^/]+)/.exec(folder)?.[1];
  const below = [...foldersOf(files)].flatMap(([from, imported]) =>
    [...imported]
      .map((to) => [roomOf(from), roomOf(to)] as const)
      .filter(([a, b]) => a !== undefined && b !== undefined && order.indexOf(`${b}/`) > order.indexOf(`${a}/`))
      .map(([a, b]) => `${a} imports ${b}`),
  );
  expect(below).toEqual([]);
});

it('rooms other than the assembly use replicas only through the port', () => {
  const seen = [...files].flatMap(([file, imported]) =>
    /^relay\/(replicas|node)\//.test(file) ? [] : [...imported].filter((to) => to.startsWith('relay/replicas/')),
  );
  expect(new Set(seen)).toEqual(new Set(['relay/replicas/replicas.ts']));
});

it('files import each other in no circle, except the listed ones', () => {
  expect(circlesOf(files)).toEqual(allowedCircles.map((circle) => circle.files));
});

describe('the check of imports', () => {
  const program = importsOf(
    new Map([
      ['a/one.ts', "import { two } from '../b/two.ts';\nimport './other.ts';\n"],
      ['a/other.ts', "import type { Far } from '../c/far.ts';\nimport { readFile } from 'node:fs';\n"],
      ['b/two.ts', "export * from './lower.ts';\ntype One = import('../a/one.ts').One;\n"],
      ['b/lower.ts', "import { gone } from '../a/gone.ts';\n"],
      ['c/far.ts', "const { two } = await import('../b/two.ts');\n"],
    ]),
  );

  it('finds every kind of import of an existing file', () => {
    expect(Object.fromEntries([...program].map(([file, to]) => [file, [...to]]))).toEqual({
      'a/one.ts': ['b/two.ts', 'a/other.ts'],
      'a/other.ts': ['c/far.ts'],
      'b/two.ts': ['b/lower.ts', 'a/one.ts'],
      'b/lower.ts': [],
      'c/far.ts': ['b/two.ts'],
    });
  });

  it('finds folders that import each other, with the imports, and circles through others', () => {
    expect(pairsOf(program)).toEqual([
      { folders: ['a', 'b'], imports: ['a/one.ts -> b/two.ts', 'b/two.ts -> a/one.ts'] },
    ]);
    expect(circlesOf(foldersOf(program))).toEqual([['a', 'b', 'c']]);
    expect(circlesOf(program)).toEqual([['a/one.ts', 'a/other.ts', 'b/two.ts', 'c/far.ts']]);
  });

  it('finds no circle if several ways lead to one room', () => {
    const imports = new Map([
      ['a', new Set(['b', 'c'])],
      ['b', new Set(['d'])],
      ['c', new Set(['b', 'd'])],
      ['d', new Set<string>()],
    ]);
    expect(circlesOf(imports)).toEqual([]);
  });
});
