/**
 * Watches the applied objects. Where this is enough, a watch covers only the objects of a resource that have the agent's mark. The observer keeps the newest
 * health and status of each object, and reports when an object differs from the applied one.
 *
 * An event about an object waits while the applier works on the object. If the event is older than the applier's own answer (`seen`), it is about the apply
 * itself. A newer event is about a change of somebody else. A list ends this comparison: resource versions go back when the cluster is restored from a
 * backup, so a state with an older version may be the present one.
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
  /** The generation that the cluster counts for its object. 0 for kinds without a generation. */
  readonly generation: number;
  readonly health: ObjectHealth;
  /** JSON of the object's status. Empty if the object has no status. */
  readonly status: Uint8Array;
}

export interface ObserverPorts {
  readonly cluster: Cluster;
  readonly clock: Clock;
  isBusy(key: string): boolean;
  hasDrifted(key: string, live: KubeObject): boolean;
}

export interface ObserverEvents {
  /** The object's observation has changed or was removed. */
  changed(key: string): void;
  /** Somebody has changed or deleted the object. */
  drifted(key: string): void;
  /** A CustomResourceDefinition was created, changed or deleted. */
  kindsChanged(): void;
  /** The cluster was put back to an earlier time. Each watch that notices it sends this event. */
  wentBack(): void;
}

interface Seen extends ObjectObservation {
  resourceVersion: number;
  readonly quiet: string;
}

interface ObserverWatch {
  readonly stop: () => void;
  /** The watch covers all objects of the resource, and not only objects with the mark. */
  readonly isWhole: boolean;
  readonly keys: Set<string>;
  /** Objects whose last event had an older state than the one that was seen. */
  readonly behind: Set<string>;
}

const definitions: GroupResource = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' };

/** One value for all objects without a status: there may be thousands. */
const noStatus = new Uint8Array(0);

export class Observer {
  readonly #ports: ObserverPorts;
  readonly #events: ObserverEvents;
  readonly #watches = new Map<string, ObserverWatch>();
  readonly #seen = new Map<string, Seen>();
  readonly #postponed = new Map<string, ClusterEvent>();
  readonly #shared = new SharedValues();
  readonly #health: TimedHealth;
  #stopDefinitions: (() => void) | undefined;

  constructor(ports: ObserverPorts, events: ObserverEvents) {
    this.#ports = ports;
    this.#events = events;
    this.#health = new TimedHealth(ports.clock, (key) => this.#overdue(key));
  }

  /** The agent always watches the names of all definitions, beside the watch of applied definitions: they define which kinds the cluster serves. */
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

  /**
   * False: the object was already tracked. True: the watch of its resource may have sent events about the object before, even if the watch begins only now.
   */
  track(key: string): boolean {
    const { keys } = this.#watch(parseKey(key));
    const isNew = !keys.has(key);
    keys.add(key);
    return isNew;
  }

  untrack(key: string): void {
    this.#postponed.delete(key);
    this.#forget(key);
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
  workEnded(key: string): void {
    const postponed = this.#postponed.get(key);
    if (!postponed) return;
    this.#postponed.delete(key);
    this.#on(postponed);
  }

  #watch(resource: GroupResource): ObserverWatch {
    const watch = this.#watches.get(resourceName(resource));
    return watch ?? this.#begin(resource, false, new Set());
  }

  /** An object without the mark is not in a watch of marked objects. The agent keeps such an object as it found it, or left it without the mark. */
  #widen(key: string): void {
    const resource = parseKey(key);
    const watch = this.#watches.get(resourceName(resource));
    if (!watch?.keys.has(key) || watch.isWhole) return;
    watch.stop();
    this.#begin(resource, true, watch.keys);
  }

  #begin(resource: GroupResource, isWhole: boolean, keys: Set<string>): ObserverWatch {
    const name = resourceName(resource);
    // The cluster may send its first events before `watch` returns.
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
   * A watch has received a complete list. An object that is not in the list may have been deleted while nobody watched: no event reports the deletion of an
   * object that only the applier has seen. Or the object was created after the list was made. So the observation stays, and the applier looks at the object.
   * The applier also looks at an object whose listed state is older than the seen one: either the list is older than an answer to the applier, or the
   * cluster has gone back. From now on every received state counts. If a state arrives late, a newer one follows.
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
      this.#postponed.set(key, event);
      return;
    }
    if (this.#isBehind(key, event.object)) watch.behind.add(key);
    else watch.behind.delete(key);
    if (event.type === 'DELETED') {
      const seen = this.#seen.get(key);
      if (seen && seen.uid !== event.object.metadata.uid) return;
      this.#forget(key);
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

  /**
   * Returns false for a state that is not newer than a state seen before. That state was already judged, for example by the applier from the answer to its
   * apply.
   */
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

  #forget(key: string): void {
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

/** The resource versions of one resource are growing numbers (https://kep.k8s.io/5504). Any other version counts as new. */
function versionOf(live: KubeObject): number {
  const version = Number(live.metadata.resourceVersion);
  return Number.isFinite(version) ? version : noVersion;
}

const noVersion = Number.MAX_SAFE_INTEGER;
/** Older than any version. */
const unversioned = -1;

/** Very large numbers lose precision: two different versions may have the same number. */
function isNewer(version: number, before: number): boolean {
  return version > before || (version === before && version >= noVersion);
}
