/** Dates and times as the formats `date` and `date-time` of schemas have them (RFC 3339). */

const date = /^\d{4}-(\d{2})-(\d{2})$/;
const dateTime = /^\d{4}-\d{2}-\d{2}[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

export function isDate(text: string): boolean {
  return date.test(text) && isDayOf(text);
}

export function isDateTime(text: string): boolean {
  return dateTime.test(text) && isDayOf(text.slice(0, 10));
}

/** JavaScript turns 30 February into a day in March. So the check writes the parsed date, and compares the result with `day`. */
function isDayOf(day: string): boolean {
  const time = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().slice(0, 10) === day;
}
