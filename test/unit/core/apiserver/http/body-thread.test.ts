import { describe, expect, it } from 'vitest';
import { BodyThread } from '../../../../../core/apiserver/http/body-thread.ts';
import type { ThreadWrite } from '../../../../../core/apiserver/http/thread-write.ts';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { refusalOf } from './handler-errors.ts';

/** The parser needs minutes for this text. */
const endless = Array.from({ length: 60_000 }, (_, i) => `- &a${i} x\n- *a${i}\n`).join('');

function read(thread: BodyThread, text: string, { flow = 'a', isGone = (): boolean => false } = {}): Promise<string> {
  return thread.readYaml({ flow, bytes: text.length }, text, isGone);
}

/** The thread has used all its processor time whenever somebody looks. */
const busy = async () => 20_000;

describe('the thread that reads YAML', () => {
  it('refuses the waiting texts when it ends', async () => {
    const thread = new BodyThread(new VirtualClock());
    const refused = Promise.allSettled([read(thread, endless), read(thread, 'a: 1')]);
    thread.end();
    const unavailable = { status: 'rejected', reason: { code: 'Unavailable' } };
    expect(await refused).toMatchObject([unavailable, unavailable]);
  });

  it('reads one text after the other, and continues after an invalid one', async () => {
    const thread = new BodyThread(new VirtualClock());
    const answers = await Promise.allSettled(['a: 1', 'a: [', 'b: 2'].map((text) => read(thread, text)));
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(answers.map((one) => (one.status === 'fulfilled' ? one.value : (one.reason as Error).message))).toEqual([
      '{"a":1}',
      expect.stringMatching(/^error converting YAML to JSON: .* at line 1, column 5$/),
      '{"b":2}',
    ]);
  });

  it('aborts a text after twenty seconds, and continues with the next one', async () => {
    const clock = new VirtualClock();
    const thread = new BodyThread(clock, busy);
    const [first, next] = [refusalOf(read(thread, endless)), read(thread, 'a: 1')];
    clock.advance(20_000);
    const { code, message } = await first;
    expect([code, message]).toEqual([
      'TooLarge',
      'Request entity too large: to read this body takes more than 20000 ms: split the object, or send JSON instead of YAML',
    ]);
    expect(await next).toBe('{"a":1}');
  });

  it('lets a text go on that has got less of the processor, for two minutes at most', async () => {
    const clock = new VirtualClock();
    let looks = 0;
    const slow = async () => {
      looks++;
      setImmediate(() => clock.advance(20_000));
      return 19_999;
    };
    const refused = refusalOf(read(new BodyThread(clock, slow), endless));
    clock.advance(20_000);
    expect([(await refused).code, looks]).toEqual(['TooLarge', 6]);
  });

  it('lets at most five of the longest bodies of a flow wait, and reads the bodies of the flows in turns', async () => {
    const clock = new VirtualClock();
    const thread = new BodyThread(clock, busy);
    const long = `- ${'x'.repeat(1_500_000)}\n`;
    const order: string[] = [];
    const reading = [
      read(thread, endless).catch(() => order.push('endless')),
      ...Array.from({ length: 5 }, (_, i) => read(thread, long).then(() => order.push(`a${i}`))),
    ];
    const { code, details } = await refusalOf(read(thread, long));
    expect([code, details.retryAfterSeconds]).toEqual(['TooManyRequests', 1]);
    reading.push(read(thread, 'b: 1', { flow: 'b' }).then(() => order.push('b')));
    clock.advance(20_000);
    await Promise.all(reading);
    expect(order).toEqual(['endless', 'b', 'a0', 'a1', 'a2', 'a3', 'a4']);
    thread.end();
  });

  it('passes an error of the program on as it is, and starts again', async () => {
    const thread = new BodyThread(new VirtualClock());
    const noWrite = {} as ThreadWrite;
    const failed = thread.write(
      { flow: 'a', bytes: 0 },
      () => noWrite,
      () => false,
    );
    await expect(failed).rejects.toThrow(TypeError);
    expect(await read(thread, 'a: 1')).toBe('{"a":1}');
    thread.end();
  });

  it('reads nothing for a client that is gone', async () => {
    const clock = new VirtualClock();
    const thread = new BodyThread(clock, busy);
    const first = refusalOf(read(thread, endless));
    let isGone = false;
    const settled: string[] = [];
    void read(thread, 'a: 1', { isGone: () => isGone }).then(() => settled.push('gone'));
    const next = read(thread, 'a: 2').then(() => settled.push('next'));
    isGone = true;
    clock.advance(20_000);
    await Promise.all([first, next]);
    expect(settled).toEqual(['next']);
    thread.end();
  });

  it('ends when nothing is left to read, and starts again on demand', async () => {
    const clock = new VirtualClock();
    const thread = new BodyThread(clock);
    expect(await read(thread, 'a: 1')).toBe('{"a":1}');
    clock.advance(20_000);
    expect(await read(thread, 'a: 2')).toBe('{"a":2}');
  });
});
