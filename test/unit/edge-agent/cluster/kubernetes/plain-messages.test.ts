import { expect, test } from 'vitest';
import { remedyOf } from '../../../../../edge-agent/cluster/kubernetes/plain-messages.ts';

const failed = (code: string) => Object.assign(new Error(code), { code });

test('says of a fault of network or certificates what may be done about it', () => {
  expect(remedyOf(failed('CERT_HAS_EXPIRED'))).toMatch(/renew it, or set the clock/);
  expect(remedyOf(failed('CERT_NOT_YET_VALID'))).toMatch(/set the clock/);
  expect(remedyOf(failed('ENOTFOUND'))).toMatch(/correct the address/);
});

test('of several attempts looks at the first, and says nothing of what it does not know', () => {
  expect(remedyOf(new AggregateError([failed('ECONNREFUSED'), failed('EHOSTUNREACH')]))).toMatch(/nothing listens/);
  for (const unknown of [new Error('a'), failed('constructor'), failed('EPIPE'), undefined, 'text', { code: 7 }]) {
    expect(remedyOf(unknown)).toBe('');
  }
});
