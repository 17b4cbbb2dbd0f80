/** The schedules of CronJobs: five fields or a descriptor, read as the library robfig/cron reads them, with its messages. */

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names?: ReadonlyMap<string, number>;
}

const named = (first: number, names: string) => new Map(names.split(' ').map((name, i) => [name, first + i] as const));
const fieldBounds: readonly Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: named(1, 'jan feb mar apr may jun jul aug sep oct nov dec') },
  { min: 0, max: 6, names: named(0, 'sun mon tue wed thu fri sat') },
];
const descriptors: ReadonlySet<string> = new Set([
  '@yearly',
  '@annually',
  '@monthly',
  '@weekly',
  '@daily',
  '@midnight',
  '@hourly',
]);
const every = '@every ';
/** As in `crd/formats.ts`: only one way to match each text. */
const duration = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;

/** The mistake in a schedule. Undefined: there is none. */
export function scheduleMistake(text: string): string | undefined {
  let spec = text;
  if (/^(TZ|CRON_TZ)=/.test(spec)) {
    const zone = /^[^=]*=([^ ]*)/.exec(spec)![1]!;
    if (!isTimeZone(zone)) return `provided bad location ${zone}: unknown time zone ${zone}`;
    spec = spec.replace(/^\S*\s*/, '').trim();
  }
  if (spec.startsWith('@')) return descriptorMistake(spec);
  const parts = spec.split(/\s+/).filter((part) => part !== '');
  if (parts.length !== fieldBounds.length) {
    return `expected exactly 5 fields, found ${parts.length}: [${parts.join(' ')}]`;
  }
  for (const [i, part] of parts.entries()) {
    for (const item of part.split(',').filter((one) => one !== '')) {
      const mistake = rangeMistake(item, fieldBounds[i]!);
      if (mistake !== undefined) return mistake;
    }
  }
  return undefined;
}

function descriptorMistake(spec: string): string | undefined {
  if (descriptors.has(spec)) return undefined;
  if (!spec.startsWith(every)) return `unrecognized descriptor: ${spec}`;
  const period = spec.slice(every.length);
  return duration.test(period)
    ? undefined
    : `failed to parse duration ${spec}: time: invalid duration ${JSON.stringify(period)}`;
}

function rangeMistake(text: string, bounds: Bounds): string | undefined {
  const [range = '', step, ...moreSteps] = text.split('/');
  const [low = '', high, ...moreEnds] = range.split('-');
  let start = bounds.min;
  let end = bounds.max;
  if (low !== '*' && low !== '?') {
    const first = numberOf(low, bounds);
    if (typeof first === 'string') return first;
    start = first;
    if (moreEnds.length > 0) return `too many hyphens: ${text}`;
    const last = high === undefined ? first : numberOf(high, bounds);
    if (typeof last === 'string') return last;
    end = high === undefined && step !== undefined ? bounds.max : last;
  }
  if (moreSteps.length > 0) return `too many slashes: ${text}`;
  const width = step === undefined ? 1 : numberOf(step, { min: 0, max: 0 });
  if (typeof width === 'string') return width;
  if (start < bounds.min) return `beginning of range (${start}) below minimum (${bounds.min}): ${text}`;
  if (end > bounds.max) return `end of range (${end}) above maximum (${bounds.max}): ${text}`;
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${text}`;
  return width === 0 ? `step of range should be a positive number: ${text}` : undefined;
}

/** A text is the mistake. */
function numberOf(text: string, { names }: Bounds): number | string {
  const name = names?.get(text.toLowerCase());
  if (name !== undefined) return name;
  if (!/^[+-]?\d+$/.test(text)) {
    const quoted = JSON.stringify(text);
    return `failed to parse int from ${text}: strconv.Atoi: parsing ${quoted}: invalid syntax`;
  }
  const number = Number(text);
  return number < 0 ? `negative number (${number}) not allowed: ${text}` : number;
}

export function isTimeZone(zone: string): boolean {
  if (zone === '') return true;
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return !/^[+-]/.test(zone);
  } catch {
    return false;
  }
}
