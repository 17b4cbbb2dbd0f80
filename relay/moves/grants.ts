/**
 * Decides which grants of a move are for the present sequence of this node. Grants come from three places: this node has decided them, this node has carried
 * them out, or the parent has sent them. The node ignores a grant for another store incarnation.
 */

import type { GrantAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey } from '../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../core/entries/placement-id.ts';
import { entryContent } from '../../core/feed/entry-content.ts';
import type { Table } from '../../core/feed/feed.ts';
import { aheadBy } from '../../core/move/move-part.ts';
import type { Reader } from '../../core/store/store.ts';

export interface GrantsPorts {
  /** The rows that the parent sends. */
  readonly upstream: Table;
  /** Returns whether this run of the process has received everything that the parent had. */
  hasReceivedFromParent(): boolean;
}

/**
 * The meaning of the newest grant from above for the present sequence:
 *
 * - none: there is no grant for the present sequence;
 * - unclear: the node does not know yet whether the grant is for this run or for a lost store incarnation;
 * - ours: the grant is for the present sequence;
 * - ofLostIncarnation: the grant is for a store incarnation that is over.
 */
export type GrantFromAbove = 'none' | 'unclear' | 'ours' | 'ofLostIncarnation';

export class Grants {
  readonly #ports: GrantsPorts;
  /** The sequences that this node has decided to grant. */
  readonly #decided = new Map<PlacementId, number>();
  /** The sequences that this node has granted. The effect is visible in the next reports of the children. */
  readonly #granted = new Map<PlacementId, number>();
  /**
   * Placements whose sequence was above every grant at a moment when this node had received the parent's whole feed in this run. A later grant belongs to
   * this run.
   */
  readonly #ours = new Set<PlacementId>();
  /** Placements whose grant from above may belong to this run or to a lost store incarnation. The parent's feed decides which. */
  readonly #unclear = new Set<PlacementId>();

  constructor(ports: GrantsPorts) {
    this.#ports = ports;
  }

  /** Returns the sequence that the parent has granted last. */
  above(reader: Reader, id: PlacementId): number | undefined {
    const content = entryContent(reader, this.#ports.upstream, entryKey.grant(id));
    return content && attributesOf<GrantAttributes>(content).sequence;
  }

  /**
   * Returns what the newest grant from above means. If it is for a sequence that this node has not reported yet, or may have reported twice, it is for a lost
   * incarnation: the store of this node, or of a node below, was restored from an older copy. The node ignores this grant, and raises its own sequence above
   * it. Otherwise the parent's next grant would have a lower number than this grant.
   *
   * A grant is for this run if, at an earlier call, the node had received everything that the parent had, and its sequence was above all grants.
   */
  fromAbove(id: PlacementId, above: number | undefined, sequence: number): GrantFromAbove {
    const hasReceivedFromParent = this.#ports.hasReceivedFromParent();
    if (above === undefined || aheadBy(above, sequence) < 0) {
      if (hasReceivedFromParent) this.#ours.add(id);
      return 'none';
    }
    if (aheadBy(above, sequence) > 0) return 'ofLostIncarnation';
    if (this.#ours.has(id)) return 'ours';
    if (hasReceivedFromParent) return 'ofLostIncarnation';
    this.#unclear.add(id);
    return 'unclear';
  }

  /** Call it when the node has received everything that the parent had. Returns the placements whose grant can be judged now. */
  receivedFromParent(): PlacementId[] {
    const ids = [...this.#unclear];
    this.#unclear.clear();
    return ids;
  }

  decide(id: PlacementId, sequence: number): void {
    this.#decided.set(id, sequence);
  }

  /** Returns the decided sequence, and forgets it: the next piece of work carries the decision out, or nobody does. */
  takeDecided(id: PlacementId): number | undefined {
    const sequence = this.#decided.get(id);
    this.#decided.delete(id);
    return sequence;
  }

  granted(id: PlacementId, sequence: number): void {
    this.#granted.set(id, sequence);
  }

  isGranted(id: PlacementId, sequence: number): boolean {
    return this.#granted.get(id) === sequence;
  }

  /** Call it when the placement was removed. A later placement of the same name may use the same sequences. */
  forget(id: PlacementId): void {
    this.#decided.delete(id);
    this.#granted.delete(id);
    this.#ours.delete(id);
    this.#unclear.delete(id);
  }
}
