import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { filesIn, flawsOf, scriptsIn } from './named.ts';

const pages = globSync(['*.md', 'docs/**/*.md', '{core,relay,edge-agent,center,deploy,test}/**/README.md']).sort();
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
const textOf = (page: string) => readFileSync(page, 'utf8');

describe('a page', () => {
  it('is found in every folder', () => {
    expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/contributing.md', 'core/entries/README.md']));
  });

  it.each(pages)('names only files and npm scripts that are there: %s', (page) => {
    expect(flawsOf(page, textOf(page), new Set(Object.keys(scripts)))).toEqual([]);
  });

  it('on contributing names many of both', () => {
    const page = 'docs/contributing.md';
    expect(filesIn(page, textOf(page)).length).toBeGreaterThan(40);
    expect(scriptsIn(textOf(page))).toEqual(expect.arrayContaining(['check', 'generate', 'sim', 'test']));
  });
});

describe('the check of a page', () => {
  const page = [
    'See [the wire](protocol.md#links), [a site](https://example.com/docs/x.md) and core/prose.ts.',
    'The room `core/feed/` has `core/feed/feed.ts`; `deploy/till` is an object, `test/long/*.test.ts` are many.',
    '```sh',
    'npm run check && npm test -- test/e2e/tree.test.ts   # or npm ci',
    '```',
  ].join('\n');

  it('takes paths from code, links, and npm scripts', () => {
    expect(filesIn('docs/page.md', page)).toEqual([
      'core/feed/',
      'core/feed/feed.ts',
      'test/e2e/tree.test.ts',
      'docs/protocol.md',
    ]);
    expect(scriptsIn(page)).toEqual(['check', 'test']);
  });

  it('names what is missing', () => {
    expect(flawsOf('docs/page.md', '`core/gone.ts`, `npm run gone`, [gone](gone.md)', new Set(['check']))).toEqual([
      'core/gone.ts is not there: name the file that does this now',
      'docs/gone.md is not there: name the file that does this now',
      'package.json has no script "gone"',
    ]);
  });
});
