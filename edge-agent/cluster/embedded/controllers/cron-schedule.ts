/**
 * Parses the five fields of a cron schedule (https://en.wikipedia.org/wiki/Cron), as CronJobs use them: lists, ranges, steps, names of months and weekdays,
 * and the usual nicknames. If both day of month and day of week are restricted, a match of one of them is enough.
 */

export interface CronSchedule {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  readonly anyDay: boolean;
  readonly anyWeekday: boolean;
}

export interface WallTime {
  readonly minute: number;
  readonly hour: number;
  readonly day: number;
  readonly month: number;
  /** 0 is Sunday. */
  readonly weekday: number;
}

const nicknames: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};
const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const weekdayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** Parses a schedule. Undefined: the text is no schedule. */
export function parseSchedule(text: string): CronSchedule | undefined {
  const fields = (nicknames[text.trim()] ?? text).trim().split(/\s+/);
  if (fields.length !== 5) return undefined;
  const [minute, hour, day, month, weekday] = fields as [string, string, string, string, string];
  const minutes = parseField(minute, 0, 59);
  const hours = parseField(hour, 0, 23);
  const days = parseField(day, 1, 31);
  const months = parseField(month, 1, 12, monthNames, 1);
  const weekdays = parseField(weekday, 0, 7, weekdayNames);
  if (!minutes || !hours || !days || !months || !weekdays) return undefined;
  if (weekdays.has(7)) weekdays.add(0);
  const isAny = (field: string) => field.startsWith('*') || field.startsWith('?');
  return { minutes, hours, days, months, weekdays, anyDay: isAny(day), anyWeekday: isAny(weekday) };
}

export function isDue(schedule: CronSchedule, at: WallTime): boolean {
  if (!schedule.minutes.has(at.minute) || !schedule.hours.has(at.hour) || !schedule.months.has(at.month)) return false;
  const day = schedule.days.has(at.day);
  const weekday = schedule.weekdays.has(at.weekday);
  return schedule.anyDay || schedule.anyWeekday ? day && weekday : day || weekday;
}

/** The time that clocks of the time zone show. Throws RangeError if the zone does not exist. */
export function wallTime(atMs: number, timeZone: string): WallTime {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    weekday: 'short',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  }).formatToParts(atMs);
  const of = (type: string) => parts.find((part) => part.type === type)?.value ?? '';
  return {
    minute: Number(of('minute')),
    hour: Number(of('hour')),
    day: Number(of('day')),
    month: Number(of('month')),
    weekday: weekdayNames.indexOf(of('weekday').toLowerCase()),
  };
}

function parseField(
  text: string,
  min: number,
  max: number,
  names: readonly string[] = [],
  firstName = 0,
): Set<number> | undefined {
  const values = new Set<number>();
  const number = (word: string) => {
    const named = names.indexOf(word.toLowerCase());
    return named >= 0 ? named + firstName : /^\d+$/.test(word) ? Number(word) : Number.NaN;
  };
  for (const item of text.split(',')) {
    const [range = '', stepText, ...more] = item.split('/');
    const step = stepText === undefined ? 1 : Number(stepText);
    const [fromText = '', toText, ...rest] = range.split('-');
    const any = range === '*' || range === '?';
    const from = any ? min : number(fromText);
    const to = any ? max : toText !== undefined ? number(toText) : stepText !== undefined ? max : from;
    const valid = Number.isInteger(step) && step > 0 && from >= min && to <= max && from <= to;
    if (!valid || more.length > 0 || rest.length > 0) return undefined;
    for (let value = from; value <= to; value += step) values.add(value);
  }
  return values;
}
