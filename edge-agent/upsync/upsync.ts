/**
 * Finds objects that were created at the edge and that upsync rules take. This class watches the resources that the rules name, and keeps the matching
 * objects ready to report. The agent reports an object once for each source whose placements take the object, with the names of these placements.
 *
 * A rule never takes an object that the agent has applied for another source: such an object was not created at the edge, and two sources may be two tenants.
 *
 * Bound: `upsyncObjectsMax` objects for each placement, the first in the order of their keys. Of the objects beyond the bound, the agent reports only the
 * number, and keeps no bodies.
 */

import { type PlacementId, splitPlacementId } from '../../core/entries/placement-id.ts';
import type { Acceptance } from '../../core/match/acceptance.ts';
import { namesResource } from '../../core/match/resource-rules.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { formatKey, type GroupResource, type ObjectKey, parseKey } from '../../core/object/key.ts';
import type { Labels } from '../../core/object/selector.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Cluster, ClusterEvent, ServedResource } from '../cluster/cluster.ts';
import { signatureOf } from '../cluster/mark.ts';
import { Bodies } from '../observe/bodies.ts';
import { ResourceWatches, resourceName } from '../observe/resource-watches.ts';
import { ruledOutOf, type Taking, takingPlacements, type UpsyncRules } from './rules.ts';

/** This number of objects gives about 10 MB of reports for each placement and destination: a relay of a thousand agents can still store this. */
export const upsyncObjectsMax = 1_000;

export interface UpsyncEvents {
  /** Called when the report about the object for these sources may have changed. */
  changed(key: string, sources: Iterable<string>): void;
  /** Called when the answer whether a rule takes the object may have changed, or was unknown before. */
  taken(key: string): void;
  /** Called when the number of the placement's objects has crossed the bound, or has changed beyond the bound. */
  counted(id: PlacementId): void;
  /** Called when the agent knows more objects of the cluster than before: entries of a previous process may not be true any more. */
  synced(): void;
  /** Called when an object that has to be reported can't be read. The agent tries again. */
  readFailed(key: string, error: unknown): void;
}

/** For an object of the down feed: the placement of the same source whose rule takes the object. Undefined: no rule takes it. */
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
  /** The source for which an agent has applied the object. Absent: no agent has. */
  readonly appliedFor?: string | undefined;
  readonly taking: readonly Taking[];
}

export class Upsync {
  readonly #cluster: Cluster;
  readonly #events: UpsyncEvents;
  readonly #watches: ResourceWatches;
  /** The objects that match a rule, keyed by object key. */
  readonly #objects = new Map<string, UpsyncedObject>();
  /** The bodies of the objects within the bound of a placement. */
  readonly #bodies: Bodies;
  /** The keys of the matching objects, sorted. Keyed by placement. */
  readonly #keys = new Map<PlacementId, string[]>();
  readonly #isAccepted: (source: string, key: ObjectKey) => boolean;
  #rules: UpsyncRules = new Map();
  /** The number of the newest request for the served kinds. Results of older requests do not count. */
  #servedRequest = 0;
  /** Why the served kinds are not known: the request is running, or has failed. */
  #servedUnknown: 'asking' | 'failed' | undefined;
  /** The resources of the cluster that the rules name, as far as the cluster has answered. */
  #served: readonly ServedResource[] = [];
  /** API groups for which the cluster does not answer which resources it serves. The value is the reason. */
  #unknownGroups: ReadonlyMap<string, string> = new Map();
  /** Objects whose taker could not be decided. The event `taken` follows when it can be decided. */
  readonly #undecided = new Set<string>();
  #deciding: (() => void)[] = [];
  #waiting: (() => void)[] = [];
  #stopped = false;

  /** `isAccepted`: whether the site lets a source have an object. */
  constructor(
    cluster: Cluster,
    clock: Clock,
    events: UpsyncEvents,
    isAccepted: (source: string, key: ObjectKey) => boolean = () => true,
  ) {
    this.#isAccepted = isAccepted;
    this.#cluster = cluster;
    this.#events = events;
    this.#bodies = new Bodies({
      clock,
      get: (key) => cluster.get(key),
      read: (_uid, key) => {
        events.changed(key, sourcesOf(this.#objects.get(key)));
        events.synced();
      },
      failed: (key, error) => events.readFailed(key, error),
    });
    this.#watches = new ResourceWatches(cluster, {
      on: (event, resource) => this.#on(event, resource),
      synced: (resource, keys) => {
        this.#forgetAll(resource, keys);
        this.#clusterKnown();
      },
      refused: () => this.#clusterKnown(),
      ended: (resource) => this.#forgetAll(resource),
    });
  }

  /** Watches the resources that the rules name from now on. Resolves when the cluster has answered which of these resources it serves. */
  async setRules(rules: UpsyncRules): Promise<void> {
    if (stableStringify([...rules]) === stableStringify([...this.#rules])) return;
    this.#rules = rules;
    for (const [key, upsynced] of [...this.#objects]) this.#setObject(key, upsynced);
    this.#watches.restart();
    await this.kindsChanged();
  }

  /** Called when the kinds that the cluster serves have changed. */
  async kindsChanged(): Promise<void> {
    const request = ++this.#servedRequest;
    const items = [...this.#rules.values()].flat();
    this.#servedUnknown = items.length > 0 ? 'asking' : undefined;
    try {
      const served = items.length > 0 ? await this.#cluster.served() : [];
      const unknown = items.length > 0 ? await this.#cluster.unknownGroups?.() : undefined;
      if (request !== this.#servedRequest) return;
      this.#unknownGroups = unknown ?? new Map();
      this.#served = served.filter((resource) => items.some((item) => namesResource(item, resource)));
      this.#watches.set(this.#served);
      this.#servedUnknown = undefined;
      for (const key of this.#objects.keys()) this.#keepBody(key);
      this.#clusterKnown();
    } catch (error) {
      if (request === this.#servedRequest) this.#servedUnknown = 'failed';
      this.#wake();
      throw error;
    }
  }

  /** The parts of each placement's rules that the site rules out. */
  ruledOut(acceptance: Acceptance | undefined): ReadonlyMap<PlacementId, readonly string[]> {
    return ruledOutOf(this.#rules, acceptance, this.#served);
  }

  get isActive(): boolean {
    return this.#rules.size > 0;
  }

  /**
   * Whether the agent has seen all objects of the resource. Then an object that is not in `#objects` does not exist. A resource that the cluster refuses to
   * list does not delay other resources.
   */
  isComplete(key: string): boolean {
    const resource = parseKey(key);
    if (this.#servedUnknown !== undefined || this.#unknownGroups.has(resource.group) || !this.#watches.isSeen(resource))
      return false;
    // Without its body, the object can't be reported yet.
    const upsynced = this.#objects.get(key);
    return !upsynced || !this.#isReported(key, upsynced) || this.#bodies.of(upsynced.uid) !== undefined;
  }

  /**
   * Returns the placement of the source whose rule takes the object, as soon as the served kinds are known. This method does not wait for the list of the resource: a list
   * may take long or never arrive, and a waiting caller delays others. Without the list, the method returns 'unknown'. The event `taken` follows when the
   * list has arrived, or when the cluster refuses the list. For a refused resource, only the given labels count.
   */
  async takerOf(source: string, key: string, labels: Labels): Promise<Taker> {
    while (this.#servedUnknown === 'asking' && !this.#stopped) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    if (!this.#isUndecided(key)) return { id: this.takerNow(source, key, labels) };
    this.#undecided.add(key);
    return 'unknown';
  }

  /** Resolves when `taken` has been sent for every object whose taker was unknown. */
  decided(): Promise<void> {
    if (this.#undecided.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#deciding.push(resolve));
  }

  #isUndecided(key: string): boolean {
    return this.#servedUnknown !== undefined || this.#watches.isPending(parseKey(key));
  }

  /**
   * Returns the placement of the source whose rule takes the object. The labels of the object on the cluster count; if the agent has not seen the object
   * there, the given labels count.
   */
  takerNow(source: string, key: string, labels: Labels): PlacementId | undefined {
    if (this.#rules.size === 0) return undefined;
    const taking = this.#objects.get(key)?.taking ?? this.#taking(parseKey(key), { labels });
    return taking.find(({ id }) => splitPlacementId(id).source === source)?.id;
  }

  reportOf(source: string, key: string): Upsynced | undefined {
    const upsynced = this.#objects.get(key);
    const taking = upsynced?.taking.filter(
      ({ id }) => splitPlacementId(id).source === source && this.#isWithin(id, key),
    );
    const body = upsynced && this.#bodies.of(upsynced.uid);
    if (!body || !taking || taking.length === 0) return undefined;
    return {
      refs: taking.map(({ id }) => splitPlacementId(id).name),
      namespaced: upsynced.namespaced,
      returnTo: taking.some(({ returnTo }) => returnTo === 'Center') ? 'Center' : 'Parent',
      body,
    };
  }

  /** The number of objects whose body is in memory. */
  get bodies(): number {
    return this.#bodies.size;
  }

  /** The number of objects that the placement's rules match at this cluster. */
  count(id: PlacementId): number {
    return this.#keys.get(id)?.length ?? 0;
  }

  stop(): void {
    this.#stopped = true;
    this.#servedRequest++;
    this.#watches.stop();
    this.#bodies.stop();
    this.#undecided.clear();
    this.#wake();
  }

  #clusterKnown(): void {
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
    const before = this.#objects.get(name);
    if (type === 'DELETED') {
      if (before) this.#setObject(name, undefined);
      return;
    }
    // Aggregated API servers may return objects without a uid.
    const { labels = {}, uid = name } = object.metadata;
    const appliedFor = signatureOf(object)?.source;
    // Objects that no rule takes are ignored. Most objects of a resource may be such objects.
    if (!before && this.#taking(key, { labels, appliedFor }).length === 0) return;
    if (before && before.uid !== uid) this.#bodies.delete(before.uid);
    this.#bodies.set(uid, object);
    this.#setObject(name, { uid, labels, namespaced, appliedFor });
  }

  #taking(key: ObjectKey, { labels, appliedFor }: Pick<UpsyncedObject, 'labels' | 'appliedFor'>): Taking[] {
    return takingPlacements(this.#rules, key, labels).filter(({ id }) => {
      const { source } = splitPlacementId(id);
      return (appliedFor ?? source) === source && this.#isAccepted(source, key);
    });
  }

  #forgetAll(of: GroupResource, but: ReadonlySet<string> = new Set()): void {
    for (const key of [...this.#objects.keys()]) {
      if (!but.has(key) && resourceName(parseKey(key)) === resourceName(of)) this.#setObject(key, undefined);
    }
  }

  /** Updates the state of the object, by the present rules. */
  #setObject(key: string, object: Omit<UpsyncedObject, 'taking'> | undefined): void {
    const before = this.#objects.get(key);
    const taking = object ? this.#taking(parseKey(key), object) : [];
    if (object && taking.length > 0) this.#objects.set(key, { ...object, taking });
    else {
      this.#objects.delete(key);
      this.#bodies.delete((object ?? before)?.uid ?? '');
    }
    for (const { id } of before?.taking ?? []) if (!taking.some((one) => one.id === id)) this.#removeKey(id, key);
    for (const { id } of taking) if (!before?.taking.some((old) => old.id === id)) this.#addKey(id, key);
    this.#keepBody(key);
    const sources = new Set([...sourcesOf(before), ...sourcesOf({ taking })]);
    if (sources.size > 0) this.#events.changed(key, sources);
    if (placementsOf(before) !== placementsOf({ taking })) this.#events.taken(key);
  }

  #addKey(id: PlacementId, key: string): void {
    const keys = this.#keys.get(id) ?? [];
    this.#keys.set(id, keys);
    keys.splice(placeOf(keys, key), 0, key);
    this.#boundCrossed(id, keys[upsyncObjectsMax]);
  }

  #removeKey(id: PlacementId, key: string): void {
    const keys = this.#keys.get(id) ?? [];
    // The first object beyond the bound. When an object before it leaves, this object comes within the bound.
    const next = keys[upsyncObjectsMax];
    keys.splice(placeOf(keys, key), 1);
    if (keys.length === 0) this.#keys.delete(id);
    this.#boundCrossed(id, next);
  }

  /**
   * Called when the bound may have moved. `key`: the object at the bound, which may have to be reported now, or must not be reported any more. Undefined: no
   * object is at the bound.
   */
  #boundCrossed(id: PlacementId, key: string | undefined): void {
    if (key === undefined) return;
    this.#keepBody(key);
    this.#events.changed(key, [splitPlacementId(id).source]);
    this.#events.counted(id);
  }

  /** Reads the body of a reported object if the body is missing. Drops the body of any other object. */
  #keepBody(key: string): void {
    const upsynced = this.#objects.get(key);
    if (!upsynced) return;
    if (this.#isReported(key, upsynced)) this.#bodies.want(upsynced.uid, parseKey(key));
    else this.#bodies.delete(upsynced.uid);
  }

  #isReported(key: string, { taking }: UpsyncedObject): boolean {
    return taking.some(({ id }) => this.#isWithin(id, key));
  }

  #isWithin(id: PlacementId, key: string): boolean {
    const keys = this.#keys.get(id) ?? [];
    return keys.length <= upsyncObjectsMax || placeOf(keys, key) < upsyncObjectsMax;
  }
}

function placementsOf(upsynced: Pick<UpsyncedObject, 'taking'> | undefined): string {
  return (upsynced?.taking ?? []).map(({ id }) => id).join();
}

function sourcesOf(upsynced: Pick<UpsyncedObject, 'taking'> | undefined): string[] {
  return (upsynced?.taking ?? []).map(({ id }) => splitPlacementId(id).source);
}

/** The index of the key in the sorted list. If the list does not have the key: the index at which the key would be. */
function placeOf(keys: readonly string[], key: string): number {
  let [low, high] = [0, keys.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
