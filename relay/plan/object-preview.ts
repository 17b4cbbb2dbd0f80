/** Which objects of a space a placement would select if some objects were written, compared with the objects that it selects now. */
import type { DownsyncItem } from '../../core/apiserver/kinds/edge-placement.ts';
import { mayTravel } from '../../core/apiserver/kinds/travelling.ts';
import { formatGroupResource, formatKey, type ObjectKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { equalBytes } from '../../core/store/bytes.ts';
import { candidateOf, selectingItems } from '../spaces/downsync.ts';
import { namespaceObjects } from '../spaces/needs.ts';
import { payloadOf } from '../spaces/payload.ts';
import { scopesOf } from '../spaces/selection-index.ts';
import type { OverlaidObject, SpaceOverlay } from './overlay.ts';

export interface ObjectPreview {
  readonly present: number;
  readonly next: number;
  readonly joining: NamedCount;
  readonly leaving: NamedCount;
  /** Objects that the placement selects before and after, and whose content differs. */
  readonly changing: NamedCount;
  /** True: the space has more objects than one preview reads. The numbers are of the objects that were read. */
  readonly isPartial?: true;
}

export interface NamedCount {
  readonly count: number;
  /** Some of the objects, such as `deployments.apps shop/web`. */
  readonly sample: readonly string[];
}

/** Names in one sample. A person reads some of them, and counts the rest. */
const sampleMax = 20;
/** Limit for the objects that one preview of a placement reads. Parsing this many objects takes about half a second. */
export const objectsReadMax = 20_000;

export function previewObjects(
  overlay: SpaceOverlay,
  present: readonly DownsyncItem[],
  next: readonly DownsyncItem[],
): ObjectPreview {
  const counts = { present: 0, next: 0 };
  const joining = new Sample();
  const leaving = new Sample();
  const changing = new Sample();
  const isWhole = visitSelected(overlay, present, next, ({ key, had, gets, object }) => {
    counts.present += Number(had);
    counts.next += Number(gets);
    if (gets && !had) joining.add(key);
    else if (had && !gets) leaving.add(key);
    else if (object.isWritten && object.present && !isSamePayload(object.present, object.next)) changing.add(key);
  });
  return {
    ...counts,
    joining: joining.counted(),
    leaving: leaving.counted(),
    changing: changing.counted(),
    ...(isWhole ? {} : { isPartial: true }),
  };
}

export interface SelectedObject {
  readonly key: ObjectKey;
  readonly had: boolean;
  readonly gets: boolean;
  readonly object: OverlaidObject;
}

/** Calls `see` for each object that one of the two lists of rules selects. Returns false if there were more objects than `objectsReadMax`. */
export function visitSelected(
  overlay: SpaceOverlay,
  present: readonly DownsyncItem[],
  next: readonly DownsyncItem[],
  see: (selected: SelectedObject) => void,
): boolean {
  let left = objectsReadMax;
  const seen = new Set<string>();
  for (const resource of overlay.resources().filter(mayTravel)) {
    for (const scope of scopesOf([...present, ...next], resource)) {
      overlay.visit(resource, scope.namespace, (object) => {
        const text = formatKey(object.key);
        if (seen.has(text)) return true;
        seen.add(text);
        const had = object.present !== undefined && selects(present, object.key, object.present, overlay, true);
        const gets = selects(next, object.key, object.next, overlay, false);
        if (had || gets) see({ key: object.key, had, gets, object });
        left -= 1;
        return left > 0;
      });
      if (left <= 0) return false;
    }
  }
  return true;
}

/** Returns whether the rules select the object. `isPresent`: with the labels that the object's namespace has now. */
export function selects(
  items: readonly DownsyncItem[],
  key: ObjectKey,
  object: KubeObject,
  overlay: SpaceOverlay,
  isPresent: boolean,
): boolean {
  if (key.namespace === '' || !items.some((item) => item.namespaceSelectors !== undefined)) {
    return selectingItems(items, candidateOf(key, object, undefined)).length > 0;
  }
  const namespaceKey = { ...namespaceObjects, name: key.namespace };
  const namespace = isPresent ? overlay.present(namespaceKey) : overlay.get(namespaceKey);
  return selectingItems(items, candidateOf(key, object, namespace?.metadata.labels ?? {})).length > 0;
}

function isSamePayload(a: KubeObject, b: KubeObject): boolean {
  return equalBytes(payloadOf(a), payloadOf(b));
}

export function shownKey(key: ObjectKey): string {
  return `${formatGroupResource(key)} ${key.namespace === '' ? '' : `${key.namespace}/`}${key.name}`;
}

class Sample {
  #count = 0;
  readonly #sample: string[] = [];

  add(key: ObjectKey): void {
    this.#count += 1;
    if (this.#sample.length < sampleMax) this.#sample.push(shownKey(key));
  }

  counted(): NamedCount {
    return { count: this.#count, sample: this.#sample };
  }
}
