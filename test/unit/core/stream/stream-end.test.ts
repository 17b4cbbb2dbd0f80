import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { StreamCounts } from '../../../../core/stream/stream-counts.ts';
import { StreamEnd } from '../../../../core/stream/stream-end.ts';
import { pulseOf, streamBeatEveryMs, streamDeathAfterMs } from '../../../../core/stream/stream-life.ts';
import type { Frame } from '../../../../core/wire/generated/mesh.ts';
import type { Link } from '../../../../core/wire/link.ts';
import { StreamLog } from '../../../support/stream-tree.ts';

/** An end on a call; the test is the other side. */
function onCall() {
  const clock = new VirtualClock();
  const sent: Frame[] = [];
  let closed: string | undefined;
  const link: Link = {
    peer: { path: 'eu:kid', role: 'agent' },
    transport: 'test',
    send: (frame) => sent.push(frame) > 0,
    close: (reason) => {
      closed = reason;
    },
    queuedBytes: () => 0,
  };
  const counts = new StreamCounts();
  const ports = {
    id: 2,
    at: 'eu',
    clock,
    observer: counts,
    windowBytes: 1_000,
    deadlineMs: 5_000,
    peer: 'eu:kid',
    sendReset() {},
    closed() {},
  };
  let end!: StreamEnd;
  const log = new StreamLog((handler) => {
    end = new StreamEnd(ports, { handler });
    return end;
  });
  end.attach(link);
  const receive = (frame: Frame = { frame: undefined }) => {
    end.onBytes();
    end.onFrame(frame);
  };
  receive({ frame: { $case: 'credit', value: { stream: 2, feed: 0, bytes: 1_000 } } });
  return { clock, sent, end, log, counts, receive, closed: () => closed };
}

describe('an end on its call', () => {
  it('sends a sign of life whenever it has sent nothing else for a while, and none otherwise', () => {
    const { clock, sent, end, receive } = onCall();
    for (let i = 0; i < 5; i++) {
      receive();
      clock.advance(streamBeatEveryMs);
      expect(sent.splice(0)).toEqual([{ frame: undefined }]);
    }
    clock.advance(streamBeatEveryMs - 1_000);
    end.write(Buffer.from('x'));
    clock.advance(streamBeatEveryMs - 1);
    expect(sent.splice(0).map(({ frame }) => frame?.$case)).toEqual(['data']);
    clock.advance(1);
    expect(sent).toEqual([{ frame: undefined }]);
  });

  it('ends, and hangs up, when it has received nothing for four beats, though it could send all the time', () => {
    const { clock, log, counts, closed } = onCall();
    clock.advance(streamDeathAfterMs - 1);
    expect(log.closed).toBe(false);
    clock.advance(1);
    expect(log.reset).toMatchObject({
      code: 'Unavailable',
      at: 'eu',
      message: expect.stringContaining('eu:kid: no frame was received'),
    });
    expect(closed()).toContain('no frame was received');
    expect(counts.open).toBe(0);
  });

  it('counts any byte as life, also of an unknown frame', () => {
    const { clock, log, end, receive } = onCall();
    for (let i = 0; i < 4; i++) {
      clock.advance(streamDeathAfterMs - 1);
      if (i % 2 === 0) end.onBytes();
      else receive();
    }
    expect(log.closed).toBe(false);
  });

  it('sends nothing more once it is closed', () => {
    const { clock, sent, end } = onCall();
    end.reset({ code: 'Cancelled', message: 'enough', at: 'eu' });
    sent.splice(0);
    clock.advance(10 * streamDeathAfterMs);
    expect(sent).toEqual([]);
  });

  it('throws if somebody writes to it after its end, which is a mistake of the caller', () => {
    const { end } = onCall();
    end.end();
    expect(() => end.write(Buffer.from('x'))).toThrow('behind its end');
  });
});

describe('the pulse of a call', () => {
  it.each([
    [0, 0, 0, false, false, streamBeatEveryMs],
    [0, 0, streamBeatEveryMs, true, false, streamBeatEveryMs],
    [0, 50_000, streamDeathAfterMs - 1, true, false, streamBeatEveryMs],
    [50_000, 0, streamDeathAfterMs - 10, false, false, 10],
    [50_000, 0, streamDeathAfterMs, false, true, 0],
  ])(
    'sent at %i, received at %i, checked at %i ms: beat %s, dead %s, again in %i',
    (sentAtMs, receivedAtMs, nowMs, beat, dead, afterMs) => {
      expect(pulseOf({ sentAtMs, receivedAtMs }, nowMs)).toEqual({ beat, dead, afterMs });
    },
  );
});
