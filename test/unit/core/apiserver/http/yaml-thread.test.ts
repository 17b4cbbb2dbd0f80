import { describe, expect, it } from 'vitest';
import { YamlThread } from '../../../../../core/apiserver/http/yaml-thread.ts';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { refusalOf } from './handler-errors.ts';

/** The parser needs minutes for this text. */
const endless = Array.from({ length: 60_000 }, (_, i) => `- &a${i} x\n- *a${i}\n`).join('');

describe('the thread that reads YAML', () => {
  it('refuses the waiting texts when it ends', async () => {
    const thread = new YamlThread(new VirtualClock());
    const refused = Promise.allSettled([thread.read(endless), thread.read('a: 1')]);
    thread.end();
    const unavailable = { status: 'rejected', reason: { code: 'Unavailable' } };
    expect(await refused).toMatchObject([unavailable, unavailable]);
  });

  it('reads one text after the other, and continues after an invalid one', async () => {
    const thread = new YamlThread(new VirtualClock());
    const answers = await Promise.allSettled(['a: 1', 'a: [', 'b: 2'].map((text) => thread.read(text)));
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(answers.map((one) => (one.status === 'fulfilled' ? one.value : (one.reason as Error).message))).toEqual([
      '{"a":1}',
      expect.stringMatching(/^error converting YAML to JSON: .* at line 1, column 5$/),
      '{"b":2}',
    ]);
  });

  it('aborts a text after ten seconds, and continues with the next one', async () => {
    const clock = new VirtualClock();
    const thread = new YamlThread(clock);
    const [first, next] = [refusalOf(thread.read(endless)), thread.read('a: 1')];
    clock.advance(10_000);
    const { code, message } = await first;
    expect([code, message]).toEqual([
      'TooLarge',
      'Request entity too large: to read this YAML takes more than 10000 ms: send the body as JSON',
    ]);
    expect(await next).toBe('{"a":1}');
  });

  it('lets at most six texts wait', async () => {
    const clock = new VirtualClock();
    const thread = new YamlThread(clock);
    const reading = Array.from({ length: 7 }, () => refusalOf(thread.read(endless)));
    const { code, details } = await refusalOf(thread.read('a: 1'));
    expect([code, details.retryAfterSeconds]).toEqual(['TooManyRequests', 1]);
    for (const one of reading) {
      clock.advance(10_000);
      await one;
    }
    expect(await thread.read('a: 1')).toBe('{"a":1}');
  });

  it('ends when nothing is left to read, and starts again on demand', async () => {
    const clock = new VirtualClock();
    const thread = new YamlThread(clock);
    expect(await thread.read('a: 1')).toBe('{"a":1}');
    clock.advance(10_000);
    expect(await thread.read('a: 2')).toBe('{"a":2}');
  });
});
