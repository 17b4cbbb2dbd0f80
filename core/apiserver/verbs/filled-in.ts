/**
 * The fields that a workload space has filled in with defaults. Clients see these fields as at a Kubernetes API server, and they do not travel: each cluster fills
 * in its own. A note in the stored metadata names them, and no client sees the note. A field leaves the note when somebody gives it another value.
 */
import { parseJson } from '../../object/json.ts';
import { equalJson, ownField, setField } from '../../object/json-value.ts';
import type { KubeObject } from '../../object/meta.ts';
import { isRecord } from '../../runtime/is-record.ts';

/** Fields by name, items of lists by `itemSteps`. 1: the whole value below is filled in. */
export type FilledIn = { readonly [step: string]: FilledIn | 1 };

type Values = Record<string, unknown>;

/** Sorts before every other field of metadata, so that the note can be cut out of stored bytes (object/canonical.ts). */
export const noteField = '#filledIn';
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** The text of the note of a stored object, which is removed from its metadata. Undefined: the space has filled in nothing. */
export function takeNote({ metadata }: KubeObject): string | undefined {
  const fields = metadata as Values;
  const note = fields[noteField] as string | undefined;
  delete fields[noteField];
  return note;
}

export function putNote({ metadata }: KubeObject, note: string | undefined): void {
  if (note !== undefined) (metadata as Values)[noteField] = note;
}

export function readNote(note: string): FilledIn {
  return JSON.parse(note.replaceAll("'", '"')) as FilledIn;
}

/** The note is a text without quotation marks, so that its end in the stored bytes is the first one. */
export function noteText(filled: FilledIn | undefined): string | undefined {
  return filled && JSON.stringify(filled).replaceAll("'", '\\u0027').replaceAll('"', "'");
}

/** The fields that `after` has and `before`, the object as it was written, lacks. Go can't tell an empty text or a 0 from an absent value. */
export function fieldsAdded(before: object, after: object): FilledIn | undefined {
  const [from, to] = [stepsOf(before), stepsOf(after)];
  return trie(to, ([step, value]) => {
    const own = from.get(step);
    if (own === undefined || own === null || own === '' || own === 0) return equalJson(own, value) ? undefined : 1;
    return isNested(own) && isNested(value) ? fieldsAdded(own, value) : undefined;
  });
}

/** The fields of the note whose values are the same after a write, and which the configuration of the writer, if known, does not name. */
export function fieldsKept(note: FilledIn, before: object, after: object, given: unknown): FilledIn | undefined {
  const [from, to, named] = [stepsOf(before), stepsOf(after), isNested(given) ? stepsOf(given) : undefined];
  return trie(Object.entries(note), ([step, below]) => {
    const [old, value, own] = [from.get(step), to.get(step), named?.get(step)];
    if (value === undefined) return undefined;
    if (below === 1 && own === undefined && equalJson(old, value)) return 1;
    if (!isNested(old) || !isNested(value)) return undefined;
    return fieldsKept(below === 1 ? all(old) : below, old, value, own);
  });
}

/** The fields of both notes. */
export function bothNotes(a: FilledIn | undefined, b: FilledIn | undefined): FilledIn | undefined {
  if (!a || !b) return a ?? b;
  const both = Object.entries(b).map(([step, below]) => {
    const other = ownField(a, step);
    if (other === undefined || below === 1) return [step, below] as const;
    return [step, other === 1 ? 1 : bothNotes(other, below)!] as const;
  });
  return { ...a, ...Object.fromEntries(both) };
}

/** The object as it travels: without the fields that its space has filled in. `object` stays as it is. */
export function withoutFilledIn(object: KubeObject): KubeObject {
  const copy = { ...object, metadata: { ...object.metadata } };
  const note = takeNote(copy);
  return note === undefined ? copy : (without(copy, readNote(note)) as KubeObject);
}

/** The configuration that the writer has applied by kubectl. It names fields whose values were already there. */
export function lastAppliedOf({ metadata }: KubeObject): unknown {
  const text = metadata.annotations?.[lastApplied];
  if (text === undefined) return undefined;
  try {
    return parseJson(text);
  } catch {
    // Clients may write any text.
    return undefined;
  }
}

function without(value: object, note: FilledIn): object {
  const kept = [...stepsOf(value)].flatMap(([step, field]) => {
    const below = ownField(note, step);
    if (below === 1) return [];
    return [[step, below && isNested(field) ? without(field, below) : field] as const];
  });
  return Array.isArray(value) ? kept.map(([, item]) => item) : Object.fromEntries(kept);
}

/** The fields of an object, or the items of a list by name. Items without a name are counted. */
function stepsOf(value: object): Map<string, unknown> {
  if (!Array.isArray(value)) return new Map(Object.entries(value));
  const steps = new Map<string, unknown>();
  for (const [at, item] of value.entries()) {
    const name = isRecord(item) && typeof item.name === 'string' && item.name !== '' ? `=${item.name}` : '';
    steps.set(name === '' || steps.has(name) ? String(at) : name, item);
  }
  return steps;
}

function all(value: object): FilledIn {
  return Object.fromEntries([...stepsOf(value).keys()].map((step) => [step, 1]));
}

function trie<T>(
  steps: Iterable<readonly [string, T]>,
  below: (step: readonly [string, T]) => FilledIn | 1 | undefined,
): FilledIn | undefined {
  let found: Record<string, FilledIn | 1> | undefined;
  for (const step of steps) {
    const one = below(step);
    if (one === undefined) continue;
    found ??= {};
    setField(found, step[0], one);
  }
  return found;
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
