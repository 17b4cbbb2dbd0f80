import { expect, it } from 'vitest';
import { sources } from './imports.ts';
import { allowedReasons, allowedSites, wayOfObjects } from './json-sites.ts';

const call = /\bJSON\.(?:stringify|parse)\b/g;

/** The number of uses of JSON.stringify and JSON.parse in each file on the way of a user's object. */
function usesOf(texts: ReadonlyMap<string, string>): Record<string, number> {
  const onTheWay = [...texts].filter(([file]) => wayOfObjects.test(file));
  const counted = onTheWay.map(([file, text]) => [file, [...withoutComments(text).matchAll(call)].length] as const);
  return Object.fromEntries(counted.filter(([, count]) => count > 0));
}

function withoutComments(text: string): string {
  const lines = text.split('\n');
  return lines.filter((line) => !/^\s*(\/\/|\/?\*)/.test(line)).join('\n');
}

it('JSON.stringify and JSON.parse see no value of a user: such a value takes jsonText, parseJson or stableStringify', () => {
  const allowed: Record<string, number> = {};
  for (const files of Object.values(allowedSites))
    for (const [file, count] of Object.entries(files)) allowed[file] = (allowed[file] ?? 0) + count;
  const uses = usesOf(sources());
  const beyond = Object.entries(uses).filter(([file, count]) => count > (allowed[file] ?? 0));
  const remedy = `give each further use a reason in json-sites.ts: ${Object.keys(allowedReasons).join(', ')}`;
  expect(Object.fromEntries(beyond), remedy).toEqual({});
  expect(Object.keys(allowed).filter((file) => uses[file] === undefined)).toEqual([]);
});

it('the rule finds a use, wherever it stands in a file on the way of objects, and not in a comment', () => {
  const texts = new Map([
    [
      'core/apiserver/x.ts',
      '/** As JSON.parse does. */\n * JSON.stringify\nconst a = [JSON.parse(b)].map(JSON.stringify);',
    ],
    ['center/cli/x.ts', 'JSON.parse(a);'],
  ]);
  expect(usesOf(texts)).toEqual({ 'core/apiserver/x.ts': 2 });
});
