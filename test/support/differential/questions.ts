/** Generated writes: a kind, an object that is right or nearly right, and the way in which it is sent. A seed decides everything. */
import { cloneJson, equalJson } from '../../../core/object/json-value.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { isRecord } from '../../../core/runtime/is-record.ts';
import { SeededRandom } from '../../../core/runtime/random.ts';
import { baseObjects, kindOf, urlOf } from './answers.ts';
import { changed } from './wrong-objects.ts';

export interface Question {
  readonly method: 'POST' | 'PUT' | 'PATCH';
  readonly url: string;
  readonly type: string;
  readonly body: KubeObject | Readonly<Record<string, unknown>>;
}

const validations = ['Strict', 'Strict', 'Warn', 'Ignore'];
const patchTypes = ['application/merge-patch+json', 'application/strategic-merge-patch+json'];
/** Four of ten objects are new. The changes of the others meet the rules about updates. */
const newShare = 0.4;
const patchShare = 0.5;
const changesMax = 3;
const numbersMax = 1_000_000;

/** `stored`: the objects that both servers have, under their URLs. */
export function* questions(seed: number, stored: ReadonlyMap<string, KubeObject>): Generator<Question, never> {
  const random = new SeededRandom(seed);
  const below = (end: number) => Math.floor(random.fraction() * end);
  const updatable = [...stored];
  for (;;) {
    const query = `?dryRun=All&fieldValidation=${validations[below(validations.length)]}`;
    const isNew = updatable.length === 0 || random.fraction() < newShare;
    const base = isNew ? baseObjects[below(baseObjects.length)]! : updatable[below(updatable.length)]![1];
    const changes = Array.from({ length: 1 + below(changesMax) }, () => {
      return [below(numbersMax), below(numbersMax), below(numbersMax)] as const;
    });
    const object = changed(base, kindOf(base).schema(base.apiVersion.split('/').at(-1)!), changes);
    const url = `${urlOf(base)}${isNew ? '' : `/${base.metadata.name}`}${query}`;
    if (isNew) yield { method: 'POST', url, type: 'application/json', body: object };
    else if (random.fraction() >= patchShare) yield { method: 'PUT', url, type: 'application/json', body: object };
    else yield { method: 'PATCH', url, type: patchTypes[below(patchTypes.length)]!, body: patchOf(base, object) };
  }
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
