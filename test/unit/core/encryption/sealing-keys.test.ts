import { describe, expect, it } from 'vitest';
import { formatKeys, newSealingKey, parseKeys, sealingKey } from '../../../../core/encryption/sealing-keys.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';

const key = (byte: number) => sealingKey(Buffer.alloc(32, byte));
const line = (byte: number, bytes = 32) => Buffer.alloc(bytes, byte).toString('base64');

describe('a key file', () => {
  it('has one key a line, with comments and empty lines between them', () => {
    expect(parseKeys(`# mine\n\n ${line(1)} \r\n${line(2)}`, 'keys')).toEqual([key(1), key(2)]);
  });

  it('is read as it was written', () => {
    const keys = [newSealingKey(new SeededRandom(1)), newSealingKey(new SeededRandom(2))];
    expect(parseKeys(formatKeys(keys), 'keys')).toEqual(keys);
  });

  it.each([
    ['', 'keys: has no key; write 32 random bytes in base64: openssl rand -base64 32'],
    ['# only words', 'keys: has no key;'],
    [`${line(1)}\nnot base64!`, 'keys: line 2 is no base64;'],
    [line(1, 31), 'keys: line 1 has 31 bytes, and a key has 32;'],
    [line(1, 64), 'keys: line 1 has 64 bytes, and a key has 32;'],
    [`${line(1)}\n${line(1)}`, 'keys: line 2 repeats a key; remove the line'],
    [Array.from({ length: 17 }, (_, i) => line(i)).join('\n'), 'keys: has 17 keys; keep at most 16'],
  ])('refuses %j', (text, message) => {
    expect(() => parseKeys(text, 'keys')).toThrow(message);
  });

  it('never shows what is in a wrong line', () => {
    const almost = `${line(7).slice(0, -2)}??`;
    expect(() => parseKeys(almost, 'keys')).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining(line(7).slice(0, 8)) }),
    );
  });
});

it('the id of a key follows from the key and does not show the key', () => {
  expect(key(1).id).toMatch(/^[0-9a-f]{16}$/);
  expect(key(1).id).toBe(key(1).id);
  expect(key(1).id).not.toBe(key(2).id);
});
