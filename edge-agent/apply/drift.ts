/** Which fields of an object differ from what was applied, for people. */

const namedMax = 5;
const valueCharsMax = 60;

/** `spec.replicas is 1 and was applied as 3`. Empty: it is as it was applied. Both as the cluster tells them, so that defaults and quantities agree. */
export function driftWords(applied: unknown, wanted: unknown, live: unknown): string {
  const found: string[] = [];
  compare(applied, wanted, live, '', found);
  const more = found.length > namedMax ? `; and ${found.length - namedMax} more` : '';
  return `${found.slice(0, namedMax).join('; ')}${more}`;
}

/** `applied` says which fields are looked at. */
function compare(applied: unknown, wanted: unknown, live: unknown, path: string, found: string[]): void {
  if (isRecord(applied) && isRecord(wanted) && isRecord(live)) {
    for (const name of Object.keys(applied)) {
      compare(applied[name], wanted[name], live[name], path === '' ? name : `${path}.${name}`, found);
    }
    return;
  }
  if (Array.isArray(applied) && Array.isArray(wanted) && Array.isArray(live) && wanted.length === live.length) {
    for (const [i, item] of wanted.entries()) compare(applied[i] ?? item, item, live[i], `${path}[${i}]`, found);
    return;
  }
  if (JSON.stringify(wanted) === JSON.stringify(live)) return;
  found.push(`${path} is ${shown(live)} and was applied as ${shown(wanted)}`);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing';
  return text.length > valueCharsMax ? `${text.slice(0, valueCharsMax)}…` : text;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
