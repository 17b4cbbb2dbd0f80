import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import type { BanyanError } from '../../../../core/runtime/errors.ts';
import { encodeFrame, maxFrameBytes } from '../../../../core/wire/codec/frames.ts';
import { type FrameCall, FrameLink } from '../../../../core/wire/frame-link.ts';
import { beat, data, dataOfFrameBytes, LinkLog } from '../../../support/link-log.ts';

/** One end of a call, whose queue moves when the test says so. */
class SlowCall implements FrameCall {
  readonly queue: { readonly bytes: Buffer; readonly taken: () => void }[] = [];
  readonly aborts: BanyanError[] = [];
  ends = 0;
  read = 0;

  write(bytes: Buffer, taken: () => void): void {
    this.queue.push({ bytes, taken });
  }
  end(): void {
    this.ends++;
  }
  abort(error: BanyanError): void {
    this.aborts.push(error);
  }
  bytesRead(): number {
    return this.read;
  }
  /** The oldest frame leaves the process. */
  take(): void {
    this.queue.shift()?.taken();
  }
}

const kib = 1024;
const quarter = () => data(Buffer.alloc(64 * kib));
const nextTurn = () => new Promise(setImmediate);

let clock: VirtualClock;
let call: SlowCall;
let link: FrameLink;
let log: LinkLog;
beforeEach(() => {
  clock = new VirtualClock();
  call = new SlowCall();
  log = new LinkLog();
  link = new FrameLink({ peer: { path: 'eu', role: 'relay' }, transport: 'grpc', call, clock });
});

describe('the buffer of a link', () => {
  beforeEach(() => link.start(log));

  it('is full at 256 KiB, and drained at half of it', () => {
    expect([1, 2, 3, 4].map(() => link.send(quarter()))).toEqual([true, true, true, false]);
    call.take();
    call.take();
    expect(log.drains).toBe(0);
    call.take();
    expect(log.drains).toBe(1);
    expect(link.send(quarter())).toBe(true);
  });

  it('stays full until it reports the drain, also to a sender of a control frame in between', () => {
    for (let i = 0; i < 4; i++) link.send(quarter());
    call.take();
    expect(link.queuedBytes()).toBeLessThan(256 * kib);
    expect(link.send(beat(1))).toBe(false);
    while (call.queue.length > 0) call.take();
    expect(log.drains).toBe(1);
  });

  it('owes one drain for each time that it was full, and none otherwise', () => {
    const step = fc.oneof(fc.constant('take' as const), fc.integer({ min: 0, max: 200 * kib }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const slow = new SlowCall();
        const events = new LinkLog();
        const tried = new FrameLink({ peer: link.peer, transport: 'grpc', call: slow, clock: new VirtualClock() });
        tried.start(events);
        let fills = 0;
        let room = true;
        for (const what of steps) {
          if (what === 'take') {
            slow.take();
            room ||= events.drains === fills;
          } else {
            const answer = tried.send(data(Buffer.alloc(what)));
            // "Full" is a valid answer only if there was room before, or if no drain was reported since.
            if (!room) expect(answer).toBe(false);
            if (room && !answer) fills++;
            room = answer;
          }
        }
        while (slow.queue.length > 0) slow.take();
        expect(events.drains).toBe(fills);
        expect(tried.queuedBytes()).toBe(0);
      }),
    );
  });

  it('has a limit: a peer that does not read 64 MiB loses the link', async () => {
    let sent = 0;
    while (call.aborts.length === 0) {
      link.send(dataOfFrameBytes(maxFrameBytes));
      sent++;
    }
    expect(sent).toBe(17);
    const error = {
      code: 'Unavailable',
      message: `the peer reads nothing: ${17 * maxFrameBytes} bytes wait to be sent`,
    };
    expect(call.aborts[0]).toMatchObject(error);
    expect(await log.closed()).toMatchObject(error);
    expect(link.send(beat(1))).toBe(false);
    expect(call.queue).toHaveLength(17);
  });

  it('reports no drain once the link is closed', async () => {
    for (let i = 0; i < 4; i++) link.send(quarter());
    link.close('enough');
    while (call.queue.length > 0) call.take();
    link.ended();
    await log.closed();
    expect(log.order).toEqual(['close']);
  });
});

describe('a link that is not started yet', () => {
  it('reports the drain of its sent bytes after its start', () => {
    for (let i = 0; i < 4; i++) link.send(quarter());
    while (call.queue.length > 0) call.take();
    link.start(log);
    expect(log.drains).toBe(1);
  });

  it('reports its end after its start', async () => {
    link.failed(new Error('broke'));
    await nextTurn();
    link.start(log);
    expect(await log.closed()).toMatchObject({ message: 'broke' });
    expect(log.order).toEqual(['close']);
  });
});

describe('closing a link', () => {
  beforeEach(() => link.start(log));

  it('ends this side, and is reported when the other side has ended too', async () => {
    link.close('enough');
    expect(call.ends).toBe(1);
    await nextTurn();
    expect(log.closes).toEqual([]);
    link.ended();
    expect(await log.closed()).toBeUndefined();
    expect(call.ends).toBe(1);
  });

  it('waits 3 s for the other side, then aborts the call', async () => {
    link.close('enough');
    clock.advance(2_999);
    expect(call.aborts).toEqual([]);
    clock.advance(1);
    expect(call.aborts.map(({ message }) => message)).toEqual(['enough; not ended by the peer within 3000 ms']);
    expect(await log.closed()).toBeUndefined();
  });

  it('waits as long as something is queued, even if a write reports no progress, and 3 s more', async () => {
    link.send(quarter());
    link.close('enough');
    clock.advance(20_000);
    call.take();
    clock.advance(3_000);
    expect(call.aborts).toEqual([]);
    clock.advance(3_000);
    expect(call.aborts).toHaveLength(1);
    expect(await log.closed()).toBeUndefined();
  });

  it('waits as long as it receives bytes', () => {
    link.close('enough');
    for (let i = 0; i < 10; i++) {
      call.read++;
      clock.advance(3_000);
    }
    expect(call.aborts).toEqual([]);
    clock.advance(3_000);
    expect(call.aborts).toHaveLength(1);
  });

  it('waits a minute at most', async () => {
    link.send(quarter());
    link.close('enough');
    clock.advance(59_999);
    expect(call.aborts).toEqual([]);
    clock.advance(1);
    expect(call.aborts.map(({ message }) => message)).toEqual(['enough; not ended by the peer within 60000 ms']);
    expect(await log.closed()).toBeUndefined();
  });

  it('is orderly even if the other side breaks meanwhile', async () => {
    link.close('enough');
    link.failed(new Error('broke'));
    expect(await log.closed()).toBeUndefined();
    clock.advance(60_000);
    await nextTurn();
    expect(log.order).toEqual(['close']);
    expect(call.aborts).toEqual([]);
  });

  it('by the peer answers it', async () => {
    link.ended();
    expect(call.ends).toBe(1);
    expect(await log.closed()).toBeUndefined();
    expect(link.isOpen).toBe(false);
  });

  it('drops everything that comes after it', async () => {
    link.close('enough');
    link.received(encodeFrame(beat(1)));
    link.ended();
    link.received(encodeFrame(beat(2)));
    await log.closed();
    expect(log.order).toEqual(['close']);
  });

  it('is reported once, whatever ends it first', async () => {
    const ways = ['close', 'ended', 'failed', 'garbage', 'tooLarge', 'wait'] as const;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...ways), { minLength: 1, maxLength: 6 }), async (steps) => {
        const events = new LinkLog();
        const time = new VirtualClock();
        const tried = new FrameLink({ peer: link.peer, transport: 'grpc', call: new SlowCall(), clock: time });
        tried.start(events);
        for (const way of [...steps, 'ended' as const]) {
          if (way === 'close') tried.close('enough');
          if (way === 'ended') tried.ended();
          if (way === 'failed') tried.failed(new Error('broke'));
          if (way === 'garbage') tried.received(Buffer.alloc(9, 0xff));
          if (way === 'tooLarge') tried.received(Buffer.alloc(maxFrameBytes + 1));
          if (way === 'wait') time.advance(5_000);
        }
        await nextTurn();
        time.advance(60_000);
        await nextTurn();
        expect(events.closes).toHaveLength(1);
        expect(events.order.at(-1)).toBe('close');
      }),
      { numRuns: 50 },
    );
  });
});

describe('signs of life', () => {
  beforeEach(() => {
    // The handshake came before the link.
    call.read = 3_000;
    link.start(log);
  });

  it('are the bytes of an unfinished frame, as they come', () => {
    call.read += 600;
    clock.advance(2_000);
    expect(log.bytes).toBe(600);
    call.read += 700;
    clock.advance(2_000);
    expect(log.bytes).toBe(1_300);
  });

  it('are the bytes of a frame, counted once', () => {
    const bytes = encodeFrame(data(Buffer.alloc(1_000)));
    call.read += bytes.length + 40;
    link.received(bytes);
    clock.advance(2_000);
    expect(log.bytes).toBe(bytes.length);
  });

  it('are not the pings of a gateway in between', () => {
    for (let i = 0; i < 10; i++) {
      call.read += 500;
      clock.advance(2_000);
    }
    expect(log.order).toEqual([]);
  });

  it('are no longer watched when the link is over', async () => {
    link.failed(new Error('broke'));
    await log.closed();
    call.read += 10_000;
    clock.advance(60_000);
    expect(log.order).toEqual(['close']);
  });
});
