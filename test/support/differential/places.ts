/** The places of an object where a user writes a text: fields, items of lists, and the names and values of maps. */
import type { FieldType } from '../../../core/apiserver/schema.ts';
import { setField } from '../../../core/object/json-value.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { isRecord } from '../../../core/runtime/is-record.ts';
import { kindOf } from './answers.ts';

export interface TextPlace {
  readonly path: string;
  /** Calls `use` while the text is at the place, and then puts back what was there. */
  readonly having: (text: string, use: () => void) => void;
}

const scalars = new Set(['string', 'quantity', 'intOrString']);
/** These fields say which kind the object is of, or only the server writes them. */
const fixed = new Set(['.apiVersion', '.kind', '.status', '.metadata.managedFields']);

/** The places change the object itself while `having` runs. Absent fields count too. */
export function textPlaces(object: KubeObject): TextPlace[] {
  const found: TextPlace[] = [];
  collect(object, kindOf(object).schema(object.apiVersion.split('/').at(-1)!), '', found);
  return found;
}

function collect(value: unknown, type: FieldType, path: string, found: TextPlace[]): void {
  if (type.type === 'list' && Array.isArray(value)) return collect(value[0], type.items, `${path}[]`, found);
  if (type.type !== 'object' || !isRecord(value)) return;
  for (const [name, { type: of }] of type.fields()) {
    const at = `${path}.${name}`;
    if (fixed.has(at)) continue;
    const put = (suffix: string, made: (text: string) => unknown) =>
      found.push({ path: at + suffix, having: (text, use) => having(value, name, made(text), use) });
    if (scalars.has(of.type)) put('', (text) => text);
    else if (of.type === 'list' && scalars.has(of.items.type)) put('[]', (text) => [text]);
    else if (of.type === 'map') {
      const known = isRecord(value[name]) ? value[name] : {};
      put('{name}', (text) => withEntry(known, text, '1'));
      put('{value}', (text) => withEntry(known, Object.keys(known)[0] ?? 'a', text));
    } else if (value[name] !== undefined) collect(value[name], of, at, found);
  }
}

function having(owner: Record<string, unknown>, name: string, value: unknown, use: () => void): void {
  const before = owner[name];
  owner[name] = value;
  try {
    use();
  } finally {
    if (before === undefined) delete owner[name];
    else owner[name] = before;
  }
}

function withEntry(map: Record<string, unknown>, name: string, value: unknown): Record<string, unknown> {
  const next = { ...map };
  setField(next, name, value);
  return next;
}
