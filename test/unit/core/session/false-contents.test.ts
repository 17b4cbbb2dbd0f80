import { describe, expect, it } from 'vitest';
import { write } from '../../../protocol/bytes.ts';
import { hash } from '../../../protocol/rows.ts';
import { OneSide, type Side } from '../../../support/one-side.ts';
import { epoch, frameOf, framesFor } from '../../../support/sent-frames.ts';

const incarnation = Buffer.alloc(16, 0xbb);
const u16 = (value: number) => Buffer.of(value >> 8, value & 255);
const none = Buffer.alloc(4);

/** Contents for which a peer can give the right hash, with any other data. */
const records: { readonly [what: string]: Buffer } = {
  'nothing at all': Buffer.alloc(0),
  'one byte': Buffer.of(1),
  'a key that is not there': Buffer.concat([u16(300), none]),
  'attributes that are not there': Buffer.concat([u16(1), Buffer.from('x'), Buffer.alloc(4, 0xff)]),
  'a key of 60,000 bytes': Buffer.concat([u16(60_000), Buffer.alloc(60_000, 'k'), none]),
  'a key of 60,000 bytes, longer as text': Buffer.concat([u16(60_000), Buffer.alloc(60_000, 0xff), none]),
  'a short key that is no text': Buffer.concat([u16(3), Buffer.alloc(3, 0xff), none]),
};

type Fields = Parameters<typeof write>;
/** The frames that name the content, after those with the given `kind`. */
const ways: { readonly [way: string]: { kind: string; frames(entry: Buffer, item: Buffer): [number, Fields][] } } = {
  'a batch': {
    kind: 'batch',
    frames: (entry) => [
      [
        4,
        [
          [2, [entry]],
          [4, 2],
          [5, 2],
        ],
      ],
    ],
  },
  'a batch ahead': {
    kind: 'batch',
    frames: (entry) => [
      [
        4,
        [
          [2, [entry]],
          [3, 1],
          [4, 2],
          [5, 2],
          [8, true],
        ],
      ],
    ],
  },
  'a reply': {
    kind: 'reconcile_reply',
    frames: (entry, item) => {
      const list = write([1, 3], [3, item]);
      return [
        [
          7,
          [
            [2, 1],
            [3, [list]],
            [5, 2],
          ],
        ],
        [
          7,
          [
            [2, 2],
            [4, [entry]],
            [5, 2],
          ],
        ],
      ];
    },
  },
};
const sides: readonly Side[] = ['parent', 'child'];
const cases = sides.flatMap((side) =>
  Object.keys(ways).flatMap((way) => Object.keys(records).map((what) => ({ side, way, what }))),
);

describe('an invalid content in pieces', () => {
  it.each(cases)('ends the session of a $side that finds $what where $way names it', async ({ side, way, what }) => {
    const one = new OneSide(side);
    const record = records[what]!;
    const feed = side === 'parent' ? 2 : 1;
    // Decoding a key that is no text gives another key.
    const key = hash(record.subarray(2, -4).toString());
    const { kind, frames } = ways[way]!;
    for (const frame of framesFor(side, one).find((sent) => sent.kind === kind)!.before) await one.receive(frame);
    if (record.length > 0)
      await one.receive(frameOf(18, write([1, feed], [2, hash(record)], [4, record.length], [5, record])));
    const entry = write([1, key], [2, 2], [3, 3], [8, hash(record)]);
    const sent = frames(entry, Buffer.concat([key, Buffer.alloc(8, 1), Buffer.alloc(6)]));
    let before = '';
    for (const [number, fields] of sent) {
      expect(one.outcome).toBe('goes on');
      before = one.dump();
      await one.receive(frameOf(number, write([1, feed], ...fields, [6, epoch], [7, incarnation])));
    }
    expect(one.outcome).toBe('ends Protocol');
    expect(one.link.closed).toContain(`a content of ${record.length} bytes`);
    expect(one.dump()).toBe(before);
  });
});
