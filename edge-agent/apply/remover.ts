/** Removes what is wanted no more and was ours, one object at a time, and tells what is in the way of that. */

import type { PlacementId } from '../../core/entries/placement-id.ts';
import { parseKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { removalMessage, terminating } from '../../core/object/terminating.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { withoutOwnership } from '../cluster/mark.ts';
import { definitionKeyOf, isDefinitionKey, isNamespaceKey, namespaceKeyOf } from './order.ts';
import type { OwnerRecords } from './owner-records.ts';
import { releaseOwnership } from './ownership-release.ts';
import { definedBy, isOfAgent, removalOf } from './removal.ts';
import type { RemovalObstacle } from './removal-progress.ts';

export interface RemoverPorts {
  /** Of the agent. */
  readonly path: string;
  readonly cluster: Cluster;
  readonly records: OwnerRecords;
  readonly logger: Logger;
  isWanted(key: string): boolean;
  /** See ApplierPorts. */
  takerOf(key: string, live: KubeObject): Promise<{ readonly id: PlacementId | undefined } | 'unknown'>;
}

export interface RemoverEvents {
  /** The object has a record now, or has none any more. */
  recorded(key: string): void;
  /** Why what is wanted no more is still there; undefined: nothing is in its way any more. */
  hindered(key: string, hindrance: RemovalObstacle | undefined): void;
  /** The object may go now: what it was kept for has gone. */
  due(key: string): void;
}

export class Remover {
  readonly #ports: RemoverPorts;
  readonly #events: RemoverEvents;
  /** Of which the cluster was asked to remove them, and which have a record still. */
  readonly #asked = new Set<string>();

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
      if (live) this.#hinder(key, { reason: terminating, message: removalMessage(live), isRefused: false });
      return 'retry';
    }
    if (decision.do === 'remove') {
      // On record since stock was taken: the cluster's own has the mark from when it was sent down.
      const taker = live ? await takerOf(key, live) : { id: undefined };
      if (taker === 'unknown') return 'retry';
      if (taker.id !== undefined) {
        await releaseOwnership(this.#ports, key, record);
        this.forget(key);
        return 'done';
      }
      this.#asked.add(key);
      await cluster.remove(parseKey(key), record.deletion ?? 'Background', decision.uid);
      if (await cluster.get(parseKey(key))) {
        // What it waits for is said when it is still there at the next look: most are gone by then.
        this.#hinder(key, undefined);
        return 'retry';
      }
    }
    if (decision.do === 'release' && live) await cluster.apply(withoutOwnership(live, record.deletion === 'Orphan'));
    if (decision.why !== undefined) {
      logger.warn({ object: key, reason: decision.why }, 'a definition stays on the cluster');
    }
    this.forget(key);
    return 'done';
  }

  refused(key: string, reason: string, words: string): void {
    const message = `the object is wanted no more, and removing it was refused: ${words}`;
    this.#hinder(key, { reason, message, isRefused: true });
  }

  /** It is not ours any more, whether or not it is there. */
  forget(key: string): void {
    this.#ports.records.delete(key);
    this.#asked.delete(key);
    this.#events.recorded(key);
    const namespace = namespaceKeyOf(parseKey(key));
    if (namespace && this.#ports.records.get(namespace)) this.#events.due(namespace);
    const definition = definitionKeyOf(parseKey(key));
    const isLeft = definition && this.#ports.records.get(definition) && !this.#ports.isWanted(definition);
    if (isLeft) this.#events.due(definition);
  }

  /** The object is wanted again, and has been applied; true: this agent had it removed, if it had gone. */
  takeBack(key: string): boolean {
    return this.#asked.delete(key);
  }

  #hinder(key: string, hindrance: RemovalObstacle | undefined): void {
    // Wanted again since the work on it began: what is said of it is about the apply from now on.
    if (!this.#ports.isWanted(key)) this.#events.hindered(key, hindrance);
  }

  /** A namespace goes when the last of our objects in it has gone, which looks at it again. */
  #holdsOwned(namespace: string): boolean {
    for (const key of this.#ports.records.keys()) if (parseKey(key).namespace === namespace) return true;
    return false;
  }

  /** Of a definition: another source, or a placement that came later, wants what would go with it. It goes when none of that is left, each of which looks at it again. */
  #isNeeded(definition: string): boolean {
    const { records, isWanted } = this.#ports;
    const defined = definedBy(parseKey(definition));
    for (const key of records.keys()) if (isOfAgent(defined, key) && isWanted(key)) return true;
    return false;
  }
}
