import { describe, expect, it } from 'vitest';
import { Feed, type Frame } from '../../../../core/wire/generated/mesh.ts';
import { beyond } from '../../../sim/check/frame-bounds.ts';
import { creditDefault, InFlight, messageMax, messagesMax } from '../../../sim/check/in-flight.ts';

function batch(to: number, bodies: readonly number[], ahead = false): Frame {
  const none = Buffer.alloc(0);
  const entries = bodies.map((bytes) => ({
    key: '',
    keyHash: none,
    revision: to,
    originRevision: 0,
    tombstone: false,
    attributes: none,
    body: Buffer.alloc(bytes),
    pieces: none,
  }));
  const value = { feed: Feed.FEED_UP, entries, from: 0, to, head: to, epoch: none, incarnation: none, ahead };
  return { frame: { $case: 'batch', value } };
}

describe('the bounds of a frame', () => {
  it('are those of the protocol page, to the byte', () => {
    expect(beyond(batch(1, [64 * 1024 - 64]))).toBeUndefined();
    expect(beyond(batch(1, [64 * 1024 - 63]))).toBe('65537 bytes of a batch, at most 65536');
    expect(beyond(batch(1, new Array<number>(512).fill(0)))).toBeUndefined();
    expect(beyond(batch(1, new Array<number>(513).fill(0)))).toBe('513 entries of a batch, at most 512');
    const census = (count: number): Frame => ({
      frame: { $case: 'census', value: { streams: new Array(count).fill(1) } },
    });
    expect([256, 257].map((count) => beyond(census(count)))).toEqual([
      undefined,
      '257 streams of a session, at most 256',
    ]);
  });
});

describe('what is in flight', () => {
  it('is reduced by acknowledgements in order, and by credit beside the order', () => {
    const flight = new InFlight();
    const half = (creditDefault + messageMax) / 2 - 64;
    expect([flight.sent(batch(1, [half])), flight.sent(batch(2, [half], true))]).toEqual([undefined, undefined]);
    expect(flight.sent(batch(3, [1]))).toMatch(/bytes in flight, at most/);
    flight.acknowledged(3);
    expect(flight.sent(batch(4, [half]))).toBeUndefined();
    flight.credited(half + 64);
    expect(flight.sent(batch(5, [half]))).toBeUndefined();
    expect(flight.sent(batch(6, [half]))).toMatch(/bytes in flight, at most/);
  });

  it('is limited to a number of messages, however small', () => {
    const flight = new InFlight();
    for (let i = 1; i <= messagesMax; i++) expect(flight.sent(batch(i, []))).toBeUndefined();
    expect(flight.sent(batch(65, []))).toBe('65 messages in flight, at most 64');
  });

  it('is limited to the peer’s credit', () => {
    const flight = new InFlight();
    flight.allowed(1);
    expect(flight.sent(batch(1, [messageMax]))).toMatch(/bytes in flight/);
  });
});
