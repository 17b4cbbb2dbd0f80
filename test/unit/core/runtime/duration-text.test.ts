import { expect, it } from 'vitest';
import { durationText } from '../../../../core/runtime/duration-text.ts';

it.each([
  [4999.996129499999, '5 s'],
  [1500, '1.5 s'],
  [61_000, '61 s'],
  [250.4, '250 ms'],
])('%d ms are %s', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});
