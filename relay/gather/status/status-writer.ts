/**
 * Writes the results of the status aggregation: partials to the parent, and the status of own EdgePlacements.
 */

import { placementResource } from '../../../core/apiserver/kinds/edge-placement.ts';
import type { Space } from '../../../core/apiserver/space.ts';
import { entryKey } from '../../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../../core/entries/placement-id.ts';
import type { Producer } from '../../../core/feed/feed.ts';
import { timestamp } from '../../../core/object/conditions.ts';
import { hash128 } from '../../../core/object/hash.ts';
import type { Condition } from '../../../core/object/meta.ts';
import type { RolloutStep } from '../../../core/rollout/controller.ts';
import type { Clock } from '../../../core/runtime/clock.ts';
import type { Logger } from '../../../core/runtime/logger.ts';
import { text } from '../../../core/store/bytes.ts';
import type { Reader, Store } from '../../../core/store/store.ts';
import { encodePartial, isComplete, type Partial } from '../../../core/summary/partial.ts';
import type { Placement } from '../../placements/placement.ts';
import type { Placements } from '../../placements/placements.ts';
import type { RolloutStatus } from '../../rollout/status.ts';
import { isBeingScheduled } from '../../work/dirty.ts';
import { withDeletion } from './deletion-status.ts';
import { type ExpressionFailures, type FailingExpressions, withExpression } from './failing-expressions.ts';
import type { Gather } from './gather.ts';
import { PlacementEvents, type StatusBefore } from './placement-events.ts';
import { type PlacementStatus, placementStatus } from './placement-status.ts';
import { withSummarizers } from './summarizers-resolved.ts';
import { updateStatus } from './update-status.ts';

export interface StatusWriterPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly gather: Pick<Gather, 'total'>;
  readonly placements: Placements;
  readonly outbox: Producer;
  readonly expressions: Pick<FailingExpressions, 'of'>;
  ownSpace(source: string): Space | undefined;
  /** Returns the reasons why StatusSummarizers that the placement names can't be used, keyed by name. Undefined: the placement names none. */
  unresolved(id: PlacementId): ReadonlyMap<string, string> | undefined;
  /** Returns the rollout of an own placement whose releases go out in waves. */
  rolloutOf(id: PlacementId): RolloutStep | undefined;
  /** Returns whether the last release was rolled back, also for a placement from above. */
  isRolledBack(id: PlacementId): boolean;
  /** For a placement from above: returns what this node knows about its release. */
  rolloutBelow(reader: Reader, id: PlacementId): RolloutStatus | undefined;
}

export class StatusWriter {
  readonly #ports: StatusWriterPorts;
  readonly #events: PlacementEvents;
  /** Conditions of placements from above. (An own placement keeps them in its status.) */
  readonly #conditions = new Map<PlacementId, readonly Condition[]>();
  /** The placements that were last written as complete. */
  readonly #complete = new Set<PlacementId>();

  constructor(ports: StatusWriterPorts) {
    this.#ports = ports;
    this.#events = new PlacementEvents(ports.clock, ports.log);
  }

  /** Writes the status of own placements, and the partial of placements from above. */
  write(ids: readonly PlacementId[]): void {
    for (const id of ids) this.#writeOne(id);
  }

  /**
   * Whether all destinations have become available since the last write. The statuses of the objects then say ready, and a tool that has waited for an object
   * must not find an older status of the placement. Such a write follows another one, which the rate has admitted.
   */
  hasBecomeComplete(id: PlacementId): boolean {
    if (this.#complete.has(id)) return false;
    const total = this.#ports.store.read((reader) => this.#ports.gather.total(reader, id));
    return total !== undefined && isComplete(total);
  }

  /** Returns the status of a placement from above, for the subtree of this node, as JSON. */
  statusOf(reader: Reader, id: PlacementId): Uint8Array | undefined {
    const partial = this.#ports.gather.total(reader, id);
    if (!partial) return undefined;
    const rollout = this.#ports.rolloutBelow(reader, id);
    const status = this.#status(id, partial, this.#conditions.get(id) ?? []);
    return text(JSON.stringify({ ...status, ...(rollout ? { rollout } : {}) }));
  }

  #writeOne(id: PlacementId): void {
    const { store, gather, placements, outbox, ownSpace } = this.#ports;
    const placement = placements.get(id);
    const own = ownSpace(placement?.source ?? '');
    if (!placement) {
      this.#conditions.delete(id);
      this.#complete.delete(id);
      store.write((t) => outbox.remove(t, hash128(entryKey.partial(id)), 0));
      return;
    }
    const partial = store.read((reader) => (isBeingScheduled(reader, id) ? undefined : gather.total(reader, id)));
    if (!partial) return;
    if (own) return this.#writeSpace(own, placement, partial);
    this.#conditions.set(id, this.#status(id, partial, this.#conditions.get(id) ?? []).conditions);
    store.write((t) =>
      outbox.put(t, { key: entryKey.partial(id), attributes: text('{}'), body: encodePartial(partial) }, 0),
    );
    this.#written(id, partial);
  }

  #written(id: PlacementId, partial: Partial): void {
    if (isComplete(partial)) this.#complete.add(id);
    else this.#complete.delete(id);
  }

  #status(id: PlacementId, partial: Partial, before: readonly Condition[]): PlacementStatus {
    const now = timestamp(this.#ports.clock.wallMs());
    const status = placementStatus(partial, before, now, this.#ports.rolloutOf(id), this.#ports.isRolledBack(id));
    const unresolved = this.#ports.unresolved(id);
    const conditions = withSummarizers(status.conditions, unresolved, partial.generation, now);
    return { ...status, conditions: withExpression(conditions, this.#failing(id), partial.generation, now) };
  }

  #failing(id: PlacementId): ExpressionFailures | undefined {
    const placement = this.#ports.placements.get(id);
    return placement && this.#ports.expressions.of(placement);
  }

  #writeSpace(space: Space, placement: Placement, partial: Partial): void {
    const object = space.get({ ...placementResource, namespace: '', name: placement.name });
    // After a change of the placement, the new status is not written until the new generation has been scheduled.
    if (!object || object.metadata.generation !== partial.generation) return;
    const before = (object.status ?? {}) as StatusBefore;
    const { conditions = [] } = before;
    const now = timestamp(this.#ports.clock.wallMs());
    const status = withDeletion(object, this.#status(placement.id, partial, conditions), conditions, now);
    updateStatus(space, object, status, this.#ports.log);
    this.#events.report(space, object, before, status);
    this.#written(placement.id, partial);
  }
}
