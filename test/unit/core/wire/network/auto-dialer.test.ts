import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { BanyanError, type ErrorCode } from '../../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import type { Dialer, Link, LinkEvents } from '../../../../../core/wire/link.ts';
import {
  anewFirstMs,
  anewMaxMs,
  autoDialer,
  type TransportMemory,
} from '../../../../../core/wire/network/auto-dialer.ts';
import { beat, LinkLog } from '../../../../support/link-log.ts';

/** A transport that behaves as the test says. */
class ScriptedDialer implements Dialer {
  fails: ErrorCode | undefined;
  takesMs = 0;
  readonly withinMs: number[] = [];
  events: LinkEvents | undefined;
  readonly #name: string;
  readonly #clock: VirtualClock;
  readonly #tried: string[];

  constructor(name: string, clock: VirtualClock, tried: string[]) {
    this.#name = name;
    this.#clock = clock;
    this.#tried = tried;
  }

  async dial(events: LinkEvents, timeoutMs: number): Promise<Link> {
    this.#tried.push(this.#name);
    this.withinMs.push(timeoutMs);
    this.#clock.advance(this.takesMs);
    if (this.fails) throw new BanyanError(this.fails, `${this.#name} fails`);
    this.events = events;
    return {
      peer: { path: '', role: 'center' },
      transport: this.#name,
      send: () => true,
      close: () => {},
      queuedBytes: () => 0,
    };
  }
}

let tried: string[];
let grpc: ScriptedDialer;
let websocket: ScriptedDialer;
let kept: string[];
let memory: TransportMemory;
let dialer: Dialer;
let clock: VirtualClock;
const make = () => autoDialer({ dialers: { grpc, websocket }, memory, log: silentLogger, clock });

beforeEach(() => {
  tried = [];
  kept = [];
  clock = new VirtualClock();
  grpc = new ScriptedDialer('grpc', clock, tried);
  websocket = new ScriptedDialer('websocket', clock, tried);
  memory = { read: () => kept.at(-1), keep: (transport) => kept.push(transport) };
  dialer = make();
});

describe('a dialer that finds its transport', () => {
  it('uses the first transport that connects', async () => {
    expect((await dialer.dial(new LinkLog(), 10_000)).transport).toBe('grpc');
    expect(tried).toEqual(['grpc']);
  });

  it.each(['Unavailable', 'Protocol'] as const)('tries the next one after %s, once each', async (code) => {
    grpc.fails = code;
    expect((await dialer.dial(new LinkLog(), 10_000)).transport).toBe('websocket');
    websocket.fails = 'Unavailable';
    tried.length = 0;
    await expect(dialer.dial(new LinkLog(), 10_000)).rejects.toThrow('grpc fails; websocket fails');
    expect(tried).toEqual(['grpc', 'websocket']);
  });

  it.each(['Unauthorized', 'Forbidden'] as const)('stops after %s, which no transport can change', async (code) => {
    grpc.fails = code;
    await expect(dialer.dial(new LinkLog(), 10_000)).rejects.toMatchObject({ code, message: 'grpc fails' });
    expect(tried).toEqual(['grpc']);
  });

  it('stores the transport of the first frame, once, and begins with it next time, also after a restart', async () => {
    grpc.fails = 'Unavailable';
    const log = new LinkLog();
    await dialer.dial(log, 10_000);
    expect(kept).toEqual([]);
    websocket.events!.onFrame(beat(1));
    websocket.events!.onFrame(beat(2));
    expect(kept).toEqual(['websocket']);
    expect(log.frames).toEqual([beat(1), beat(2)]);
    grpc.fails = undefined;
    tried.length = 0;
    expect((await make().dial(new LinkLog(), 10_000)).transport).toBe('websocket');
    expect(tried).toEqual(['websocket']);
  });

  it('carries frames even if the disk is too full to store the transport, and stores that of the next session', async () => {
    let isFull = true;
    memory = {
      read: () => kept.at(-1),
      keep(transport) {
        if (isFull) throw new BanyanError('StoreFull', 'the disk is full');
        kept.push(transport);
      },
    };
    dialer = make();
    const log = new LinkLog();
    await dialer.dial(log, 10_000);
    grpc.events!.onFrame(beat(1));
    expect([log.frames, kept]).toEqual([[beat(1)], []]);
    isFull = false;
    await dialer.dial(log, 10_000);
    grpc.events!.onFrame(beat(2));
    expect(kept).toEqual(['grpc']);
  });

  it('tries the others again when the stored transport fails', async () => {
    kept.push('websocket');
    websocket.fails = 'Unavailable';
    expect((await dialer.dial(new LinkLog(), 10_000)).transport).toBe('grpc');
    grpc.events!.onFrame(beat(1));
    expect(kept).toEqual(['websocket', 'grpc']);
  });

  it('tries a transport that connects and then carries nothing last, until it carries something', async () => {
    await dialer.dial(new LinkLog(), 10_000);
    const first = grpc.events!;
    first.onClose(new BanyanError('Unavailable', 'cut'));
    expect((await dialer.dial(new LinkLog(), 10_000)).transport).toBe('websocket');
    websocket.fails = 'Unavailable';
    expect((await dialer.dial(new LinkLog(), 10_000)).transport).toBe('grpc');
    grpc.events!.onFrame(beat(1));
    grpc.events!.onClose();
    tried.length = 0;
    await dialer.dial(new LinkLog(), 10_000);
    expect(tried).toEqual(['grpc']);
  });

  it('uses the original order again after a minute, and keeps the better transport if it works', async () => {
    kept.push('websocket');
    dialer = make();
    clock.advance(anewFirstMs - 1);
    expect((await dialer.dial(new LinkLog(), 10_000)).transport).toBe('websocket');
    clock.advance(1);
    expect((await dialer.dial(new LinkLog(), 10_000)).transport).toBe('grpc');
    grpc.events!.onFrame(beat(1));
    expect(kept).toEqual(['websocket', 'grpc']);
    clock.advance(anewMaxMs);
    tried.length = 0;
    await dialer.dial(new LinkLog(), 10_000);
    expect(tried).toEqual(['grpc']);
  });

  it.each(['Unavailable', 'Unauthorized', 'Forbidden'] as const)(
    'continues with the working transport when the better one fails with %s again, and doubles the wait each time, up to an hour',
    async (code) => {
      kept.push('websocket');
      dialer = make();
      grpc.fails = code;
      const waitsMs: number[] = [];
      let waitedMs = 0;
      while (waitsMs.length < 9) {
        clock.advance(anewFirstMs);
        waitedMs += anewFirstMs;
        tried.length = 0;
        expect((await dialer.dial(new LinkLog(), 10_000)).transport).toBe('websocket');
        websocket.events!.onFrame(beat(1));
        if (tried[0] !== 'grpc') continue;
        waitsMs.push(waitedMs);
        waitedMs = 0;
      }
      expect(waitsMs.map((ms) => ms / 60_000)).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
      expect(kept).toEqual(['websocket']);
    },
  );

  it('tries a transport that connects again and carries nothing last until the order is reset', async () => {
    kept.push('websocket');
    dialer = make();
    clock.advance(anewFirstMs);
    expect((await dialer.dial(new LinkLog(), 10_000)).transport).toBe('grpc');
    grpc.events!.onClose(new BanyanError('Unavailable', 'no welcome came'));
    expect((await dialer.dial(new LinkLog(), 10_000)).transport).toBe('websocket');
  });

  it('does not begin with an unknown transport, whatever was stored', async () => {
    kept.push('pigeon');
    expect((await dialer.dial(new LinkLog(), 10_000)).transport).toBe('grpc');
  });

  it('leaves the second transport half of the time, and the rest that the first did not use', async () => {
    grpc.fails = 'Unavailable';
    grpc.takesMs = 5_000;
    await dialer.dial(new LinkLog(), 10_000);
    expect([grpc.withinMs, websocket.withinMs]).toEqual([[5_000], [5_000]]);
    grpc.takesMs = 1_000;
    await dialer.dial(new LinkLog(), 10_000);
    expect(websocket.withinMs.at(-1)).toBe(9_000);
  });
});
