/** The promises of core/wire/link.ts on streams beside a link, on every transport that carries them. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Frame } from '../../core/wire/generated/mesh.ts';
import type { Link, LinkEvents } from '../../core/wire/link.ts';
import { beat, data, LinkLog, sequenceOf } from '../support/link-log.ts';
import { child as childIdentity, makers, parent as parentIdentity, type TestLine } from './support/links.ts';

interface End {
  readonly link: Link;
  readonly log: LinkLog;
}

/** A sign of life. */
const empty: Frame = { frame: undefined };

/** The events of a parent's end of a link, with the incoming streams. */
class ParentLog extends LinkLog {
  readonly streams = new Map<number, End>();
  refusal: Error | undefined;
  /** Called with each incoming stream. */
  opened: (stream: End) => void = () => {};

  onStream(id: number, link: Link): LinkEvents {
    if (this.refusal) throw this.refusal;
    const stream = { link, log: new LinkLog() };
    this.streams.set(id, stream);
    this.opened(stream);
    return stream.log;
  }
}

describe.each(makers)('streams beside a link over $name', ({ open }) => {
  let line: TestLine;
  let parents: { link: Link; log: ParentLog }[];

  beforeEach(async () => {
    parents = [];
    line = await open((link) => {
      const log = new ParentLog();
      parents.push({ link, log });
      return log;
    });
  });
  afterEach(() => line[Symbol.asyncDispose]());

  async function connect() {
    const log = new LinkLog();
    const link = await line.dialer.dial(log, 10_000);
    return { child: { link, log }, parent: parents.at(-1)! };
  }

  async function openStream(pair: Awaited<ReturnType<typeof connect>>, id: number, apart: boolean) {
    const opened = new Promise<End>((resolve) => {
      pair.parent.log.opened = resolve;
    });
    const log = new LinkLog();
    const link = await pair.child.link.openStream!(id, apart, log);
    return { child: { link, log }, parent: await opened };
  }

  describe.each([
    ['with the session', false],
    ['apart from it', true],
  ] as const)('%s', (_, apart) => {
    it('are announced to their session, with their id and the identity of the peer', async () => {
      const [first, second] = [await connect(), await connect()];
      const stream = await openStream(first, 7, apart);
      expect([...first.parent.log.streams.keys()]).toEqual([7]);
      expect(second.parent.log.streams.size).toBe(0);
      expect(stream.parent.link.peer).toMatchObject(childIdentity);
      expect(stream.child.link.peer).toMatchObject(parentIdentity);
    });

    it('may be many, in sequence and in parallel, and remove their listeners from the connection when they end', async () => {
      const warnings: string[] = [];
      const warned = ({ message }: Error) => warnings.push(message);
      process.on('warning', warned);
      const pair = await connect();
      for (let id = 2; id <= 30; id += 2) {
        const { child, parent } = await openStream(pair, id, apart);
        if (id <= 15) continue;
        child.link.close('done');
        await parent.log.closed();
      }
      // Node reports it in the next turn.
      await new Promise((resolve) => setImmediate(resolve));
      process.off('warning', warned);
      expect(warnings).toEqual([]);
    });

    it('carry frames both ways in order, each on its own stream and none on the session', async () => {
      const pair = await connect();
      const streams = [await openStream(pair, 2, apart), await openStream(pair, 4, apart)];
      const sizes = [1, 64 * 1024, 0, 1024 * 1024, 20];
      const sent = (which: number) => [beat(which), empty, ...sizes.map((size) => data(Buffer.alloc(size, which)))];
      streams.forEach(({ child, parent }, i) => {
        for (const frame of sent(i)) child.link.send(frame);
        for (const frame of sent(i + 10)) parent.link.send(frame);
      });
      for (const [i, { child, parent }] of streams.entries()) {
        await child.log.until(({ frames }) => frames.length === sizes.length + 2);
        await parent.log.until(({ frames }) => frames.length === sizes.length + 2);
        expect(parent.log.frames).toEqual(sent(i));
        expect(child.log.frames).toEqual(sent(i + 10));
      }
      expect([pair.child.log.frames, pair.parent.log.frames]).toEqual([[], []]);
    });

    it('end in order from either side, and end neither the session nor another stream', async () => {
      const pair = await connect();
      const [first, second, third] = [
        await openStream(pair, 2, apart),
        await openStream(pair, 4, apart),
        await openStream(pair, 6, apart),
      ];
      first.child.link.send(beat(1));
      first.child.link.close('enough');
      second.parent.link.send(beat(2));
      second.parent.link.close('enough');
      for (const { child, parent } of [first, second]) {
        expect([await child.log.closed(), await parent.log.closed()]).toEqual([undefined, undefined]);
      }
      expect(first.parent.log.frames.map(sequenceOf)).toEqual([1]);
      expect(second.child.log.frames.map(sequenceOf)).toEqual([2]);
      third.parent.link.send(beat(3));
      pair.parent.link.send(beat(4));
      await third.child.log.until(({ frames }) => frames.length === 1);
      await pair.child.log.until(({ frames }) => frames.length === 1);
      expect(third.child.log.closes).toEqual([]);
    });

    it('are refused with the code and message of the parent, and the session continues', async () => {
      const pair = await connect();
      pair.parent.log.refusal = new BanyanError('NotFound', 'nobody asked for it');
      const log = new LinkLog();
      const link = await pair.child.link.openStream!(2, apart, log);
      link.send(beat(1));
      expect(await log.closed()).toMatchObject({
        code: 'NotFound',
        message: expect.stringContaining('nobody asked for it'),
      });
      expect(log.order).toEqual(['close']);
      pair.child.link.send(beat(2));
      await pair.parent.log.until(({ frames }) => frames.length === 1);
    });

    it('break on both sides when the line breaks', async () => {
      const pair = await connect();
      const { child, parent } = await openStream(pair, 2, apart);
      line.cut();
      for (const { log } of [child, parent]) expect(await log.closed()).toMatchObject({ code: 'Unavailable' });
    });

    it('end with their session, and cannot be opened after its end', async () => {
      const pair = await connect();
      const { child, parent } = await openStream(pair, 2, apart);
      pair.child.link.close('enough');
      await Promise.all([pair.child.log.closed(), child.log.closed(), parent.log.closed()]);
      await expect(pair.child.link.openStream!(4, apart, new LinkLog())).rejects.toMatchObject({ code: 'Unavailable' });
    });

    it('report a full buffer while the session still has room', async () => {
      const pair = await connect();
      const { child, parent } = await openStream(pair, 2, apart);
      let sent = 0;
      while (child.link.send(data(Buffer.alloc(64 * 1024, sent++)))) expect(sent).toBeLessThan(1_000);
      expect(pair.child.link.send(beat(1))).toBe(true);
      await child.log.until(({ drains }) => drains === 1);
      await parent.log.until(({ frames }) => frames.length === sent);
    });
  });
});
