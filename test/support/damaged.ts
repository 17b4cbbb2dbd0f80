/** Bytes with a few of them changed, taken out, doubled or cut off: what a peer may send that lies, or that is of another version. */
import fc from 'fast-check';

const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const blow = fc.record({
  kind: fc.constantFrom('set' as const, 'take' as const, 'insert' as const, 'cut' as const),
  at: place,
  // What a tag, a length or the bytes of a number are, most of all.
  byte: fc.oneof(fc.nat(255), fc.constantFrom(0, 1, 0x7f, 0x80, 0xff)),
});

export function damaged(bytes: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  return fc
    .tuple(bytes, fc.array(blow, { minLength: 1, maxLength: 3 }))
    .map(([whole, blows]) => blows.reduce<Buffer>(struck, whole));
}

function struck(bytes: Buffer, { kind, at, byte }: { kind: string; at: number; byte: number }): Buffer {
  const index = Math.floor(at * bytes.length);
  const before = bytes.subarray(0, index);
  if (kind === 'cut') return Buffer.from(before);
  const after = bytes.subarray(kind === 'insert' ? index : index + 1);
  return Buffer.concat(kind === 'take' ? [before, after] : [before, Buffer.of(byte), after]);
}
