/** JSON as a text, for what its value no longer tells. Of texts that JSON.parse takes. */

/** Strings, numbers, and what gives them their place. */
const token = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|[{}[\]:,]/gs;
const colonBehind = /\s*:/y;

/** A name, or the number of an item. */
export type JsonTextStep = string | number;

/** Each token but `true`, `false` and `null`; `steps` is its place then, one list for all: a name's is known from the colon behind it. */
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

/** The first places of fields that one object has twice or more, of which a value has the last: `spec.containers[0].name`. `value` is what JSON.parse makes of the text. */
export function duplicateFields(json: string, value: unknown): string[] {
  // Nearly every text has none, and counting costs a tenth of looking.
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

/** Where its closing quote is. */
function endOfString(json: string, from: number): number {
  for (let at = json.indexOf('"', from); ; at = json.indexOf('"', at + 1)) {
    let escapes = 0;
    while (json[at - 1 - escapes] === '\\') escapes++;
    if (escapes % 2 === 0) return at;
  }
}

/** As in the API server: who has more has another problem. */
const duplicatesMax = 100;

function namedTwice(json: string): string[] {
  const places: string[] = [];
  /** Names in each object that is open, and which of these were told. */
  const open: { readonly names: Set<JsonTextStep>; readonly told: Set<JsonTextStep> }[] = [];
  for (const { found, steps } of tokensOf(json)) {
    if (found === '{' || found === '[') open.push({ names: new Set(), told: new Set() });
    else if (found === '}' || found === ']') open.pop();
    else if (found === ':') {
      const { names, told } = open.at(-1)!;
      const name = steps.at(-1)!;
      if (names.has(name) && !told.has(name)) {
        told.add(name);
        places.push(pathOf(steps));
        if (places.length === duplicatesMax) break;
      }
      names.add(name);
    }
  }
  return places;
}

/** As the API server writes it. */
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
