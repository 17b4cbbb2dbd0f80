/** Generated writes: a kind, an object that is right or nearly right, and the way in which it is sent. A seed decides everything. */
import { cloneJson, equalJson } from '../../../core/object/json-value.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { isRecord } from '../../../core/runtime/is-record.ts';
import { SeededRandom } from '../../../core/runtime/random.ts';
import { baseObjects, kindOf, urlOf } from './answers.ts';
import { appliedObject, applyOptions } from './applied-objects.ts';
import { operationsOf, wrongOperation } from './json-operations.ts';
import { changed } from './wrong-objects.ts';

export interface Question {
  readonly method: 'POST' | 'PUT' | 'PATCH';
  readonly url: string;
  readonly type: string;
  readonly body: unknown;
}

/** A whole number from 0 to before the end. */
export type Below = (end: number) => number;

const validations = ['Strict', 'Strict', 'Warn', 'Ignore'];
/** Four of ten objects are new. The changes of the others meet the rules about updates. */
const newShare = 0.4;
const changesMax = 3;
const numbersMax = 1_000_000;

const json = 'application/json';
/** The ways to change an object, and the body that makes `next` from `base`. */
const changes: readonly (readonly [
  type: string,
  bodyOf: (base: KubeObject, next: KubeObject, below: Below) => unknown,
])[] = [
  [json, (_, next) => unversioned(next)],
  [json, (_, next) => unversioned(next)],
  ['application/merge-patch+json', patchOf],
  ['application/strategic-merge-patch+json', patchOf],
  ['application/json-patch+json', (base, next, below) => [...operationsOf(base, next), ...wrongOperation(base, below)]],
  ['application/apply-patch+yaml', (_, next, below) => appliedObject(next, below)],
];

/** `stored`: the objects that both servers have, under their URLs. */
export function* questions(seed: number, stored: ReadonlyMap<string, KubeObject>): Generator<Question, never> {
  const random = new SeededRandom(seed);
  const below = (end: number) => Math.floor(random.fraction() * end);
  const updatable = [...stored];
  for (;;) {
    const query = `?dryRun=All&fieldValidation=${validations[below(validations.length)]}`;
    const isNew = updatable.length === 0 || random.fraction() < newShare;
    const base = isNew ? baseObjects[below(baseObjects.length)]! : updatable[below(updatable.length)]![1];
    const numbers = Array.from({ length: 1 + below(changesMax) }, () => {
      return [below(numbersMax), below(numbersMax), below(numbersMax)] as const;
    });
    const made = changed(base, kindOf(base).schema(base.apiVersion.split('/').at(-1)!), numbers);
    const object = isNew ? made : withTolerations(made, base);
    const url = urlOf(base);
    if (isNew) {
      yield { method: 'POST', url: `${url}${query}`, type: json, body: object };
      continue;
    }
    const [type, bodyOf] = changes[below(changes.length)]!;
    const options = type.includes('apply') ? applyOptions(below) : '';
    const place = `${url}/${base.metadata.name}${query}${options}`;
    yield { method: type === json ? 'PUT' : 'PATCH', url: place, type, body: bodyOf(base, object, below) };
  }
}

/** An API server gives every pod tolerations, also after an update has removed them. So no update of a pod changes its tolerations here. */
function withTolerations(made: KubeObject, base: KubeObject): KubeObject {
  if (base.kind !== 'Pod' || !isRecord(made.spec)) return made;
  return { ...made, spec: { ...made.spec, tolerations: (base.spec as { tolerations?: unknown }).tolerations } };
}

/** Both servers have other versions of the object. */
function unversioned(object: KubeObject): KubeObject {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** The merge patch that makes `next` from `base`. */
function patchOf(base: Readonly<Record<string, unknown>>, next: Readonly<Record<string, unknown>>) {
  const patch: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(base), ...Object.keys(next)])) {
    const [before, after] = [base[name], next[name]];
    if (equalJson(before, after)) continue;
    if (isRecord(before) && isRecord(after)) patch[name] = patchOf(before, after);
    else patch[name] = after === undefined ? null : cloneJson(after);
  }
  return patch;
}
