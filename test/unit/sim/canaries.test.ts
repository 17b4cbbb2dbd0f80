import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { canaryNames } from '../../sim/canaries/canaries.ts';

it('each canary has a row in the table of its folder, with the run that found it', () => {
  const readme = readFileSync('test/sim/canaries/README.md', 'utf8');
  const rows = [...readme.matchAll(/^\| `([a-z-]+)` +\| +\d+ \| \S/gm)].map(([, name]) => name);
  expect(rows.sort()).toEqual(canaryNames().sort());
});
