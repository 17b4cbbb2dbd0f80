import { describe, expect, it } from 'vitest';
import { sources } from './imports.ts';
import { lookupsInTables } from './tables.ts';

describe('tables by word', () => {
  it('are Maps, or asked by ownField: a word of a user may be the name of a member of every object', () => {
    const served = new Map([...sources()].filter(([file]) => /^core\/(access|apiserver)\//.test(file)));
    expect(served.size).toBeGreaterThan(200);
    expect(lookupsInTables(served).map(({ file, line, text }) => `${file}:${line}: ${text}`)).toEqual([]);
  });

  it('are found in the file itself and in the other files', () => {
    const own =
      'const sizes: Readonly<Record<string, number>> = {\n  a: 1,\n};\nexport const all: Record<string, number> = { a: 1 };\n';
    const lines = ['sizes[word]', 'sizes?.[word]', "sizes['a']", 'sizes[word] = 1;', 'other[word]', 'at.sizes[word]'];
    const found = lookupsInTables(
      new Map([
        ['one.ts', own + lines.join('\n')],
        ['two.ts', 'sizes[word]; all[word];'],
      ]),
    );
    expect(found.map(({ file, line }) => `${file}:${line}`)).toEqual(['one.ts:5', 'one.ts:6', 'two.ts:1']);
  });
});
