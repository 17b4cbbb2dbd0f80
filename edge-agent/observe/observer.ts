/**
 * Watches what was applied, of each resource the objects with the agent's mark where that is enough: keeps the health and the
 * status of each object as the cluster last told them, and says so when an object is no longer what was applied.
 *
 * What the cluster tells of an object while the applier works on it waits until it has ended: an event that is older than the
 * applier's own answer (`seen`) is the apply itself, a newer one is somebody else. A list ends that: versions go back where the cluster was restored from a
 * backup, so that what it tells as older may be how things are.
 */
import { stableStringify } from '../../core/object/canonical.ts';
import type { ObjectHealth } from '../../core/object/health.ts';
import { formatKey, type GroupResource, parseKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { SharedValues } from '../../core/object/shared-values.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { text } from '../../core/store/bytes.ts';
import type { Cluster, ClusterEvent } from '../cluster/cluster.ts';
import { isMarked } from '../cluster/mark.ts';
import { quietStatus } from './status-noise.ts';
import { overdue, TimedHealth } from './timed-health.ts';

export interface ObjectObservation {
  readonly uid: string;
  /** That the cluster counts of its object; 0 for kinds without. */
  readonly generation: number;
  readonly health: ObjectHealth;
  /** JSON of the object's status; empty when it has none. */
  readonly status: Uint8Array;
}

export interface ObserverPorts {
  readonly cluster: Cluster;
  readonly clock: Clock;
  isBusy(key: string): boolean;
  hasDrifted(key: string, live: KubeObject): boolean;
}

export interface ObserverEvents {
  /** The object's observation has changed, or is gone. */
  changed(key: string): void;
  /** Somebody has changed or deleted the object. */
  drifted(key: string): void;
  /** A CustomResourceDefinition has come, changed or gone. */
  kindsChanged(): void;
  /** The cluster was put back to an earlier time: told by each watch that sees it. */
  wentBack(): void;
}

interface Seen extends ObjectObservation {
  resourceVersion: number;
  readonly quiet: string;
}

interface ObserverWatch {
  readonly stop: () => void;
  /** Of all objects of the resource, not of those with the mark alone. */
  readonly isWhole: boolean;
  readonly keys: Set<string>;
  /** Of which it has told last a state older than the one that was seen. */
  readonly behind: Set<string>;
}

const definitions: GroupResource = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' };

/** One for all objects that have none, of which there may be thousands. */
const noStatus = new Uint8Array(0);

export class Observer {
  readonly #ports: ObserverPorts;
  readonly #events: ObserverEvents;
  readonly #watches = new Map<string, ObserverWatch>();
  readonly #seen = new Map<string, Seen>();
  readonly #held = new Map<string, ClusterEvent>();
  readonly #shared = new SharedValues();
  readonly #health: TimedHealth;
  #stopDefinitions: (() => void) | undefined;

  constructor(ports: ObserverPorts, events: ObserverEvents) {
    this.#ports = ports;
    this.#events = events;
    this.#health = new TimedHealth(ports.clock, (key) => this.#overdue(key));
  }

  /** Definitions are watched always, beside those that were applied: they say which kinds the cluster serves, by their names alone. */
  start(): void {
    const on = () => this.#events.kindsChanged();
    const events = { on, synced: () => {}, wentBack: () => this.#events.wentBack() };
    this.#stopDefinitions = this.#ports.cluster.watch(definitions, events, { metadataOnly: true });
  }

  stop(): void {
    this.#stopDefinitions?.();
    for (const watch of this.#watches.values()) watch.stop();
    this.#watches.clear();
    this.#health.stop();
  }

  /** False: it was tracked. Otherwise the watch of its resource may have told of the object already, also if it begins only now. */
  track(key: string): boolean {
    const { keys } = this.#watch(parseKey(key));
    const isNew = !keys.has(key);
    keys.add(key);
    return isNew;
  }

  untrack(key: string): void {
    this.#held.delete(key);
    this.#unsee(key);
    const resource = resourceName(parseKey(key));
    const watch = this.#watches.get(resource);
    watch?.behind.delete(key);
    if (!watch?.keys.delete(key) || watch.keys.size > 0) return;
    watch.stop();
    this.#watches.delete(resource);
  }

  observation(key: string): ObjectObservation | undefined {
    return this.#seen.get(key);
  }

  /** The cluster's answer to the applier about an object. */
  seen(key: string, live: KubeObject): void {
    if (!isMarked(live)) this.#widen(key);
    this.#learn(key, live);
  }

  /** The applier's work on the object has ended. */
  rested(key: string): void {
    const held = this.#held.get(key);
    if (!held) return;
    this.#held.delete(key);
    this.#on(held);
  }

  #watch(resource: GroupResource): ObserverWatch {
    const known = this.#watches.get(resourceName(resource));
    return known ?? this.#begin(resource, false, new Set());
  }

  /** An object that is kept as it was found, or left without its mark, is not among those that have it. */
  #widen(key: string): void {
    const resource = parseKey(key);
    const watch = this.#watches.get(resourceName(resource));
    if (!watch?.keys.has(key) || watch.isWhole) return;
    watch.stop();
    this.#begin(resource, true, watch.keys);
  }

  #begin(resource: GroupResource, isWhole: boolean, keys: Set<string>): ObserverWatch {
    const name = resourceName(resource);
    // The cluster may tell its first events before `watch` returns.
    let stop: (() => void) | undefined;
    const watch: ObserverWatch = { keys, isWhole, behind: new Set(), stop: () => stop?.() };
    this.#watches.set(name, watch);
    const events = {
      on: (event: ClusterEvent) => this.#on(event),
      synced: (there: ReadonlySet<string>) => this.#synced(watch, there),
      wentBack: () => this.#events.wentBack(),
    };
    stop = this.#ports.cluster.watch(resource, events, { marked: !isWhole });
    return watch;
  }

  /**
   * What is not there was deleted while nobody watched: no event tells of one that the applier alone has seen. Or it was made after the list was, so that
   * what is known of it stays, and the applier looks. So it does at what was listed in an older state than the one seen: either the list is older than an
   * answer to the applier, or the cluster has gone back. From now on each state counts that is told; one that is late is followed by the newer one.
   */
  #synced({ keys, behind }: ObserverWatch, there: ReadonlySet<string>): void {
    for (const key of keys) {
      const seen = this.#seen.get(key);
      if (seen) seen.resourceVersion = unversioned;
      if (!there.has(key) || behind.has(key)) this.#events.drifted(key);
    }
    behind.clear();
  }

  #on(event: ClusterEvent): void {
    const key = formatKey(event.key);
    const watch = this.#watches.get(resourceName(event.key));
    if (!watch?.keys.has(key)) return;
    if (this.#ports.isBusy(key)) {
      this.#held.set(key, event);
      return;
    }
    if (this.#isBehind(key, event.object)) watch.behind.add(key);
    else watch.behind.delete(key);
    if (event.type === 'DELETED') {
      const seen = this.#seen.get(key);
      if (seen && seen.uid !== event.object.metadata.uid) return;
      this.#unsee(key);
      this.#events.changed(key);
      this.#events.drifted(key);
      return;
    }
    if (this.#learn(key, event.object) && this.#ports.hasDrifted(key, event.object)) this.#events.drifted(key);
  }

  #isBehind(key: string, live: KubeObject): boolean {
    const seen = this.#seen.get(key);
    return seen !== undefined && seen.uid === live.metadata.uid && versionOf(live) < seen.resourceVersion;
  }

  /** False for a state that is no newer than one seen before: whoever saw that has judged it, such as the applier by the answer to its apply. */
  #learn(key: string, live: KubeObject): boolean {
    const before = this.#seen.get(key);
    const { uid = '', generation = 0 } = live.metadata;
    const resourceVersion = versionOf(live);
    if (before?.uid === uid && !isNewer(resourceVersion, before.resourceVersion)) return false;
    const quiet = quietStatus(live.status);
    const judged = this.#health.of(key, live);
    const isSameObject = before?.uid === uid && before.generation === generation;
    if (before && isSameObject && before.quiet === quiet && sameHealth(before.health, judged)) {
      this.#seen.set(key, { ...before, resourceVersion });
      return true;
    }
    const status = live.status === undefined ? noStatus : text(stableStringify(live.status));
    this.#seen.set(key, { uid, generation, resourceVersion, quiet, health: this.#shared.of(judged), status });
    this.#events.changed(key);
    return true;
  }

  #overdue(key: string): void {
    const seen = this.#seen.get(key);
    if (!seen) return;
    this.#seen.set(key, { ...seen, health: this.#shared.of(overdue(seen.health)) });
    this.#events.changed(key);
  }

  #unsee(key: string): void {
    this.#seen.delete(key);
    this.#health.forget(key);
  }
}

function sameHealth(a: ObjectHealth, b: ObjectHealth): boolean {
  return a.state === b.state && a.reason === b.reason && a.message === b.message;
}

function resourceName({ group, resource }: GroupResource): string {
  return `${group}/${resource}`;
}

/** Resource versions of one resource are numbers that grow (https://kep.k8s.io/5504); anything else counts as new. */
function versionOf(live: KubeObject): number {
  const version = Number(live.metadata.resourceVersion);
  return Number.isFinite(version) ? version : noVersion;
}

const noVersion = Number.MAX_SAFE_INTEGER;
/** Older than any. */
const unversioned = -1;

/** From some size on numbers don't tell neighbours apart. */
function isNewer(version: number, before: number): boolean {
  return version > before || (version === before && version >= noVersion);
}
