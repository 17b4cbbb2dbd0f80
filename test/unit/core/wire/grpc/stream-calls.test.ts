import { EventEmitter } from 'node:events';
import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { type StreamCall, StreamCalls } from '../../../../../core/wire/grpc/stream-calls.ts';
import type { Link } from '../../../../../core/wire/link.ts';
import { LinkLog } from '../../../../support/link-log.ts';

/** Emits nothing by itself, like a call whose other end is slow. */
class Call extends EventEmitter {
  cancelled = false;
  readonly refusals: unknown[] = [];

  constructor() {
    super();
    this.on('error', (error) => this.refusals.push(error));
  }

  write(): boolean {
    return true;
  }

  end(): this {
    return this;
  }

  sendMetadata(): void {}
}

describe('the calls of a session that shares its connection', () => {
  const clock = new VirtualClock();
  let calls: StreamCalls;
  let links: Link[];
  beforeEach(() => {
    calls = new StreamCalls({ peer: { path: 'eu:kid', role: 'agent' }, clock, areListed: true });
    links = [];
  });
  const session = Object.assign(new LinkLog(), {
    onStream(id: number, link: Link) {
      if (id === 99) throw new BanyanError('NotFound', 'nobody waits for it');
      links.push(link);
      return new LinkLog();
    },
  });
  const begin = (id: number) => {
    const call = new Call();
    calls.begin(call as unknown as StreamCall, id, session);
    return call;
  };
  const turns = async () => {
    for (let i = 0; i < 3; i++) await new Promise(setImmediate);
  };

  it('are not listed if they are refused', () => {
    for (let i = 0; i < 100; i++) expect(() => begin(99)).toThrow('nobody waits for it');
    expect(calls.size).toBe(0);
  });

  it('leave the list at the end that either side makes', async () => {
    const [ended, cancelled, late] = [begin(1), begin(3), begin(5), begin(7), begin(9)];
    expect(calls.size).toBe(5);
    ended!.emit('end');
    cancelled!.emit('cancelled');
    late!.cancelled = true;
    late!.emit('end');
    await turns();
    expect(calls.size).toBe(2);
    // The other end hangs: the call is aborted.
    links[3]!.close('enough');
    clock.advance(3_000);
    expect(calls.size).toBe(1);
  });

  it('end with the session, and are not ended twice', () => {
    const [open, broken] = [begin(1), begin(3)];
    broken.emit('cancelled');
    calls.end();
    calls.end();
    expect([open.refusals.length, broken.refusals.length, calls.size]).toEqual([1, 0, 0]);
  });

  it('are not listed if they end with their connection', () => {
    calls = new StreamCalls({ peer: { path: 'eu:kid', role: 'agent' }, clock, areListed: false });
    begin(1);
    expect(calls.size).toBe(0);
  });
});
