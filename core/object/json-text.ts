/** Reads facts from a JSON text that JSON.parse loses. JSON.parse must accept the text. */

/** Strings, numbers, and the punctuation that shows where they are. */
const token = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|[{}[\]:,]/gs;
const colonBehind = /\s*:/y;

/** A name, or the index of an item. */
export type JsonTextStep = string | number;

/**
 * All tokens except `true`, `false` and `null`. `steps` is the place of the present token. All results share this one list, and each step changes it. A
 * name is in `steps` from the colon after the name on.
 */
export function* tokensOf(
  json: string,
): Generator<{ readonly found: string; readonly steps: readonly JsonTextStep[] }> {
  const steps: JsonTextStep[] = [];
  let last = '';
  for (const [found] of json.matchAll(token)) {
    if (found === '{') steps.push('');
    else if (found === '[') steps.push(0);
    else if (found === '}' || found === ']') steps.pop();
    else if (found === ':') steps[steps.length - 1] = JSON.parse(last) as string;
    else if (found === ',' && typeof steps.at(-1) === 'number') steps[steps.length - 1] = Number(steps.at(-1)) + 1;
    yield { found, steps };
    last = found;
  }
}

/**
 * The places of fields that one object has more than once, for example `spec.containers[0].name`; at most `duplicatesMax` places. `value` is the result of
 * JSON.parse for the text. JSON.parse keeps only the last field of each name.
 */
export function duplicateFields(json: string, value: unknown): string[] {
  // Nearly every text has no duplicates. Counting needs only a tenth of the time of the search, so counting comes first.
  return namesIn(json) === fieldsOf(value) ? [] : namedTwice(json);
}

function namesIn(json: string): number {
  let names = 0;
  for (let at = json.indexOf('"'); at >= 0; at = json.indexOf('"', at)) {
    at = endOfString(json, at + 1) + 1;
    colonBehind.lastIndex = at;
    if (colonBehind.test(json)) names++;
  }
  return names;
}

/** The position of the closing quote. Requires valid JSON. */
function endOfString(json: string, from: number): number {
  for (let at = json.indexOf('"', from); ; at = json.indexOf('"', at + 1)) {
    let escapes = 0;
    while (json[at - 1 - escapes] === '\\') escapes++;
    if (escapes % 2 === 0) return at;
  }
}

/** The bound of the Kubernetes API server. A longer list would not help the author. */
const duplicatesMax = 100;

function namedTwice(json: string): string[] {
  const places: string[] = [];
  /** For each open object: the names so far, and the names that `places` already has. */
  const open: { readonly names: Set<JsonTextStep>; readonly listed: Set<JsonTextStep> }[] = [];
  for (const { found, steps } of tokensOf(json)) {
    if (found === '{' || found === '[') open.push({ names: new Set(), listed: new Set() });
    else if (found === '}' || found === ']') open.pop();
    else if (found === ':') {
      const { names, listed } = open.at(-1)!;
      const name = steps.at(-1)!;
      if (names.has(name) && !listed.has(name)) {
        listed.add(name);
        places.push(pathOf(steps));
        if (places.length === duplicatesMax) break;
      }
      names.add(name);
    }
  }
  return places;
}

/** The path as the Kubernetes API server writes it. */
function pathOf(steps: readonly JsonTextStep[]): string {
  return steps.reduce<string>((path, step) => {
    if (typeof step === 'number') return `${path}[${step}]`;
    return path === '' ? step : `${path}.${step}`;
  }, '');
}

function fieldsOf(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0;
  const inside = Object.values(value);
  return inside.reduce<number>((sum, field) => sum + fieldsOf(field), Array.isArray(value) ? 0 : inside.length);
}
