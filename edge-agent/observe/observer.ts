/**
 * Watches the applied objects. If possible, a watch covers only the objects of a resource that have the agent's mark. The observer keeps the newest health
 * and status of each object, and reports when an object differs from the applied object.
 *
 * While the applier works on an object, an event about the object waits. The observer then compares the event with the applier's own answer (`seen`). If the
 * event is not newer than this answer, the event is about the apply itself. A newer event is about a change of somebody else. After a list, the observer does
 * not compare any more: resource versions become smaller when the cluster is restored from a backup, so a state with an older version may be the present
 * state.
 */

import { stableStringify } from '../../core/object/canonical.ts';
import { hasEnded } from '../../core/object/ended.ts';
import { hasControllerFinalizers } from '../../core/object/finalizers.ts';
import type { ObjectHealth } from '../../core/object/health.ts';
import { formatKey, type GroupResource, parseKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { SharedValues } from '../../core/object/shared-values.ts';
import { isTerminating } from '../../core/object/terminating.ts';
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
  /** See core/object/finalizers.ts. */
  readonly hasFinalizers: boolean;
}

export interface ObserverPorts {
  readonly cluster: Cluster;
  readonly clock: Clock;
  isBusy(key: string): boolean;
  hasDrifted(key: string, live: KubeObject): boolean;
}

export interface ObserverEvents {
  /** Called when the object's observation has changed or was removed. */
  changed(key: string): void;
  /** Called when somebody has changed or deleted the object. */
  drifted(key: string): void;
  /** Called when the object has ended by itself (core/object/ended.ts), perhaps more than once, with its last observation. */
  ended(key: string, observation: ObjectObservation): void;
  /** Called when somebody has deleted the object before it had ended. */
  deletedEarly(key: string, uid: string): void;
  /** Called when a CustomResourceDefinition was created, changed or deleted. */
  kindsChanged(): void;
  /** Called when the cluster was restored to an earlier state. Each watch that notices this sends the event. */
  wentBack(): void;
}

interface Seen extends ObjectObservation {
  resourceVersion: number;
  readonly quiet: string;
}

interface ObserverWatch {
  readonly stop: () => void;
  /** True: the watch covers all objects of the resource. False: only the objects with the mark. */
  readonly isWhole: boolean;
  readonly keys: Set<string>;
  /** The keys of the objects whose last event had an older state than the observer has seen. */
  readonly behind: Set<string>;
}

const definitions: GroupResource = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' };

/** All objects without a status share one value: there may be thousands of such objects. */
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

  /** Watches the names of all definitions, beside the watch of applied definitions: the definitions decide which kinds the cluster serves. */
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
   * Begins to track the object. Returns false if the object was already tracked. If it returns true, events about the object may have been missed: the watch
   * of the resource may have begun earlier, or begins only now.
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

  /** Called with the cluster's answer to the applier about an object. */
  seen(key: string, live: KubeObject): void {
    if (!isMarked(live)) this.#widen(key);
    this.#learn(key, live);
  }

  /** Called when the applier's work on the object has ended. */
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

  /**
   * Makes the watch cover all objects of the resource. The agent found the object without the mark and keeps it so, or has removed the mark. A watch of
   * marked objects does not have such an object.
   */
  #widen(key: string): void {
    const resource = parseKey(key);
    const watch = this.#watches.get(resourceName(resource));
    if (!watch?.keys.has(key) || watch.isWhole) return;
    watch.stop();
    this.#begin(resource, true, watch.keys);
  }

  #begin(resource: GroupResource, isWhole: boolean, keys: Set<string>): ObserverWatch {
    const name = resourceName(resource);
    // The cluster may send the first events before `watch` returns.
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
   * Called when a watch has received a complete list.
   *
   * - An object that is not in the list may have been deleted while no watch was running: no event reports the deletion of an object that only the applier
   *   has seen. Or the object was created after the list was made. So the observation stays, and the applier looks at the object.
   * - The listed state of an object may be older than the seen state: either the list is older than an answer to the applier, or the cluster was restored.
   *   The applier looks at this object too.
   *
   * From now on, every received state counts. If an old state arrives late, a newer state follows.
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
      this.#deleted(key, event.object);
      this.#forget(key);
      this.#events.changed(key);
      this.#events.drifted(key);
      return;
    }
    if (this.#learn(key, event.object) && this.#ports.hasDrifted(key, event.object)) this.#events.drifted(key);
  }

  /** A deletion that the watch missed has only the name of the object. Then nobody knows whether the object had ended. */
  #deleted(key: string, last: KubeObject): void {
    if (hasEnded(last)) this.#events.ended(key, this.#observationOf(last, this.#healthOf(key, last)));
    else if (last.spec !== undefined) this.#events.deletedEarly(key, last.metadata.uid ?? '');
  }

  #isBehind(key: string, live: KubeObject): boolean {
    const seen = this.#seen.get(key);
    return seen !== undefined && seen.uid === live.metadata.uid && versionOf(live) < seen.resourceVersion;
  }

  /**
   * Notes a state of the object. Returns false for a state that is not newer than a state seen before: that state was already judged, for example by the
   * applier from the answer to its apply.
   */
  #learn(key: string, live: KubeObject): boolean {
    const before = this.#seen.get(key);
    const { uid = '', generation = 0 } = live.metadata;
    const resourceVersion = versionOf(live);
    if (before?.uid === uid && !isNewer(resourceVersion, before.resourceVersion)) return false;
    const quiet = quietStatus(live.status);
    const judged = this.#healthOf(key, live);
    const isSameObject = before?.uid === uid && before.generation === generation;
    if (before && isSameObject && before.quiet === quiet && sameHealth(before.health, judged)) {
      this.#seen.set(key, { ...before, resourceVersion, hasFinalizers: hasControllerFinalizers(live) });
      return true;
    }
    const observation = this.#observationOf(live, judged);
    this.#seen.set(key, { ...observation, resourceVersion, quiet });
    if (hasEnded(live)) this.#events.ended(key, observation);
    this.#events.changed(key);
    return true;
  }

  /** An object that has ended and is being deleted counts as it was at its end. */
  #healthOf(key: string, live: KubeObject): ObjectHealth {
    if (!isTerminating(live) || !hasEnded(live)) return this.#health.of(key, live);
    const { deletionTimestamp: _deleted, ...metadata } = live.metadata;
    return this.#health.of(key, { ...live, metadata });
  }

  #observationOf(live: KubeObject, judged: ObjectHealth): ObjectObservation {
    const { uid = '', generation = 0 } = live.metadata;
    const status = live.status === undefined ? noStatus : text(stableStringify(live.status));
    return { uid, generation, health: this.#shared.of(judged), status, hasFinalizers: hasControllerFinalizers(live) };
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

/** The resource version as a number. The versions of one resource are growing numbers (https://kep.k8s.io/5504). A version that is no number counts as new. */
function versionOf(live: KubeObject): number {
  const version = Number(live.metadata.resourceVersion);
  return Number.isFinite(version) ? version : noVersion;
}

const noVersion = Number.MAX_SAFE_INTEGER;
/** Older than any version. */
const unversioned = -1;

/** Whether the version is newer. Very large numbers lose precision: two different versions may have the same number, and then count as newer. */
function isNewer(version: number, before: number): boolean {
  return version > before || (version === before && version >= noVersion);
}
