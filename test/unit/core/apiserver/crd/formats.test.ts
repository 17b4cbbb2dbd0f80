import { expect, it } from 'vitest';
import { formatCheck } from '../../../../../core/apiserver/crd/formats.ts';

it.each(['1h30m', '1.5h', '1.s', '.5ms', '-0', '+2us'])('takes %s for a duration', (text) => {
  expect(formatCheck('duration')!(text)).toBe(true);
});

it('refuses a text of the maximum length as a duration in a short time', () => {
  for (const text of ['1'.repeat(1_000_000), `1.${'1'.repeat(1_000_000)}`, `${'1s'.repeat(500_000)}1`]) {
    expect(formatCheck('duration')!(`${text}x`)).toBe(false);
  }
});
