import { describe, expect, it } from 'vitest';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { describeUnexpected } from '../../../../core/runtime/unexpected-error.ts';

const pin = 'hunter2';

/** The error of the engine for what a program does with a value. */
function errorOf(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error('the act has to fail');
}

describe('an error that the program did not expect', () => {
  it.each<[string, () => unknown]>([
    ['JSON.parse', () => JSON.parse(pin)],
    ['BigInt', () => BigInt(pin)],
    ['RegExp', () => new RegExp(`(${pin}`)],
    ['in', () => 'a' in (pin as unknown as object)],
    ['a field of a text', () => Object.assign(pin as unknown as object, { 0: 'x' })],
    ['an argument of Node', () => Buffer.alloc(pin as unknown as number)],
    ['an encoding of Node', () => Buffer.from('', pin as BufferEncoding).toString(pin as BufferEncoding)],
    ['a thrown text', () => throwing(pin)],
  ])('says nothing of the value: %s', (_, act) => {
    const { reason, stack = '' } = describeUnexpected(errorOf(act));
    expect(`${reason}\n${stack}`).not.toContain(pin);
  });

  it('says the class, the code and the place', () => {
    const { reason, stack } = describeUnexpected(errorOf(() => Buffer.alloc(pin as unknown as number)));
    expect(reason).toBe('TypeError [ERR_INVALID_ARG_TYPE]: the message may quote data and is left out');
    expect(stack).toMatch(/^TypeError.*left out\n {4}at /);
    expect(stack).toContain('unexpected-error.test.ts:');
  });

  it.each<[string, string]>([
    ['a message of the program', 'the chain of entries is broken'],
    ['a message of several lines', 'one\ntwo'],
  ])('keeps %s', (_, message) => {
    expect(describeUnexpected(new Error(message)).reason).toBe(message);
    expect(describeUnexpected(new BanyanError('Internal', message)).reason).toBe(message);
  });

  it('keeps a message of the engine that has no data', () => {
    const nothing = undefined as unknown as { a: { b(): void } };
    const empty = {} as unknown as typeof nothing;
    const reasons = [() => nothing.a, () => empty.a.b(), () => (empty.a as unknown as () => void)()];
    expect(reasons.map((act) => describeUnexpected(errorOf(act)).reason)).toEqual([
      "TypeError: Cannot read properties of undefined (reading 'a')",
      "TypeError: Cannot read properties of undefined (reading 'b')",
      'TypeError: empty.a is not a function',
    ]);
  });
});

function throwing(value: unknown): never {
  throw value;
}
