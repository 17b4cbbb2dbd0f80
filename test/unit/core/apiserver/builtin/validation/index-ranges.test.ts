import { expect, it } from 'vitest';
import { indexCount, sharedIndex } from '../../../../../../core/apiserver/builtin/validation/index-ranges.ts';

it.each([
  ['', 0],
  ['0,2-3', 3],
  ['3,1', 'non-increasing order, previous: 3, current: 1'],
  ['3-1', 'non-increasing order, previous: 3, current: 1'],
  ['9', 'too large index: "9"'],
  ['a', 'cannot convert string to integer for index: "a"'],
  [
    '1-2-3',
    'the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated by \'-\'',
  ],
])('%j names %j', (text, expected) => {
  expect(indexCount(text, 5)).toBe(expected);
});

it.each([
  ['0-2', '2,4', 2],
  ['0,4', '1-3', undefined],
  ['0,x,3', '3', 3],
  ['', '0', undefined],
])('%j and %j share %j', (a, b, expected) => {
  expect(sharedIndex(a, b, 5)).toBe(expected);
});
