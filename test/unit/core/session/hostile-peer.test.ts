import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FeedConsumer } from '../../../../core/feed/consumer.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { decodeFrame, encodeFrame } from '../../../../core/wire/codec/frames.ts';
import { Feed, Frame, Hello, PrefixAnswer_Kind } from '../../../../core/wire/generated/mesh.ts';
import { ReplayLink } from '../../../support/recorded-frames.ts';
import { content, SessionPair } from '../../../support/session-pair.ts';

/** Numbers at the limits of rows and the wire, and beyond. */
const number = fc.constantFrom(0, 1, 2, 7, 300, 2 ** 31, 2 ** 32, 2 ** 48 - 1, 2 ** 48, Number.MAX_SAFE_INTEGER);
const number32 = fc.constantFrom(0, 1, 2, 7, 300, 2 ** 31, 2 ** 32 - 1);
const bytes = fc.oneof(
  fc.constantFrom(0, 1, 15, 16, 17, 300).map((length) => Buffer.alloc(length, 0xff)),
  fc.constantFrom('a', 'b', 'k7').map((key) => Buffer.from(hash128(key))),
  fc.uint8Array({ maxLength: 20 }).map((value) => Buffer.from(value)),
);
/** Invalid contents, and one whose key is longer after decoding. */
const records = [
  Buffer.alloc(0),
  Buffer.from('x'),
  Buffer.from([0, 1, 0x61, 0, 0, 0, 9]),
  Buffer.from([0xff, 0xff, 0, 0, 0, 0]),
  Buffer.concat([Buffer.from([0xc3, 0x50]), Buffer.alloc(50_000, 0xff), Buffer.alloc(4)]),
].map((record) => ({ record, hash: Buffer.from(hash128(record)) }));
const someRecord = fc.constantFrom(...records);
const feed = fc.constantFrom(Feed.FEED_DOWN, Feed.FEED_DOWN, Feed.FEED_UP, Feed.FEED_UP, Feed.FEED_UNSPECIFIED);
const text = fc.constantFrom(
  '',
  'a',
  'b',
  'tree',
  'labels',
  'o/center.s//configmaps/n/x',
  'x'.repeat(3_000),
  '\u0000',
  'é',
);
const tuple = fc.option(fc.record({ epoch: bytes, incarnation: bytes, cursor: number, seenHead: number }), {
  nil: undefined,
});
const anyEntry = fc.record({
  keyHash: bytes,
  revision: number,
  originRevision: number,
  tombstone: fc.boolean(),
  key: text,
  attributes: bytes,
  body: bytes,
  pieces: fc.oneof(
    fc.constant(Buffer.alloc(0)),
    bytes,
    someRecord.map(({ hash }) => hash),
  ),
});
/** Valid except for its numbers and its contents. */
const ownEntry = fc.record({ key: text, revision: number, originRevision: number, attributes: bytes }).map((some) => ({
  ...some,
  keyHash: Buffer.from(hash128(some.key)),
  tombstone: false,
  body: Buffer.alloc(0),
  pieces: Buffer.alloc(0),
}));
const entry = fc.oneof({ weight: 2, arbitrary: ownEntry }, anyEntry);
const digits = fc.array(fc.nat(16), { maxLength: 3 }).map((list) => Buffer.from(list));
const eightBytes = fc.constantFrom(0, 8, 8, 9).map((length) => Buffer.alloc(length, 5));
const prefixParts = fc.constantFrom(0, 128, 128, 127).map((length) => Buffer.alloc(length, 6));
const prefixRows = fc.constantFrom(0, 30, 60, 31).map((length) => Buffer.alloc(length, 0x7f));
const answerKind = fc.constantFrom(
  PrefixAnswer_Kind.KIND_SAME,
  PrefixAnswer_Kind.KIND_SPLIT,
  PrefixAnswer_Kind.KIND_LIST,
  PrefixAnswer_Kind.KIND_UNSPECIFIED,
);
const hash = fc.constantFrom(0, 1, 0x7f, 0xff).map((byte) => Buffer.alloc(16, byte));
const few = <T>(one: fc.Arbitrary<T>) => fc.array(one, { maxLength: 4 });
const held = few(fc.record({ contentHash: bytes, bytes: number }));

const frames: { readonly [kind: string]: fc.Arbitrary<object> } = {
  hello: fc.record({
    versionMin: number32,
    versionMax: number32,
    path: fc.constantFrom('eu:kid', 'eu', ''),
    role: text,
    bootCounter: number,
    bootNonce: bytes,
    attachSequence: number,
    down: tuple,
    downCreditBytes: number,
    maxFrameBytes: number32,
    transport: fc.constantFrom('grpc', 'grpc', '', 'NO SUCH'),
    attachedNonce: bytes,
    held,
  }),
  welcome: fc.record({
    version: fc.constantFrom(0, 1, 1, 1, 2, 99),
    sessionSequence: number,
    up: tuple,
    upCreditBytes: number,
    downResumes: fc.boolean(),
    ready: fc.boolean(),
    held,
  }),
  retry: fc.record({ afterMs: number, reason: text, message: text }),
  resume: fc.record({ feed, resumes: fc.boolean(), epoch: bytes, incarnation: bytes }),
  batch: fc.record({
    feed,
    entries: few(entry),
    from: fc.oneof(fc.constant(0), number),
    to: number,
    head: fc.oneof(fc.constant(Number.MAX_SAFE_INTEGER), number),
    epoch: fc.oneof(hash, bytes),
    incarnation: bytes,
    ahead: fc.boolean(),
  }),
  piece: fc.oneof(
    fc.record({ feed, contentHash: bytes, offset: number, total: number, data: bytes }),
    fc.record({ feed, of: someRecord }).map(({ feed: of, of: { record, hash: contentHash } }) => ({
      ...{ feed: of, contentHash, offset: 0, total: record.length, data: record },
    })),
  ),
  ack: fc.record({ feed, cursor: number, epoch: bytes }),
  credit: fc.record({ stream: fc.constantFrom(0, 0, 1), feed, bytes: number }),
  beat: fc.record({
    head: number,
    ready: fc.boolean(),
    rootAgeMs: number,
    digest: fc.option(fc.record({ revision: number, count: number, sum: bytes }), { nil: undefined }),
  }),
  reconcileRequest: fc.record({
    feed,
    // More often frames that get an answer.
    round: fc.constantFrom(1, 1, 1, 2, 2, 3, 0),
    wanted: few(bytes),
    seed: fc.constantFrom(Buffer.alloc(8, 1), Buffer.alloc(0)),
    prefixes: few(fc.record({ prefix: digits, fingerprint: eightBytes })),
  }),
  reconcileReply: fc.record({
    feed,
    round: fc.nat(3),
    answers: few(fc.record({ kind: answerKind, parts: prefixParts, rows: prefixRows })),
    entries: few(entry),
    head: number,
    epoch: bytes,
    incarnation: bytes,
  }),
  open: fc.record({ stream: number, path: text, kind: text, deadlineMs: number, header: bytes }),
  reset: fc.record({ stream: number, code: number32, message: text }),
  census: fc.record({ streams: few(number) }),
  goodbye: fc.record({ reason: text, returnAfterMs: number }),
};

/** Numbers of the frames in proto/mesh.proto. */
const fieldOf: { readonly [kind: string]: number } = {
  hello: 1,
  welcome: 2,
  retry: 3,
  batch: 4,
  ack: 5,
  reconcileRequest: 6,
  reconcileReply: 7,
  open: 8,
  credit: 10,
  reset: 12,
  census: 13,
  beat: 14,
  goodbye: 15,
  resume: 16,
  piece: 18,
};

/** Missing fields have the values that the wire omits. */
const anyFrame = fc
  .oneof(
    // More often the frames with the largest effect.
    { weight: 5, arbitrary: fc.constant('batch') },
    { weight: 4, arbitrary: fc.constant('reconcileRequest') },
    { weight: 6, arbitrary: fc.constantFrom(...Object.keys(frames)) },
  )
  .chain((kind) => frames[kind]!.map((value) => frameOf(kind, value)));

function frameOf(kind: string, value: object): Frame {
  // The tag of the field, which takes two bytes from 16 on, and no content.
  const tag = (fieldOf[kind]! << 3) | 2;
  const blank = Frame.decode(tag < 128 ? Uint8Array.of(tag, 0) : Uint8Array.of((tag & 127) | 128, tag >> 7, 0));
  if (!blank.frame) throw new Error(`no frame ${kind}`);
  Object.assign(blank.frame.value, value);
  return blank;
}

const rows = 70;

/** From another producer: the peer has to reconcile, and gets answers. */
const elsewhere = { epoch: Buffer.alloc(16, 8), incarnation: Buffer.alloc(16, 9), cursor: 0, seenHead: 0 };

const goodHello = (): Frame => ({
  frame: {
    $case: 'hello',
    value: {
      ...Hello.decode(new Uint8Array(0)),
      versionMin: 1,
      versionMax: 1,
      path: 'eu:kid',
      role: 'agent',
      bootCounter: 1_800_000_000,
      bootNonce: Buffer.alloc(16, 7),
      down: elsewhere,
      transport: 'grpc',
    },
  },
});

const rowsOf = (pair: SessionPair, side: 'parent' | 'child', consumer: FeedConsumer) =>
  pair[side].store.read((reader) => [...consumer.rows(reader)].length);

describe('a peer that sends anything in any order', () => {
  it('as a child ends its session at most', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyFrame, { maxLength: 8 }), fc.boolean(), async (frames, shakesHands) => {
        const pair = new SessionPair();
        // More rows than one list has, so that prefixes are split.
        for (let i = 0; i < rows; i++) pair.put(`k${i}`, '1');
        const link = new ReplayLink({ path: 'eu:kid', role: 'agent' });
        const events = pair.parent.sessions.accept(link);
        for (const frame of shakesHands ? [goodHello(), ...frames] : frames) {
          if (link.closed === undefined) events.onFrame(frame);
          await pair.run(3);
        }
        events.onClose();
        expect(rowsOf(pair, 'parent', pair.parent.consumer)).toBeLessThanOrEqual(40);
        // The number of its frames is bounded by the number of requests.
        expect(link.sent.length).toBeLessThan(60);
        expect(pair.parent.store.read((reader) => pair.parent.producer.head(reader))).toBe(rows);
      }),
      { seed: 21, numRuns: 600 },
    );
  });

  it('as a parent ends its session at most', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyFrame, { maxLength: 8 }), fc.boolean(), async (frames, shakesHands) => {
        const pair = new SessionPair();
        pair.child.store.write((t) => pair.child.producer.put(t, content('labels', '{}'), 0));
        const links: ReplayLink[] = [];
        let end = () => {};
        pair.child.dialer.dial = async (events) => {
          const link = new ReplayLink({ path: 'eu', role: 'relay' });
          links.push(link);
          const welcome = frameOf('welcome', { version: 2, downResumes: true, ready: true, up: elsewhere });
          const all = shakesHands ? [welcome, ...frames] : frames;
          for (const [i, frame] of all.entries()) {
            pair.clock.after(i * 3, () => {
              if (link.closed === undefined) events.onFrame(frame);
            });
          }
          end = () => events.onClose();
          return link;
        };
        pair.child.session.start();
        await pair.run(40);
        end();
        expect(rowsOf(pair, 'child', pair.child.consumer)).toBeLessThanOrEqual(40);
        expect(links[0]!.sent.length).toBeLessThan(60);
        expect(pair.child.store.read((reader) => pair.child.producer.head(reader))).toBe(1);
      }),
      { seed: 22, numRuns: 1_500 },
    );
  });

  it('causes a typed error when its bytes are no frame', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
        try {
          decodeFrame(noise);
        } catch (error) {
          expect(error).toBeInstanceOf(BanyanError);
        }
      }),
      { seed: 23, numRuns: 2_000 },
    );
  });

  it('causes a typed error when bytes of a frame are changed', () => {
    fc.assert(
      fc.property(anyFrame, fc.nat(), fc.nat(255), (frame, at, value) => {
        const encoded = encodeFrame(frame);
        if (encoded.length > 0) encoded[at % encoded.length] = value;
        try {
          decodeFrame(encoded);
        } catch (error) {
          expect(error).toBeInstanceOf(BanyanError);
        }
      }),
      { seed: 24, numRuns: 2_000 },
    );
  });
});
