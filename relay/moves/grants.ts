/**
 * Which grants of a move are meant for the numbers that this node tells: what it has decided itself, what it has granted, and what comes from above. A grant
 * of another life of a store is for nobody.
 */

import type { GrantAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey } from '../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../core/entries/placement-id.ts';
import type { Table } from '../../core/feed/feed.ts';
import { aheadBy } from '../../core/move/move-part.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { Reader } from '../../core/store/store.ts';

export interface GrantsPorts {
  /** What comes from above. */
  readonly upstream: Table;
  /** All that the parent had was heard in this run of the process. */
  hasReceivedFromParent(): boolean;
}

/** Of what has come from above: nothing for the present number; not known yet whose it is; for that number; for one of a life that is over. */
export type GrantFromAbove = 'none' | 'unclear' | 'ours' | 'ofLostLife';

export class Grants {
  readonly #ports: GrantsPorts;
  /** Sequences that this node has decided to grant. */
  readonly #decided = new Map<PlacementId, number>();
  /** Sequences that it has granted: the children will tell of it. */
  readonly #granted = new Map<PlacementId, number>();
  /** Those whose number was above all that is granted, when the parent had been heard in this run: what is granted since is of this run. */
  readonly #ours = new Set<PlacementId>();
  /** Those of which that is not known yet. */
  readonly #unclear = new Set<PlacementId>();

  constructor(ports: GrantsPorts) {
    this.#ports = ports;
  }

  /** The number that the parent has granted last. */
  above(reader: Reader, id: PlacementId): number | undefined {
    const { upstream } = this.#ports;
    const row = upstream.get(reader, hash128(entryKey.grant(id)));
    return row?.content && attributesOf<GrantAttributes>(upstream.content(reader, row.content)).sequence;
  }

  /**
   * A grant of a number that this node has not told, or of one that it may have told twice, is of a lost life: its store, or one below, was put back to an older
   * copy. It is for nobody, and the node's own number goes above it, or the parent's next grant would be older than this one. Whether it is of this life is
   * known by a look at a time when all that the parent had was here, and the number above it.
   */
  fromAbove(id: PlacementId, above: number | undefined, sequence: number): GrantFromAbove {
    const hasReceivedFromParent = this.#ports.hasReceivedFromParent();
    if (above === undefined || aheadBy(above, sequence) < 0) {
      if (hasReceivedFromParent) this.#ours.add(id);
      return 'none';
    }
    if (aheadBy(above, sequence) > 0) return 'ofLostLife';
    if (this.#ours.has(id)) return 'ours';
    if (hasReceivedFromParent) return 'ofLostLife';
    this.#unclear.add(id);
    return 'unclear';
  }

  /** All that the parent had is here: of these it can be known now. */
  receivedFromParent(): PlacementId[] {
    const ids = [...this.#unclear];
    this.#unclear.clear();
    return ids;
  }

  decide(id: PlacementId, sequence: number): void {
    this.#decided.set(id, sequence);
  }

  /** What was decided is for the present work, or for nobody. */
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

  /** The placement is gone: a later one of its name may be told by the same numbers. */
  forget(id: PlacementId): void {
    this.#decided.delete(id);
    this.#granted.delete(id);
    this.#ours.delete(id);
    this.#unclear.delete(id);
  }
}
