/** Removes unwanted objects of this agent, one at a time, and reports what hinders the removal. */

import type { PlacementId } from '../../core/entries/placement-id.ts';
import { parseKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { removalMessage, terminating } from '../../core/object/terminating.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { definitionKeyOf, isDefinitionKey, isNamespaceKey, namespaceKeyOf } from './order.ts';
import type { OwnerRecords } from './owner-records.ts';
import { giveBack, releaseOwnership } from './ownership-release.ts';
import { definedBy, isOfAgent, removalOf } from './removal.ts';
import type { RemovalObstacle } from './removal-progress.ts';

export interface RemoverPorts {
  /** The path of the agent. */
  readonly path: string;
  readonly cluster: Cluster;
  readonly records: OwnerRecords;
  readonly logger: Logger;
  isWanted(key: string): boolean;
  /** See ApplierPorts. */
  takerOf(key: string, live: KubeObject): Promise<{ readonly id: PlacementId | undefined } | 'unknown'>;
}

export interface RemoverEvents {
  /** Called when the object got a record, or when its record was deleted. */
  recorded(key: string): void;
  /** Called with the reason why an unwanted object is still on the cluster. Undefined: nothing hinders its removal any more. */
  obstacleChanged(key: string, obstacle: RemovalObstacle | undefined): void;
  /** Called when the removal of another object lets the removal of this object begin. */
  enqueue(key: string): void;
}

export class Remover {
  readonly #ports: RemoverPorts;
  readonly #events: RemoverEvents;
  /** Objects that the cluster was asked to remove and that still have a record. */
  readonly #removalRequested = new Set<string>();

  constructor(ports: RemoverPorts, events: RemoverEvents) {
    this.#ports = ports;
    this.#events = events;
  }

  async remove(key: string): Promise<'done' | 'retry'> {
    const { path, cluster, records, logger, takerOf } = this.#ports;
    const record = records.get(key);
    if (!record) return 'done';
    if (isNamespaceKey(key) && this.#holdsOwned(parseKey(key).name)) return 'done';
    if (isDefinitionKey(key) && this.#isNeeded(key)) return 'done';
    const live = await cluster.get(parseKey(key));
    const decision = await removalOf(key, record, live, { path, cluster, applied: () => records.keys() });
    if (decision.do === 'wait') {
      if (live) this.#noteObstacle(key, { reason: terminating, message: removalMessage(live), isRefused: false });
      return 'retry';
    }
    if (decision.do === 'remove') {
      // A scan may have put the object on record. An object that now belongs to the cluster may still have the mark from the time when its source sent it.
      const taker = live ? await takerOf(key, live) : { id: undefined };
      if (taker === 'unknown') return 'retry';
      if (taker.id !== undefined) {
        await releaseOwnership(this.#ports, key, record);
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
    const message = `nobody wants the object any more, and removing it was refused: ${error}`;
    this.#noteObstacle(key, { reason, message, isRefused: true });
  }

  /** Deletes the record: the object does not belong to this agent any more, whether or not the object is on the cluster. */
  forget(key: string): void {
    this.#ports.records.delete(key);
    this.#removalRequested.delete(key);
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
   * Whether another source, or a later placement, wants objects of the definition. The agent removes the definition when nobody wants such objects any more.
   * The removal of each of these objects starts another try for the definition.
   */
  #isNeeded(definition: string): boolean {
    const { records, isWanted } = this.#ports;
    const defined = definedBy(parseKey(definition));
    for (const key of records.keys()) if (isOfAgent(defined, key) && isWanted(key)) return true;
    return false;
  }
}
