/**
 * Objects born at the edge that come up: watches the resources that the rules name, and holds what matches, ready to be told. One
 * object is told once for each source whose placements take it, with the names of those.
 *
 * Bound: `upsyncObjectsMax` objects for each placement, the first in order of their keys; what is beyond is counted and reported, and its body is not held.
 */

import { type PlacementId, splitPlacementId } from '../../core/entries/placement-id.ts';
import { namesResource } from '../../core/match/resource-rules.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { formatKey, type GroupResource, parseKey } from '../../core/object/key.ts';
import type { Labels } from '../../core/object/selector.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Cluster, ClusterEvent, ServedResource } from '../cluster/cluster.ts';
import { Bodies } from '../observe/bodies.ts';
import { ResourceWatches, resourceName } from '../observe/resource-watches.ts';
import { type Taking, takingPlacements, type UpsyncRules } from './rules.ts';

/** Some 10 MB of reports for each placement and destination: what a relay of a thousand agents can still hold on its disk. */
export const upsyncObjectsMax = 1_000;

export interface UpsyncEvents {
  /** What is told of the object for these sources may have changed. */
  changed(key: string, sources: Iterable<string>): void;
  /** Whether the object is taken may have changed, or is known now. */
  taken(key: string): void;
  /** The placement's objects are within the bound, or beyond it, or another number beyond it. */
  counted(id: PlacementId): void;
  /** More is known of what is on the cluster: what was told in an earlier life may hold no more. */
  synced(): void;
  /** An object that is to be told can't be read; it is tried again. */
  unread(key: string, error: unknown): void;
}

/** Of an object that is sent down: the placement whose rule takes it, if any. */
export type Taker = { readonly id: PlacementId | undefined } | 'unknown';

export interface Upsynced {
  readonly refs: readonly string[];
  readonly namespaced: boolean;
  readonly returnTo: 'Parent' | 'Center';
  readonly body: Uint8Array;
}

interface UpsyncedObject {
  readonly uid: string;
  readonly labels: Labels;
  readonly namespaced: boolean;
  readonly taking: readonly Taking[];
}

export class Upsync {
  readonly #cluster: Cluster;
  readonly #events: UpsyncEvents;
  readonly #watches: ResourceWatches;
  /** What matches a rule, by key. */
  readonly #held = new Map<string, UpsyncedObject>();
  /** Of what is within the bound of some placement. */
  readonly #bodies: Bodies;
  /** Keys by placement, sorted. */
  readonly #keys = new Map<PlacementId, string[]>();
  #rules: UpsyncRules = new Map();
  /** The newest look at what the cluster serves; an older one that ends later counts no more. */
  #look = 0;
  /** What it says is not known: it is asked, or has not answered. */
  #looking: 'asking' | 'failed' | undefined;
  /** API groups of which it does not say what it serves. */
  #unknown: ReadonlyMap<string, string> = new Map();
  /** Objects of which nobody could say who takes them: their owner hears when it can be said. */
  readonly #undecided = new Set<string>();
  #deciding: (() => void)[] = [];
  #waiting: (() => void)[] = [];
  #stopped = false;

  constructor(cluster: Cluster, clock: Clock, events: UpsyncEvents) {
    this.#cluster = cluster;
    this.#events = events;
    this.#bodies = new Bodies({
      clock,
      get: (key) => cluster.get(key),
      read: (_uid, key) => {
        events.changed(key, sourcesOf(this.#held.get(key)));
        events.synced();
      },
      failed: (key, error) => events.unread(key, error),
    });
    this.#watches = new ResourceWatches(cluster, {
      on: (event, resource) => this.#on(event, resource),
      synced: (resource, keys) => {
        this.#forgetAll(resource, keys);
        this.#news();
      },
      refused: () => this.#news(),
      ended: (resource) => this.#forgetAll(resource),
    });
  }

  /** Watches what the rules name now; resolves when the cluster has said what it serves of it. */
  async setRules(rules: UpsyncRules): Promise<void> {
    if (stableStringify([...rules]) === stableStringify([...this.#rules])) return;
    this.#rules = rules;
    for (const [key, held] of [...this.#held]) this.#hold(key, held);
    this.#watches.restart();
    await this.kindsChanged();
  }

  /** The cluster serves other kinds than before. */
  async kindsChanged(): Promise<void> {
    const look = ++this.#look;
    const items = [...this.#rules.values()].flat();
    this.#looking = items.length > 0 ? 'asking' : undefined;
    try {
      const served = items.length > 0 ? await this.#cluster.served() : [];
      const unknown = items.length > 0 ? await this.#cluster.unknownGroups?.() : undefined;
      if (look !== this.#look) return;
      this.#unknown = unknown ?? new Map();
      this.#watches.set(served.filter((resource) => items.some((item) => namesResource(item, resource))));
      this.#looking = undefined;
      for (const key of this.#held.keys()) this.#keepBody(key);
      this.#news();
    } catch (error) {
      if (look === this.#look) this.#looking = 'failed';
      this.#wake();
      throw error;
    }
  }

  get isActive(): boolean {
    return this.#rules.size > 0;
  }

  /** The objects of its resource have been seen: if it is not held, it is not there. A resource that the cluster keeps back holds up no other. */
  knows(key: string): boolean {
    const resource = parseKey(key);
    if (this.#looking !== undefined || this.#unknown.has(resource.group) || !this.#watches.isSeen(resource))
      return false;
    // It is told as soon as its body is there.
    const held = this.#held.get(key);
    return !held || !this.#isReported(key, held) || this.#bodies.of(held.uid) !== undefined;
  }

  /**
   * The same once it is known what the cluster serves. It is not waited for a list, which may take long or never come, and whoever asks holds up others: 'unknown',
   * and `taken` tells when it is known whether the cluster has the object, or that it does not say so. What it keeps back is taken only as it would be.
   */
  async takerOf(key: string, labels: Labels): Promise<Taker> {
    while (this.#looking === 'asking' && !this.#stopped) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    if (!this.#isUndecided(key)) return { id: this.takerNow(key, labels) };
    this.#undecided.add(key);
    return 'unknown';
  }

  /** Resolves when nobody waits for `taken` of an object that was asked for. */
  decided(): Promise<void> {
    if (this.#undecided.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#deciding.push(resolve));
  }

  #isUndecided(key: string): boolean {
    return this.#looking !== undefined || this.#watches.isPending(parseKey(key));
  }

  /** The placement whose rule takes the object, as it is on the cluster or as it would be with these labels. */
  takerNow(key: string, labels: Labels): PlacementId | undefined {
    if (this.#rules.size === 0) return undefined;
    return (this.#held.get(key)?.taking[0] ?? takingPlacements(this.#rules, parseKey(key), labels)[0])?.id;
  }

  say(source: string, key: string): Upsynced | undefined {
    const held = this.#held.get(key);
    const taking = held?.taking.filter(({ id }) => splitPlacementId(id).source === source && this.#isWithin(id, key));
    const body = held && this.#bodies.of(held.uid);
    if (!body || !taking || taking.length === 0) return undefined;
    return {
      refs: taking.map(({ id }) => splitPlacementId(id).name),
      namespaced: held.namespaced,
      returnTo: taking.some(({ returnTo }) => returnTo === 'Center') ? 'Center' : 'Parent',
      body,
    };
  }

  /** How many objects are held whole. */
  get bodies(): number {
    return this.#bodies.size;
  }

  /** How many objects the placement's rules match here. */
  count(id: PlacementId): number {
    return this.#keys.get(id)?.length ?? 0;
  }

  stop(): void {
    this.#stopped = true;
    this.#look++;
    this.#watches.stop();
    this.#bodies.stop();
    this.#undecided.clear();
    this.#wake();
  }

  #news(): void {
    for (const key of [...this.#undecided]) {
      if (this.#isUndecided(key)) continue;
      this.#undecided.delete(key);
      this.#events.taken(key);
    }
    this.#wake();
    this.#events.synced();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
    if (this.#undecided.size === 0) for (const resolve of this.#deciding.splice(0)) resolve();
  }

  #on({ type, key, object }: ClusterEvent, { namespaced }: ServedResource): void {
    const name = formatKey(key);
    const before = this.#held.get(name);
    if (type === 'DELETED') {
      if (before) this.#hold(name, undefined);
      return;
    }
    // Servers behind the cluster's own may give none.
    const { labels = {}, uid = name } = object.metadata;
    // What no rule matches is looked at no further: most objects of a resource may be of no interest.
    if (!before && takingPlacements(this.#rules, key, labels).length === 0) return;
    if (before && before.uid !== uid) this.#bodies.delete(before.uid);
    this.#bodies.set(uid, object);
    this.#hold(name, { uid, labels, namespaced });
  }

  #forgetAll(of: GroupResource, but: ReadonlySet<string> = new Set()): void {
    for (const key of [...this.#held.keys()]) {
      if (!but.has(key) && resourceName(parseKey(key)) === resourceName(of)) this.#hold(key, undefined);
    }
  }

  /** Brings what is held of the object to this, by the rules as they are now. */
  #hold(key: string, object: Omit<UpsyncedObject, 'taking'> | undefined): void {
    const before = this.#held.get(key);
    const taking = object ? takingPlacements(this.#rules, parseKey(key), object.labels) : [];
    if (object && taking.length > 0) this.#held.set(key, { ...object, taking });
    else {
      this.#held.delete(key);
      this.#bodies.delete((object ?? before)?.uid ?? '');
    }
    for (const { id } of before?.taking ?? []) if (!taking.some((now) => now.id === id)) this.#leave(id, key);
    for (const { id } of taking) if (!before?.taking.some((old) => old.id === id)) this.#join(id, key);
    this.#keepBody(key);
    const sources = new Set([...sourcesOf(before), ...sourcesOf({ taking })]);
    if (sources.size > 0) this.#events.changed(key, sources);
    if (before?.taking[0]?.id !== taking[0]?.id) this.#events.taken(key);
  }

  #join(id: PlacementId, key: string): void {
    const keys = this.#keys.get(id) ?? [];
    this.#keys.set(id, keys);
    keys.splice(placeOf(keys, key), 0, key);
    this.#crossed(id, keys[upsyncObjectsMax]);
  }

  #leave(id: PlacementId, key: string): void {
    const keys = this.#keys.get(id) ?? [];
    // The one that comes within the bound when one before it goes.
    const next = keys[upsyncObjectsMax];
    keys.splice(placeOf(keys, key), 1);
    if (keys.length === 0) this.#keys.delete(id);
    this.#crossed(id, next);
  }

  /** With `key`, the object at the edge of the bound may be told, or may not any more. */
  #crossed(id: PlacementId, key: string | undefined): void {
    if (key === undefined) return;
    this.#keepBody(key);
    this.#events.changed(key, [splitPlacementId(id).source]);
    this.#events.counted(id);
  }

  /** What is told is read where it has no body, and what is not has none. */
  #keepBody(key: string): void {
    const held = this.#held.get(key);
    if (!held) return;
    if (this.#isReported(key, held)) this.#bodies.want(held.uid, parseKey(key));
    else this.#bodies.delete(held.uid);
  }

  #isReported(key: string, { taking }: UpsyncedObject): boolean {
    return taking.some(({ id }) => this.#isWithin(id, key));
  }

  #isWithin(id: PlacementId, key: string): boolean {
    const keys = this.#keys.get(id) ?? [];
    return keys.length <= upsyncObjectsMax || placeOf(keys, key) < upsyncObjectsMax;
  }
}

function sourcesOf(held: Pick<UpsyncedObject, 'taking'> | undefined): string[] {
  return (held?.taking ?? []).map(({ id }) => splitPlacementId(id).source);
}

/** Where the key is in the sorted list, or would be. */
function placeOf(keys: readonly string[], key: string): number {
  let [low, high] = [0, keys.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
