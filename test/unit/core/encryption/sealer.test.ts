import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keyIdOf, Sealer } from '../../../../core/encryption/sealer.ts';
import { sealingKey } from '../../../../core/encryption/sealing-keys.ts';
import { systemRandom } from '../../../../core/runtime/random.ts';

const one = sealingKey(Buffer.alloc(32, 1));
const two = sealingKey(Buffer.alloc(32, 2));
const store = Buffer.alloc(16, 7);
const row = Buffer.from('row');
const clear = Buffer.from('a clear value');
const sealer = (...keys: (typeof one)[]) => new Sealer(store, keys, systemRandom);

describe('a sealed value', () => {
  it('opens as the bytes that were sealed, of any length', () => {
    const any = fc.uint8Array({ maxLength: 300 });
    fc.assert(
      fc.property(any, any, (key, value) => {
        const sealed = sealer(one).seal(key, value);
        expect(sealed.length).toBe(value.length + 40);
        expect(Buffer.compare(sealer(one).open(key, sealed), value)).toBe(0);
      }),
    );
  });

  it('names its key, and is different each time', () => {
    const [a, b] = [sealer(one).seal(row, clear), sealer(one).seal(row, clear)];
    expect(keyIdOf(a)).toBe(one.id);
    expect(Buffer.compare(a, b)).not.toBe(0);
    expect(Buffer.from(a).includes(clear)).toBe(false);
  });

  it('does not open in another row or another store', () => {
    const sealed = sealer(one).seal(row, clear);
    const message = 'a sealed value of the store was changed, or is not of its row';
    expect(() => sealer(one).open(Buffer.from('other'), sealed)).toThrow(message);
    expect(() => new Sealer(Buffer.alloc(16, 8), [one], systemRandom).open(row, sealed)).toThrow(message);
  });

  it('does not open after a change of any byte, and never as something else', () => {
    const sealed = sealer(one).seal(row, clear);
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at]! ^= 1;
      // A change of the first four bytes makes the value a clear one: the row is then rubbish for its reader.
      if (keyIdOf(changed) === undefined) expect(at).toBeLessThan(4);
      else expect(() => sealer(one).open(row, changed)).toThrow(expect.objectContaining({ code: 'StoreCorrupt' }));
    }
    for (const length of [24, 30, 39, sealed.length - 1])
      expect(() => sealer(one).open(row, sealed.subarray(0, length))).toThrow(/cut short|was changed/);
  });

  it('opens with every key that the sealer has, and is sealed with the first one', () => {
    const old = sealer(one).seal(row, clear);
    const both = sealer(two, one);
    expect(Buffer.from(both.open(row, old))).toEqual(clear);
    expect(keyIdOf(both.seal(row, clear))).toBe(two.id);
    expect(() => sealer(two).open(row, old)).toThrow(`a value of the store is sealed with the key ${one.id}`);
  });

  it('stays open for keys that a later key file has no more', () => {
    const changing = sealer(one);
    const old = changing.seal(row, clear);
    changing.use([two]);
    expect(changing.firstId).toBe(two.id);
    expect(Buffer.from(changing.open(row, old))).toEqual(clear);
  });
});

it('a clear value is returned as it is', () => {
  for (const value of [Buffer.of(), Buffer.of(0xff), Buffer.from('{}'), Buffer.alloc(100, 0xff)]) {
    expect(keyIdOf(value)).toBeUndefined();
    expect(sealer(one).open(row, value)).toBe(value);
  }
});
