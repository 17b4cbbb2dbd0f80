import { describe, expect, it } from 'vitest';
import {
  isDue,
  parseSchedule,
  wallTime,
} from '../../../../../../edge-agent/cluster/embedded/controllers/cron-schedule.ts';

const due = (schedule: string, at: string, zone = 'UTC') =>
  isDue(parseSchedule(schedule)!, wallTime(Date.parse(at), zone));

describe('a cron schedule', () => {
  it('supports lists, ranges, steps, names and nicknames', () => {
    expect(due('0,30 8-18/2 * * mon-fri', '2024-06-03T10:30:00Z')).toBe(true);
    expect(due('0,30 8-18/2 * * mon-fri', '2024-06-03T11:30:00Z')).toBe(false);
    expect(due('0,30 8-18/2 * * mon-fri', '2024-06-02T10:30:00Z')).toBe(false);
    expect(due('*/15 * * jun *', '2024-06-02T10:45:00Z')).toBe(true);
    expect(due('@daily', '2024-06-02T00:00:00Z')).toBe(true);
    expect(due('@daily', '2024-06-02T00:01:00Z')).toBe(false);
    expect(due('0 0 * * 7', '2024-06-02T00:00:00Z')).toBe(true);
  });

  it('combines day of month and day of week with OR if both are given', () => {
    expect(due('0 0 13 * fri', '2024-06-13T00:00:00Z')).toBe(true);
    expect(due('0 0 13 * fri', '2024-06-14T00:00:00Z')).toBe(true);
    expect(due('0 0 13 * fri', '2024-06-15T00:00:00Z')).toBe(false);
  });

  it('is read in its time zone, summer and winter', () => {
    expect(due('30 22 * * *', '2024-06-01T20:30:00Z', 'Europe/Paris')).toBe(true);
    expect(due('30 22 * * *', '2024-12-01T21:30:00Z', 'Europe/Paris')).toBe(true);
    expect(due('30 22 * * *', '2024-12-01T20:30:00Z', 'Europe/Paris')).toBe(false);
  });

  it('is refused if it is malformed', () => {
    for (const text of [
      '',
      '* * * *',
      '60 * * * *',
      '* * 0 * *',
      '5-1 * * * *',
      '*/0 * * * *',
      'a * * * *',
      '1-2-3 * * * *',
    ]) {
      expect(parseSchedule(text)).toBeUndefined();
    }
  });
});
