/** The promises of core/wire/link.ts, on every implementation. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BanyanError } from '../../core/runtime/errors.ts';
import { encodeFrame, maxFrameBytes } from '../../core/wire/codec/frames.ts';
import type { Accept, Link } from '../../core/wire/link.ts';
import { beat, data, dataOfFrameBytes, LinkLog, sequenceOf } from '../support/link-log.ts';
import { child as childIdentity, makers, parent as parentIdentity, type TestLine } from './support/links.ts';

interface End {
  readonly link: Link;
  readonly log: LinkLog;
}

const dialWithinMs = 10_000;
const ends = [['child'], ['parent']] as const;
const other = { child: 'parent', parent: 'child' } as const;

describe.each(makers)('a link over $name', ({ name, open }) => {
  let line: TestLine;
  let accept: Accept;
  let accepted: End[];

  beforeEach(async () => {
    accepted = [];
    accept = (link) => {
      const log = new LinkLog();
      accepted.push({ link, log });
      return log;
    };
    line = await open((link) => accept(link));
  });
  afterEach(() => line[Symbol.asyncDispose]());

  async function connect(): Promise<Record<'child' | 'parent', End>> {
    const log = new LinkLog();
    const link = await line.dialer.dial(log, dialWithinMs);
    return { child: { link, log }, parent: accepted.at(-1)! };
  }

  /** Both ends received one close event, last, and receive nothing more when everything is over. */
  async function expectEnded(pair: Record<'child' | 'parent', End>): Promise<void> {
    const all = [pair.child, pair.parent];
    await Promise.all(all.map(({ log }) => log.closed()));
    for (const { link } of all) expect(link.send(beat(99))).toBe(false);
    await line[Symbol.asyncDispose]();
    for (const { log } of all) {
      expect(log.closes).toHaveLength(1);
      expect(log.order.indexOf('close')).toBe(log.order.length - 1);
    }
  }

  describe('once it is made', () => {
    it('reports the identity of the peer on each side', async () => {
      const { child, parent } = await connect();
      expect(child.link.peer).toMatchObject(parentIdentity);
      expect(parent.link.peer).toMatchObject(childIdentity);
    });

    it('reports on both sides when the earlier certificate of the two nodes expires, if there are certificates', async () => {
      const { child, parent } = await connect();
      const [own, theirs] = [child.link.expiry, parent.link.expiry];
      expect(own?.atMs).toBe(theirs?.atMs);
      expect(own?.words.includes('spiffe://test/node/')).toBe(name === 'memory' ? undefined : true);
    });

    it('emits nothing before the function that makes the link has returned, not even frames that arrived at once', async () => {
      accept = (link) => {
        link.send(beat(1));
        const log = new LinkLog();
        accepted.push({ link, log });
        return log;
      };
      const { child } = await connect();
      expect(child.log.order).toEqual([]);
      await child.log.until(({ frames }) => frames.length === 1);
      expect(child.log.frames).toEqual([beat(1)]);
    });

    it('is refused to the child with the code and message of the parent', async () => {
      accept = () => {
        throw new BanyanError('Forbidden', 'no child of "eu"');
      };
      const log = new LinkLog();
      const error = await line.dialer.dial(log, dialWithinMs).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(BanyanError);
      expect(error).toMatchObject({ code: 'Forbidden', message: expect.stringContaining('no child of "eu"') });
      expect(log.order).toEqual([]);
    });
  });

  describe.each(ends)('from the %s', (from) => {
    it('carries frames of all sizes in order', async () => {
      const pair = await connect();
      const sent = [0, 1, 100, 20_000, 64 * 1024, 1024 * 1024, 3].flatMap((bytes, i) => [
        beat(i),
        data(Buffer.alloc(bytes, i)),
      ]);
      for (const frame of sent) pair[from].link.send(frame);
      const { log } = pair[other[from]];
      await log.until(({ frames }) => frames.length === sent.length);
      expect(log.frames).toEqual(sent);
    });

    it('counts at least the bytes of the frames as signs of life', async () => {
      const pair = await connect();
      const frames = [beat(1), data(Buffer.alloc(5_000))];
      for (const frame of frames) pair[from].link.send(frame);
      const { log } = pair[other[from]];
      await log.until((seen) => seen.frames.length === 2);
      expect(log.bytes).toBeGreaterThanOrEqual(frames.reduce((sum, frame) => sum + encodeFrame(frame).length, 0));
    });

    it('reports a full buffer, still accepts frames, and reports the drain later', async () => {
      const pair = await connect();
      const { link, log } = pair[from];
      let sent = 0;
      const next = () => data(Buffer.alloc(64 * 1024, sent++));
      while (link.send(next())) expect(sent).toBeLessThan(1_000);
      expect(sent).toBeGreaterThan(1);
      const fullBytes = link.queuedBytes();
      expect(fullBytes).toBeGreaterThanOrEqual(64 * 1024);
      expect(link.send(beat(7))).toBe(false);
      expect(log.drains).toBe(0);
      await log.until(({ drains }) => drains > 0);
      expect(link.queuedBytes()).toBeLessThanOrEqual(fullBytes / 2);
      expect(link.send(beat(8))).toBe(true);
      const receiver = pair[other[from]].log;
      await receiver.until(({ frames }) => frames.length === sent + 2);
      expect(receiver.frames.slice(sent).map(sequenceOf)).toEqual([7, 8]);
      expect(log.drains).toBe(1);
    });

    it('ends in order after all frames that were sent before, and reports the end once on both sides', async () => {
      const pair = await connect();
      const sent = [beat(1), data(Buffer.alloc(1024 * 1024, 1)), beat(2)];
      for (const frame of sent) pair[from].link.send(frame);
      pair[from].link.close('enough');
      await expectEnded(pair);
      expect(pair[other[from]].log.frames).toEqual(sent);
      expect([pair.child.log.closes, pair.parent.log.closes]).toEqual([[undefined], [undefined]]);
    });

    it('emits only its end after the local side has closed it, whatever is in flight', async () => {
      const pair = await connect();
      for (let i = 0; i < 20; i++) pair[other[from]].link.send(data(Buffer.alloc(64 * 1024)));
      pair[from].link.close('enough');
      const before = pair[from].log.order.length;
      await expectEnded(pair);
      expect(pair[from].log.order.slice(before)).toEqual(['close']);
    });

    it('accepts a frame at the limit', async () => {
      const pair = await connect();
      pair[from].link.send(dataOfFrameBytes(maxFrameBytes));
      const { log } = pair[other[from]];
      await log.until(({ frames }) => frames.length === 1);
      expect(log.bytes).toBeGreaterThanOrEqual(maxFrameBytes);
    });

    it('ends because of a frame over the limit, with both sizes, and ends no other link', async () => {
      const [pair, bystander] = [await connect(), await connect()];
      expect(pair[from].link.send(dataOfFrameBytes(maxFrameBytes + 1))).toBe(false);
      const error = await pair[from].log.closed();
      expect(error).toBeInstanceOf(BanyanError);
      expect(error).toMatchObject({
        code: 'TooLarge',
        message: `a frame of ${maxFrameBytes + 1} bytes; the limit is ${maxFrameBytes}`,
      });
      expect(await pair[other[from]].log.closed()).toBeInstanceOf(BanyanError);
      bystander[from].link.send(beat(1));
      await bystander[other[from]].log.until(({ frames }) => frames.length === 1);
      await expectEnded(pair);
      expect(pair[other[from]].log.frames).toEqual([]);
    });
  });

  describe('when it ends', () => {
    it('reports the end once to each side, as orderly, if both sides close at once', async () => {
      const pair = await connect();
      pair.child.link.close('enough');
      pair.child.link.close('again');
      pair.parent.link.close('enough');
      await expectEnded(pair);
      expect([pair.child.log.closes, pair.parent.log.closes]).toEqual([[undefined], [undefined]]);
    });

    it('reports the end once to each side, with Unavailable, if the line broke', async () => {
      const pair = await connect();
      pair.child.link.send(beat(1));
      await pair.parent.log.until(({ frames }) => frames.length === 1);
      line.cut();
      await expectEnded(pair);
      for (const { log } of [pair.child, pair.parent]) expect(log.closes[0]).toMatchObject({ code: 'Unavailable' });
    });

    it('is replaced by a new link from the same dialer', async () => {
      const first = await connect();
      first.child.link.close('enough');
      await first.parent.log.closed();
      const second = await connect();
      second.parent.link.send(beat(2));
      await second.child.log.until(({ frames }) => frames.length === 1);
      expect(first.child.log.frames).toEqual([]);
    });
  });
});
