/** The pages about the configuration of a node: every field is described. Their generator writes them from the code that checks the configuration. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const page = (name: string) => readFileSync(join(import.meta.dirname, '../../../docs/reference', name), 'utf8');
const rows = (name: string) =>
  page(name)
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
/** Fields whose names say everything: parts of a pair, of a selector, of a kind. */
const obvious = /\.(cert|key|name|type|operator|values|matchLabels|matchExpressions|path|stdout|resources|namespace)`$/;

it.each(['node.md', 'agent.md'])('%s describes every field', (name) => {
  const all = rows(name);
  expect(all.length).toBeGreaterThan(50);
  const undescribed = all.filter(([field = '', , , words]) => words === '' && !obvious.test(field));
  expect(undescribed.map(([field]) => field)).toEqual([]);
});

it('has the forms in which a node gets its certificates', () => {
  const fields = rows('node.md').map(([field]) => field);
  for (const field of ['`pki.ca`', '`pki.joinToken`', '`pki.tree`', '`spaces[].name`', '`children.named.NAME.quota`']) {
    expect(fields).toContain(field);
  }
});
