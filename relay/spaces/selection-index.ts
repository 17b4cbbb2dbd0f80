/**
 * An index of the placements of a space by the names in their rules, so that only placements that may select an object are checked. The work for a change of an
 * object does not grow with the number of placements. Each rule is in buckets of (group, resource, namespace, name or one label). Where the rule names no
 * value, the bucket has `*`. The key and the labels of an object give all buckets in which a rule for the object can be. A rule in these buckets may select the
 * object; `selectingItems` of downsync.ts decides.
 */
import type { DownsyncItem, DownsyncMatch } from '../../core/apiserver/kinds/edge-placement.ts';
import type { GroupResource } from '../../core/object/key.ts';
import { type LabelSelector, requirementsOf } from '../../core/object/selector.ts';
import { compareText } from '../../core/object/text-order.ts';
import { type Candidate, mayIncludeResource, selectingItems } from './downsync.ts';

export interface Selecting {
  readonly name: string;
  readonly items: readonly DownsyncItem[];
  /** The names of the StatusSummarizers that the placement names. */
  readonly namedSummarizers: readonly string[];
}

/** A placement that selects an object, with the items that select it. */
export interface SelectingPlacement {
  readonly placement: string;
  readonly items: readonly DownsyncItem[];
}

/** A part of the objects of one resource that a rule may select: one object, the objects of a namespace, or all. */
export interface Scope {
  readonly namespace?: string;
  readonly name?: string;
}

/** Limit for the buckets of one rule. A rule with longer lists goes into wider buckets: more objects are checked against it, but it takes no more memory. */
const bucketsMax = 1_000;
const any = '*';

export class SelectionIndex {
  readonly #byName = new Map<string, { readonly selecting: Selecting; readonly buckets: readonly string[] }>();
  readonly #buckets = new Map<string, Set<string>>();
  readonly #bySummarizer = new Map<string, Set<string>>();
  readonly #byNamespaceLabels = new Set<string>();
  /** Placements with a rule that may include bookkeeping, by resource. `*`: the rule names objects of any resource. */
  readonly #namingBookkeeping = new Map<string, Set<string>>();
  /** The number of checks of a placement against an object, since the start. */
  asked = 0;

  set(selecting: Selecting): void {
    const { name, items, namedSummarizers } = selecting;
    this.delete(name);
    const buckets = [...new Set(items.flatMap(bucketsOf))];
    this.#byName.set(name, { selecting, buckets });
    for (const bucket of buckets) addTo(this.#buckets, bucket, name);
    for (const summarizer of namedSummarizers) addTo(this.#bySummarizer, summarizer, name);
    const all = items.flatMap(({ except = [], ...item }): DownsyncMatch[] => [item, ...except]);
    if (all.some(({ namespaceSelectors }) => namespaceSelectors !== undefined)) this.#byNamespaceLabels.add(name);
    for (const resource of namedBookkeeping(items)) addTo(this.#namingBookkeeping, resource, name);
  }

  delete(name: string): void {
    const existing = this.#byName.get(name);
    if (!existing) return;
    this.#byName.delete(name);
    for (const bucket of existing.buckets) removeFrom(this.#buckets, bucket, name);
    for (const summarizer of existing.selecting.namedSummarizers) removeFrom(this.#bySummarizer, summarizer, name);
    this.#byNamespaceLabels.delete(name);
    for (const resource of namedBookkeeping(existing.selecting.items)) {
      removeFrom(this.#namingBookkeeping, resource, name);
    }
  }

  /** Whether a rule names the resource, of which all objects are bookkeeping, or one of its objects. */
  namesResource({ resource }: GroupResource): boolean {
    return this.#namingBookkeeping.has(resource) || this.#namingBookkeeping.has(any);
  }

  /** True if at least one rule reads the labels of namespaces. */
  get readsNamespaceLabels(): boolean {
    return this.#byNamespaceLabels.size > 0;
  }

  /** Returns the placements that name a StatusSummarizer. */
  naming(summarizer: string): ReadonlySet<string> {
    return this.#bySummarizer.get(summarizer) ?? new Set();
  }

  /** Returns the placements that select the object, sorted by name. */
  selecting(candidate: Candidate): SelectingPlacement[] {
    if (this.#byName.size === 0) return [];
    const names = new Set<string>();
    for (const bucket of bucketsFor(candidate)) for (const name of this.#buckets.get(bucket) ?? []) names.add(name);
    this.asked += names.size;
    const selected: SelectingPlacement[] = [];
    for (const name of names) {
      const items = selectingItems(this.#byName.get(name)!.selecting.items, candidate);
      if (items.length > 0) selected.push({ placement: name, items });
    }
    return selected.sort((a, b) => compareText(a.placement, b.placement));
  }
}

/** Returns the scopes in which the items may select objects of a resource. One empty scope means everywhere. */
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
  // If there are too many buckets, lists become `*`, the most specific list first: a rule with a long list is meant for many objects.
  const lists: (readonly string[])[] = [groups, resources, namespaces, narrow];
  for (let i = lists.length - 1; i > 0 && sizeOf(lists) > bucketsMax; i--) lists[i] = [any];
  return lists.reduce<string[]>((made, list) => made.flatMap((head) => list.map((one) => bucket(head, one))), ['']);
}

function* bucketsFor({ key, labels }: Candidate): Generator<string> {
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

/**
 * Returns one equality of each selector, or undefined if a selector has no equality. An object has to match at least one of the selectors, so it has at least
 * one of these labels.
 */
function labelsOf(selectors: readonly LabelSelector[] | undefined): string[] | undefined {
  const labels: string[] = [];
  for (const selector of selectors ?? [{}]) {
    const equality = requirementsOf(selector).find(({ operator }) => operator === 'In');
    if (!equality) return undefined;
    for (const value of equality.values ?? []) labels.push(labelOf(equality.key, value));
  }
  return labels;
}

const labelOf = (key: string, value: string) => `label ${key}=${value}`;
// No name contains this character. If one did, two rules would share a bucket, and both would be checked.
const bucket = (head: string, next: string) => `${head}\0${next}`;
const sizeOf = (lists: readonly (readonly string[])[]) => lists.reduce((size, list) => size * list.length, 1);

function namedBookkeeping(items: readonly DownsyncItem[]): Set<string> {
  return new Set(
    items.flatMap(({ resources = [], objectNames }) =>
      resources.filter((resource) => resource !== any || exact(objectNames) !== undefined),
    ),
  );
}

/** Returns undefined if the list is absent or contains `*`. */
function exact(list: readonly string[] | undefined): readonly string[] | undefined {
  return list?.includes(any) ? undefined : list;
}

/** Leaves out names that no object can have, because such names would not fit into a key. */
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
