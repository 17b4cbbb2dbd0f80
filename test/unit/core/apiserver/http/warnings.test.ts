import { expect, it } from 'vitest';
import { warned } from '../../../../../core/apiserver/http/warnings.ts';

const headersOf = (texts: readonly string[]) => warned(texts).warning ?? [];

it('a long warning is shown whole, and each one once', () => {
  const long = 'x'.repeat(300);
  expect(headersOf([long, long, 'b'])).toEqual([`299 - "${long}"`, '299 - "b"']);
});

it('warnings that are too long together are cut, and the rest is left out', () => {
  const texts = Array.from({ length: 100 }, (_, i) => `${String(i).padStart(3, '0')}${'x'.repeat(1000)}`);
  const headers = headersOf(texts);
  expect(headers).toHaveLength(16);
  for (const header of headers) expect(header).toHaveLength('299 - ""'.length + 256);
});

it('a character outside ASCII becomes an escape', () => {
  expect(headersOf(['"ä"'])).toEqual(['299 - "\\"\\u00e4\\""']);
});
