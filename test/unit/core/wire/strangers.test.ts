import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { Strangers, StrangersLog, summaryEveryMs } from '../../../../core/wire/strangers.ts';

function bench() {
  const clock = new VirtualClock();
  const lines: { level: string; fields: object; message: string }[] = [];
  const at = (level: string) => (fields: object, message: string) => lines.push({ level, fields, message });
  const strangers = new StrangersLog({ ...silentLogger, warn: at('warn'), debug: at('debug') }, clock);
  const warnings = () => lines.filter(({ level }) => level === 'warn');
  return { clock, lines, strangers, warnings };
}

describe('connections that never become a session', () => {
  it('are logged at once if they are few', () => {
    const { clock, strangers, warnings } = bench();
    strangers.refused('10.0.0.1:4711', new Error('its certificate has expired'));
    const line = {
      fields: { remote: '10.0.0.1:4711', reason: 'its certificate has expired' },
      message: 'a child was refused',
    };
    expect(warnings()).toEqual([{ level: 'warn', ...line }]);
    clock.advance(10 * summaryEveryMs);
    expect(warnings()).toHaveLength(1);
    strangers.refused('10.0.0.1:4712', new Error('its certificate has expired'));
    expect(warnings()).toHaveLength(2);
  });

  it('are one line an interval if they are many, with counts and the newest address of each reason', () => {
    const { clock, lines, strangers, warnings } = bench();
    for (let probe = 1; probe <= 1_000; probe++) strangers.refused(`10.0.0.9:${probe}`, new Error('read ECONNRESET'));
    strangers.refused('10.0.0.1:4711', new Error('its certificate has expired'));
    expect(warnings().map(({ fields }) => fields)).toEqual([
      { remote: '10.0.0.9:1', reason: 'read ECONNRESET' },
      { remote: '10.0.0.1:4711', reason: 'its certificate has expired' },
    ]);
    clock.advance(summaryEveryMs);
    expect(warnings().slice(2)).toEqual([
      {
        level: 'warn',
        message: '1001 connections became no session, most of them because: read ECONNRESET',
        fields: {
          connections: 1_001,
          seconds: 60,
          reasons: [
            { reason: 'read ECONNRESET', connections: 1_000, example: '10.0.0.9:1000' },
            { reason: 'its certificate has expired', connections: 1, example: '10.0.0.1:4711' },
          ],
        },
      },
    ]);
    expect(lines.filter(({ level }) => level === 'debug')).toHaveLength(999);
  });

  it('use few lines and little memory, whatever text they choose', () => {
    const { clock, strangers, warnings } = bench();
    for (let path = 0; path < 10_000; path++) {
      strangers.refused(`10.0.0.9:${path}`, new Error(`there is no WebSocket at /${path}${'x'.repeat(10_000)}`));
    }
    clock.advance(summaryEveryMs);
    expect(warnings()).toHaveLength(5);
    const { reasons, connections } = warnings().at(-1)!.fields as { reasons: object[]; connections: number };
    expect({ reasons: reasons.length, connections }).toEqual({ reasons: 17, connections: 10_000 });
    expect(reasons[0]).toEqual({ reason: 'other reasons', connections: 10_000 - 16, example: '10.0.0.9:9999' });
    expect(JSON.stringify(warnings()).length).toBeLessThan(10_000);
  });
});

it('have no summary in an interval in which all were logged at once', () => {
  const strangers = new Strangers();
  expect([strangers.add('a', 'first'), strangers.add('b', 'second')]).toEqual([true, true]);
  expect(strangers.summary()).toBeUndefined();
  expect([strangers.add('a', 'first'), strangers.add('a', 'first')]).toEqual([true, false]);
  expect(strangers.summary()).toEqual([{ reason: 'first', connections: 2, example: 'a' }]);
});
