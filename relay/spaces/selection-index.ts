/**
 * The placements of a space by what their rules name, so that an object asks only those that may select it: work per change of an object does not grow
 * with the number of placements. Each rule stands in buckets of (group, resource, namespace, name or one label), with `*` where it names none; an
 * object looks into those that its own key and labels make. What stands there only may select it: selectingItems of downsync.ts decides.
 */
import type { DownsyncItem } from '../../core/apiserver/kinds/edge-placement.ts';
import type { GroupResource } from '../../core/object/key.ts';
import { type LabelSelector, requirementsOf } from '../../core/object/selector.ts';
import { compareText } from '../../core/object/text-order.ts';
import { type Candidate, mayIncludeResource, selectingItems } from './downsync.ts';

export interface Selecting {
  readonly name: string;
  readonly items: readonly DownsyncItem[];
  /** StatusSummarizers. */
  readonly namedSummarizers: readonly string[];
}

/** A placement that selects an object, with the items that do. */
export interface SelectingPlacement {
  readonly placement: string;
  readonly items: readonly DownsyncItem[];
}

/** Objects of one resource that a rule may select: one by one, those of a namespace, or all. */
export interface Scope {
  readonly namespace?: string;
  readonly name?: string;
}

/** Buckets of one rule: a rule that lists more stands in wider ones, where more objects ask it, and takes no more memory than this. */
const bucketsMax = 1_000;
const any = '*';

export class SelectionIndex {
  readonly #byName = new Map<string, { readonly selecting: Selecting; readonly buckets: readonly string[] }>();
  readonly #buckets = new Map<string, Set<string>>();
  readonly #bySummarizer = new Map<string, Set<string>>();
  readonly #byNamespaceLabels = new Set<string>();
  /** Placements asked whether they select an object, since the start. */
  asked = 0;

  set(selecting: Selecting): void {
    const { name, items, namedSummarizers } = selecting;
    this.delete(name);
    const buckets = [...new Set(items.flatMap(bucketsOf))];
    this.#byName.set(name, { selecting, buckets });
    for (const bucket of buckets) addTo(this.#buckets, bucket, name);
    for (const summarizer of namedSummarizers) addTo(this.#bySummarizer, summarizer, name);
    if (items.some((item) => item.namespaceSelectors !== undefined)) this.#byNamespaceLabels.add(name);
  }

  delete(name: string): void {
    const known = this.#byName.get(name);
    if (!known) return;
    this.#byName.delete(name);
    for (const bucket of known.buckets) removeFrom(this.#buckets, bucket, name);
    for (const summarizer of known.selecting.namedSummarizers) removeFrom(this.#bySummarizer, summarizer, name);
    this.#byNamespaceLabels.delete(name);
  }

  /** Some rule reads the labels of namespaces. */
  get readsNamespaceLabels(): boolean {
    return this.#byNamespaceLabels.size > 0;
  }

  /** Those that name a StatusSummarizer. */
  naming(summarizer: string): ReadonlySet<string> {
    return this.#bySummarizer.get(summarizer) ?? new Set();
  }

  /** Those that select the object, in order of name. */
  selecting(candidate: Candidate): SelectingPlacement[] {
    const asked = new Set<string>();
    for (const bucket of lookedInto(candidate)) for (const name of this.#buckets.get(bucket) ?? []) asked.add(name);
    this.asked += asked.size;
    const selected: SelectingPlacement[] = [];
    for (const name of asked) {
      const items = selectingItems(this.#byName.get(name)!.selecting.items, candidate);
      if (items.length > 0) selected.push({ placement: name, items });
    }
    return selected.sort((a, b) => compareText(a.placement, b.placement));
  }
}

/** Where objects of a resource stand that one of the items may select; everywhere is one empty scope. */
export function scopesOf(items: readonly DownsyncItem[], resource: GroupResource): Scope[] {
  const scopes = new Map<string, Scope>();
  for (const item of items.filter((one) => mayIncludeResource(one, resource))) {
    const [namespaces, names] = [possible(item.namespaces), possible(item.objectNames)];
    if (!namespaces) return [{}];
    const isListed = names !== undefined && namespaces.length * names.length <= bucketsMax;
    for (const namespace of namespaces) {
      if (!isListed) scopes.set(namespace, { namespace });
      else for (const name of names) scopes.set(bucket(namespace, name), { namespace, name });
    }
  }
  return [...scopes.values()];
}

function bucketsOf(item: DownsyncItem): string[] {
  const groups = [item.apiGroup ?? any];
  const resources = exact(item.resources ?? []) ?? [any];
  const namespaces = exact(item.namespaces) ?? [any];
  const names = exact(item.objectNames)?.map((name) => `name ${name}`);
  const narrow = names ?? labelsOf(item.labelSelectors) ?? [any];
  // Widened from the end: what is nearest to the object goes first, since a rule that lists that much is for much.
  const lists: (readonly string[])[] = [groups, resources, namespaces, narrow];
  for (let i = lists.length - 1; i > 0 && sizeOf(lists) > bucketsMax; i--) lists[i] = [any];
  return lists.reduce<string[]>((made, list) => made.flatMap((head) => list.map((one) => bucket(head, one))), ['']);
}

function* lookedInto({ key, labels }: Candidate): Generator<string> {
  const narrow = [`name ${key.name}`, ...Object.entries(labels).map(([name, value]) => labelOf(name, value)), any];
  for (const group of [key.group, any]) {
    for (const resource of [key.resource, any]) {
      for (const namespace of key.namespace === '' ? [any] : [key.namespace, any]) {
        const head = bucket(bucket(bucket('', group), resource), namespace);
        for (const one of narrow) yield bucket(head, one);
      }
    }
  }
}

/** Of selectors of which one is to match: one equality of each; undefined when one of them has none. */
function labelsOf(selectors: readonly LabelSelector[] | undefined): string[] | undefined {
  const found: string[] = [];
  for (const selector of selectors ?? [{}]) {
    const equality = requirementsOf(selector).find(({ operator }) => operator === 'In');
    if (!equality) return undefined;
    for (const value of equality.values ?? []) found.push(labelOf(equality.key, value));
  }
  return found;
}

const labelOf = (key: string, value: string) => `label ${key}=${value}`;
// No name has this in it; if one had, two rules would share a bucket and be asked.
const bucket = (head: string, next: string) => `${head}\0${next}`;
const sizeOf = (lists: readonly (readonly string[])[]) => lists.reduce((size, list) => size * list.length, 1);

/** Undefined: all, or nothing said. */
function exact(list: readonly string[] | undefined): readonly string[] | undefined {
  return list?.includes(any) ? undefined : list;
}

/** Without what no object can be called, which would not be a key. */
function possible(list: readonly string[] | undefined): string[] | undefined {
  return exact(list)?.filter((name) => !/[\0/]/.test(name));
}

function addTo(sets: Map<string, Set<string>>, key: string, name: string): void {
  const names = sets.get(key) ?? new Set();
  sets.set(key, names.add(name));
}

function removeFrom(sets: Map<string, Set<string>>, key: string, name: string): void {
  const names = sets.get(key);
  names?.delete(name);
  if (names?.size === 0) sets.delete(key);
}
