import { expect, it } from 'vitest';
import { Novelty } from '../../../../edge-agent/apply/novelty.ts';

function after(...found: ('new' | 'there')[]): boolean {
  const novelty = new Novelty();
  for (const one of found) novelty.note(one === 'new');
  return novelty.isLikely;
}

const times = (count: number, found: 'new' | 'there') => Array.from({ length: count }, () => found);

it('treats an object as new until most former ones existed already', () => {
  expect(after()).toBe(true);
  expect(after('there', 'there', 'there')).toBe(true);
  expect(after(...times(4, 'there'))).toBe(false);
  expect(after('there', 'new', 'there', 'new', 'there', 'new', 'there', 'new', 'there')).toBe(true);
});

it('remembers only the last few, either way', () => {
  expect(after(...times(2_000, 'new'), ...times(4, 'there'))).toBe(false);
  expect(after(...times(2_000, 'there'), ...times(4, 'new'))).toBe(false);
  expect(after(...times(2_000, 'there'), ...times(5, 'new'))).toBe(true);
});
