import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { describe, expect, it } from 'vitest';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { decodeFrame, maxFrameBytes } from '../../../../../core/wire/codec/frames.ts';

/** One part that is repeated until the frame is full, within the fields around it, outermost first. */
function full(path: readonly number[], part: Uint8Array = new Uint8Array(0)): Uint8Array {
  const one = new BinaryWriter().tag(path.at(-1)!, WireType.LengthDelimited).bytes(part).finish();
  const room = maxFrameBytes - 64;
  let inner: Uint8Array = Buffer.concat(Array(Math.floor(room / one.length)).fill(one));
  for (const field of path.slice(0, -1).reverse())
    inner = new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(inner).finish();
  return inner;
}

const refusal = (bytes: Uint8Array): unknown => {
  try {
    decodeFrame(bytes);
  } catch (error) {
    return error;
  }
};

describe('a frame of 4 MiB', () => {
  it.each([
    ['entries of a batch', [4, 2], 'batch has more than 512 entries'],
    ['batches', [4], 'the frame has more than 1 batch'],
    ['prefixes that are asked for', [6, 4], 'reconcile_request has more than 256 prefixes'],
    ['keys that are wanted', [6, 5], 'reconcile_request has more than 256 wanted'],
    ['answers', [7, 3], 'reconcile_reply has more than 256 answers'],
    ['entries of a reply', [7, 4], 'reconcile_reply has more than 256 entries'],
    ['contents that are held', [1, 14], 'hello has more than 32 held'],
    ['tuples', [2, 3], 'welcome has more than 1 up'],
    ['groups', [8, 7], 'open has more than 256 groups'],
    ['watermarks', [14, 6], 'beat has more than 4096 watermarks'],
    ['certificates', [17, 2, 3], 'hello has more than 5 certificates'],
    ['contents that a sealed hello says are held', [17, 2, 1, 14], 'sealed hello has more than 32 held'],
    ['contents that a sealed welcome says are held', [17, 3, 1, 12], 'sealed welcome has more than 32 held'],
    ['sealed hellos', [17, 2, 1], 'hello has more than 1 sealed hello'],
  ])('of empty %s alone is refused before they are decoded', (_what, path, message) => {
    const before = process.memoryUsage().heapUsed;
    expect(refusal(full(path))).toMatchObject({ code: 'Protocol', message: expect.stringContaining(message) });
    // Each part would take half a kilobyte, and there are two million of them.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(200 * 1024 * 1024);
  });

  it('of certificates behind a sealed hello that claims their bytes is refused', () => {
    const certificates = full([3]);
    const claim = new BinaryWriter().tag(1, WireType.LengthDelimited).uint32(certificates.length).finish();
    const body = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(claim).finish();
    let inner: Uint8Array = Buffer.concat([body, certificates]);
    for (const field of [2, 17]) inner = new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(inner).finish();
    expect(refusal(inner)).toMatchObject({ code: 'Protocol', message: 'sealed hello ends within one of its fields' });
  });

  it('of packed stream ids is refused by its length', () => {
    const ids = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(new Uint8Array(4_000_000)).finish();
    const frame = new BinaryWriter().tag(13, WireType.LengthDelimited).bytes(ids).finish();
    expect(refusal(frame)).toMatchObject({ message: expect.stringContaining('more than 256 streams') });
  });

  it('of groups within groups is refused', () => {
    const groups = Buffer.alloc(maxFrameBytes, (19 << 3) | WireType.StartGroup);
    expect(refusal(groups)).toBeInstanceOf(BanyanError);
  });

  it('of one entry with a large body is read', () => {
    const entry = new BinaryWriter().tag(7, WireType.LengthDelimited).bytes(new Uint8Array(3_000_000)).finish();
    const batch = new BinaryWriter().tag(2, WireType.LengthDelimited).bytes(entry).finish();
    const { frame } = decodeFrame(new BinaryWriter().tag(4, WireType.LengthDelimited).bytes(batch).finish());
    expect(frame?.$case === 'batch' && frame.value.entries[0]?.body.length).toBe(3_000_000);
  });

  it('of unknown fields is ignored', () => {
    expect(decodeFrame(full([1000]))).toEqual({ frame: undefined });
  });
});
