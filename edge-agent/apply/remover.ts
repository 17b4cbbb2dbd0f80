/** Removes unwanted objects of this agent, one at a time, and reports what hinders the removal. */

import type { PlacementId } from '../../core/entries/placement-id.ts';
import { hasControllerFinalizers } from '../../core/object/finalizers.ts';
import { parseKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { removalMessage, terminating } from '../../core/object/terminating.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { ErrorCode } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Delivery } from '../desired/desired.ts';
import {
  definitionKeyOf,
  isContainer,
  isDefinitionKey,
  isNamespaceKey,
  namespaceKeyOf,
  removalStageOf,
} from './order.ts';
import { groupsOf, type OwnerRecord, type OwnerRecords } from './owner-records.ts';
import { giveBack, releaseOwnership } from './ownership-release.ts';
import { definedBy, isOfAgent, removalOf } from './removal.ts';
import { RemovalOrder, removalWaitMs } from './removal-order.ts';
import type { RemovalObstacle } from './removal-progress.ts';

export interface RemoverPorts {
  /** The path of the agent. */
  readonly path: string;
  readonly cluster: Cluster;
  readonly records: OwnerRecords;
  readonly clock: Clock;
  readonly logger: Logger;
  isWanted(key: string): boolean;
  deliveries(key: string): readonly Delivery[];
  isPlaced(id: PlacementId): boolean;
  /** See ApplierPorts. */
  takerOf(source: string, key: string, live: KubeObject): Promise<{ readonly id: PlacementId | undefined } | 'unknown'>;
  /** See ApplierPorts. */
  hasFinalizers(key: string): boolean | undefined;
}

export interface RemoverEvents {
  /** Called when the object got a record, or when its record was deleted. */
  recorded(key: string): void;
  /** Called with the reason why an unwanted object is still on the cluster. Undefined: nothing hinders its removal any more. */
  obstacleChanged(key: string, obstacle: RemovalObstacle | undefined): void;
  /** Called when the removal of another object lets the removal of this object begin. */
  enqueue(key: string): void;
}

/** Codes of a cluster that has not answered, or that has no time for an answer. */
const silences: ReadonlySet<string> = new Set<ErrorCode>(['Unavailable', 'Timeout', 'TooManyRequests']);
/** How many former placements a definition remembers: those that left last. They matter only while their objects are being removed. */
const formerMax = 20;
/**
 * How many groups a custom object is in because of its definition. Many placements may bring a definition only because their objects need it. One of them
 * mostly brings the controller: it names the definition itself, so it is among the first.
 */
const groupsOfDefinitionMax = 20;
/** Removals come before applies in the work queue. */
const firstPriority = -10;

export class Remover {
  readonly #ports: RemoverPorts;
  readonly #events: RemoverEvents;
  /** Objects that the cluster was asked to remove and that still have a record. */
  readonly #removalRequested = new Set<string>();
  readonly #order: RemovalOrder;

  constructor(ports: RemoverPorts, events: RemoverEvents) {
    this.#ports = ports;
    this.#events = events;
    this.#order = new RemovalOrder(
      ports.clock,
      (key) => events.enqueue(key),
      (group) => ports.isPlaced(group),
    );
  }

  stop(): void {
    this.#order.stop();
  }

  /** The priority of an unwanted object in the work queue: the objects of the first stages come first. */
  priorityOf(key: string): number {
    return firstPriority + removalStageOf(key, false);
  }

  /**
   * Called with placements that wanted the object before a change. A placement that no longer brings a definition may have brought the controller, too. The
   * record remembers such a placement, so the controller waits for custom objects that are withdrawn later, also after a restart.
   */
  wantedBefore(key: string, placements: readonly PlacementId[]): void {
    const { records, deliveries } = this.#ports;
    const record = isDefinitionKey(key) ? records.get(key) : undefined;
    if (!record) return;
    const now = new Set(bringersOf(deliveries(key)));
    const before = record.formerPlacements ?? [];
    const former = [...before.filter((id) => this.#order.hasGroup(id)), ...placements].filter((id) => !now.has(id));
    const formerPlacements = [...new Set(former)].slice(-formerMax);
    if (formerPlacements.join() !== before.join()) records.set(key, { ...record, formerPlacements });
  }

  /** Called when the object may have become unwanted, or wanted again. All objects of a batch come before the work on the first of them. */
  wantedChanged(key: string): void {
    const record = this.#ports.records.get(key);
    if (this.#ports.isWanted(key)) this.#order.drop(key);
    else if (record && !this.#order.has(key)) this.#order.add(key, this.#unwanted(key, record));
  }

  /** Called when the placement is not there any more. */
  withdrawn(id: PlacementId): void {
    this.#order.withdrawn(id);
  }

  /** Called when the agent has worked on the unwanted object, or leaves it alone for good. */
  tried(key: string): void {
    this.#order.tried(key);
  }

  async remove(key: string): Promise<'done' | 'retry'> {
    const { path, cluster, records, logger, takerOf } = this.#ports;
    const record = records.get(key);
    if (!record) return 'done';
    this.wantedChanged(key);
    if (this.#order.isUnknown(key)) await this.#look(key);
    if (!this.#order.mayGo(key)) return 'done';
    if (isNamespaceKey(key) && this.#holdsOwned(parseKey(key).name)) return this.#standAside(key);
    if (isDefinitionKey(key) && this.#hasOwned(key)) return this.#standAside(key);
    const live = await cluster.get(parseKey(key));
    this.#order.tried(key);
    const decision = await removalOf(key, record, live, { path, cluster, applied: () => records.keys() });
    if (decision.do === 'wait') {
      if (live)
        this.#noteObstacle(key, { reason: terminating, message: this.#obstacleOf(key, live), isRefused: false });
      return 'retry';
    }
    if (decision.do === 'remove') {
      // A scan may have put the object on record. An object that now belongs to the cluster may still have the mark from the time when its source sent it.
      const taker = live ? await takerOf(record.source, key, live) : { id: undefined };
      if (taker === 'unknown') return 'retry';
      if (live && taker.id !== undefined) {
        await releaseOwnership(this.#ports, key, record, live);
        this.forget(key);
        return 'done';
      }
      this.#removalRequested.add(key);
      await cluster.remove(parseKey(key), record.deletion ?? 'Background', decision.uid);
      if (await cluster.get(parseKey(key))) {
        // Most objects are gone at the next try. If the object is still on the cluster then, the next try reports what the removal waits for.
        this.#noteObstacle(key, undefined);
        return 'retry';
      }
    }
    if (decision.do === 'release' && live) await giveBack(this.#ports, key, record, live);
    if (decision.why !== undefined) {
      logger.warn({ object: key, reason: decision.why }, 'a definition stays on the cluster');
    }
    this.forget(key);
    return 'done';
  }

  refused(key: string, reason: string, error: string): void {
    if (!silences.has(reason)) this.#order.tried(key);
    const message = `nobody wants the object any more, and removing it was refused: ${error}`;
    this.#noteObstacle(key, { reason, message, isRefused: true });
  }

  /** Deletes the record: the object does not belong to this agent any more, whether or not the object is on the cluster. */
  forget(key: string): void {
    this.#ports.records.delete(key);
    this.#removalRequested.delete(key);
    this.#order.drop(key);
    this.#events.recorded(key);
    const namespace = namespaceKeyOf(parseKey(key));
    if (namespace && this.#ports.records.get(namespace)) this.#events.enqueue(namespace);
    const definition = definitionKeyOf(parseKey(key));
    const isLeft = definition && this.#ports.records.get(definition) && !this.#ports.isWanted(definition);
    if (isLeft) this.#events.enqueue(definition);
  }

  /** Called when the object is desired again and has been applied. Returns true if this agent had asked the cluster to remove it. */
  takeBack(key: string): boolean {
    return this.#removalRequested.delete(key);
  }

  #noteObstacle(key: string, obstacle: RemovalObstacle | undefined): void {
    // If a placement has wanted the object again since the work on it began, the reports about the object are about the apply.
    if (!this.#ports.isWanted(key)) this.#events.obstacleChanged(key, obstacle);
  }

  /**
   * Whether the agent still has objects in the namespace. The agent removes a namespace after the last of its objects in it. The removal of each of these
   * objects starts another try for the namespace.
   */
  #holdsOwned(namespace: string): boolean {
    for (const key of this.#ports.records.keys()) if (parseKey(key).namespace === namespace) return true;
    return false;
  }

  /**
   * Whether the agent still has objects of the definition, wanted or not: another source or placement may want them, or their finalizers are still there.
   * With the definition, the cluster would delete them. The removal of each of these objects starts another try for the definition.
   */
  #hasOwned(definition: string): boolean {
    const defined = definedBy(parseKey(definition));
    for (const key of this.#ports.records.keys()) if (isOfAgent(defined, key)) return true;
    return false;
  }

  /** Called for a container that can't go while objects are in it. */
  #standAside(key: string): 'done' {
    this.#order.standAside(key);
    return 'done';
  }

  #unwanted(key: string, record: OwnerRecord) {
    const { records, hasFinalizers, deliveries } = this.#ports;
    const definition = definitionKeyOf(parseKey(key)) ?? '';
    const brought = records.get(definition);
    const bringers = brought
      ? [...(brought.formerPlacements ?? []), ...bringersOf(deliveries(definition)), ...groupsOf(brought)]
      : [];
    const groups = [...new Set([...groupsOf(record), ...[...new Set(bringers)].slice(0, groupsOfDefinitionMax)])];
    const finalizers = hasFinalizers(key);
    const stage = removalStageOf(key, finalizers ?? false);
    return {
      groups,
      stage,
      isKnown: finalizers !== undefined || stage === removalStageOf(key, true),
      // A Namespace that the agent did not create only loses the mark, and keeps its objects.
      mayHaveCompanions: isNamespaceKey(key) ? record.created : groups.some((group) => records.hasCustomKinds(group)),
    };
  }

  async #look(key: string): Promise<void> {
    const live = await this.#ports.cluster.get(parseKey(key));
    this.#order.know(key, removalStageOf(key, live !== undefined && hasControllerFinalizers(live)));
  }

  #obstacleOf(key: string, live: KubeObject): string {
    if (!this.#order.isOverdue(key) || isContainer(key)) return removalMessage(live);
    const seconds = removalWaitMs / 1_000;
    return `${removalMessage(live)}; the agent waited ${seconds} s for it and has gone on with the objects that are removed after it`;
  }
}

/** The placements of the deliveries: first those that name the object themselves, then those that have it only because their other objects need it. */
function bringersOf(deliveries: readonly Delivery[]): PlacementId[] {
  const isImplied =
    ({ implied }: Delivery) =>
    (id: PlacementId) =>
      implied.includes(id);
  const explicit = deliveries.flatMap((one) => one.placements.filter((id) => !isImplied(one)(id)));
  return [...explicit, ...deliveries.flatMap((one) => one.placements.filter(isImplied(one)))];
}
