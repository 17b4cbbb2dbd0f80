/**
 * Decides which grants of a move are for the present sequence of this node: grants that this node has decided itself, grants that it has carried out, and
 * grants from above. The node ignores a grant for another store incarnation.
 */

import type { GrantAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey } from '../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../core/entries/placement-id.ts';
import type { Table } from '../../core/feed/feed.ts';
import { aheadBy } from '../../core/move/move-part.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { Reader } from '../../core/store/store.ts';

export interface GrantsPorts {
  /** The table that holds what the parent sends. */
  readonly upstream: Table;
  /** The node has received everything that the parent had, in this run of the process. */
  hasReceivedFromParent(): boolean;
}

/**
 * What the newest grant from above means for the present sequence:
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
  /** The sequences that this node has granted. The next reports of the children will show the effect. */
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

  /** The sequence that the parent has granted last. */
  above(reader: Reader, id: PlacementId): number | undefined {
    const { upstream } = this.#ports;
    const row = upstream.get(reader, hash128(entryKey.grant(id)));
    return row?.content && attributesOf<GrantAttributes>(upstream.content(reader, row.content)).sequence;
  }

  /**
   * A grant of a sequence that this node has not reported yet, or may have reported twice, is of a lost incarnation: the store of this node, or of a node
   * below, was restored from an older copy. The node ignores such a grant, and raises its own sequence above the grant. Otherwise the parent's next grant
   * would be older than this one.
   *
   * How the node knows that a grant is of this run: at an earlier look, the node had received everything that the parent had, and its sequence was above all
   * grants.
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

  /** The node has received everything that the parent had. Returns the placements whose grant can be judged now. */
  receivedFromParent(): PlacementId[] {
    const ids = [...this.#unclear];
    this.#unclear.clear();
    return ids;
  }

  decide(id: PlacementId, sequence: number): void {
    this.#decided.set(id, sequence);
  }

  /** Returns the decided sequence once: a decision is carried out by the next piece of work, or never. */
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

  /** The placement is gone. A later placement of the same name may use the same sequences. */
  forget(id: PlacementId): void {
    this.#decided.delete(id);
    this.#granted.delete(id);
    this.#ours.delete(id);
    this.#unclear.delete(id);
  }
}
