import { expect, test } from 'vitest';
import { remedyOf } from '../../../../../edge-agent/cluster/kubernetes/plain-messages.ts';

const failed = (code: string) => Object.assign(new Error(code), { code });

test('gives a remedy for a fault of network or certificates', () => {
  expect(remedyOf(failed('CERT_HAS_EXPIRED'))).toMatch(/renew it, or set the clock/);
  expect(remedyOf(failed('CERT_NOT_YET_VALID'))).toMatch(/set the clock/);
  expect(remedyOf(failed('ENOTFOUND'))).toMatch(/correct the address/);
});

test('explains the first of several attempts, and no unknown error', () => {
  expect(remedyOf(new AggregateError([failed('ECONNREFUSED'), failed('EHOSTUNREACH')]))).toMatch(/nothing listens/);
  for (const unknown of [new Error('a'), failed('constructor'), failed('EPIPE'), undefined, 'text', { code: 7 }]) {
    expect(remedyOf(unknown)).toBe('');
  }
});
