/** Properties of the memory link beyond the contract (test/contract/link.test.ts): the caller controls time and faults. */
import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import type { Frame } from '../../../../../core/wire/generated/mesh.ts';
import type { Link } from '../../../../../core/wire/link.ts';
import { type MemoryNetwork, memoryDialer } from '../../../../../core/wire/memory/memory-link.ts';
import { beat, data, LinkLog, sequenceOf } from '../../../../support/link-log.ts';

const parent = { path: 'eu', role: 'relay' } as const;
const child = { path: 'eu:kid', role: 'agent' } as const;

describe('a link in memory', () => {
  let clock: VirtualClock;
  let isCut: boolean;
  let near: LinkLog;
  let far: LinkLog;
  beforeEach(() => {
    clock = new VirtualClock();
    isCut = false;
    near = new LinkLog();
    far = new LinkLog();
  });

  const dialer = (network: Partial<MemoryNetwork> = {}) =>
    memoryDialer({ clock, delayMs: 5, isCut: () => isCut, ...network }, child, parent, () => far);
  const dial = (network: Partial<MemoryNetwork> = {}): Promise<Link> => dialer(network).dial(near, 1_000);

  it('delivers a frame after its delay and not before', async () => {
    const link = await dial();
    link.send(beat(1));
    clock.advance(4);
    expect(far.frames).toEqual([]);
    clock.advance(1);
    expect(far.frames).toEqual([beat(1)]);
  });

  it('is not made while the network is cut', async () => {
    isCut = true;
    await expect(dial()).rejects.toMatchObject({ code: 'Unavailable', message: 'the network is cut' });
    expect(far.order).toEqual([]);
  });

  it('loses the frames in flight when it is cut, and only on open links', async () => {
    const maker = dialer();
    const ended = await maker.dial(new LinkLog(), 1_000);
    ended.close('enough');
    clock.advance(5);
    far = new LinkLog();
    const link = await maker.dial(near, 1_000);
    link.send(beat(1));
    maker.cut();
    clock.advance(100);
    expect(far.order).toEqual(['close']);
    expect(near.closes).toMatchObject([{ code: 'Unavailable', message: 'the connection broke' }]);
  });

  it('is lost with the first frame that the network drops', async () => {
    const seen: [number, string][] = [];
    const passes = (frame: Frame, from: 'child' | 'parent') => seen.push([sequenceOf(frame), from]) < 2;
    const link = await dial({ passes });
    expect(link.send(beat(1))).toBe(true);
    clock.advance(5);
    expect(link.send(beat(2))).toBe(false);
    clock.advance(5);
    expect(far.frames).toEqual([beat(1)]);
    expect([near.closes.length, far.closes.length]).toEqual([1, 1]);
    expect(seen).toEqual([
      [1, 'child'],
      [2, 'child'],
    ]);
  });

  it('is never full without a bound', async () => {
    const link = await dial();
    for (let i = 0; i < 100; i++) expect(link.send(data(Buffer.alloc(100_000)))).toBe(true);
    clock.advance(5);
    expect(near.drains).toBe(0);
  });

  it('stays full until it reports the drain, also to a sender of a control frame in between', async () => {
    const link = await dial({ bufferBytes: 1_000 });
    expect(link.send(data(Buffer.alloc(300)))).toBe(true);
    clock.advance(1);
    expect(link.send(data(Buffer.alloc(800)))).toBe(false);
    clock.advance(4);
    expect(link.queuedBytes()).toBeLessThan(1_000);
    expect(link.send(beat(1))).toBe(false);
    expect(near.drains).toBe(0);
    clock.advance(5);
    expect(near.drains).toBe(1);
    expect(link.send(beat(2))).toBe(true);
  });
});
