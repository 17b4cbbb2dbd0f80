/**
 * The rows of moves at this node, keyed by placement and agent. They are in memory and in the store, so that a promise holds across a crash. Only agents that
 * are part of a move have a row. Each placement also has the node's own counter, which grows with every change of a row (core/move/move-part.ts).
 */

import type { PlacementId } from '../../core/entries/placement-id.ts';
import type { MoveRow } from '../../core/move/move.ts';
import { sequences } from '../../core/move/move-part.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';

export interface MoveCounter {
  /** This node's own share of its sequence. */
  readonly base: number;
  /** The number of destinations that went on at their deadline while the placement had this `generation`. */
  readonly overdue: number;
  /** The generation to which `overdue` belongs. */
  readonly generation: number;
}

const nul = Buffer.of(0);
const none: ReadonlyMap<string, MoveRow> = new Map();

export class MoveStore {
  readonly #clock: Clock;
  readonly #rows = new Map<PlacementId, Map<string, MoveRow>>();
  readonly #counters = new Map<PlacementId, MoveCounter>();
  /** The index in the other direction: the placements of each agent. */
  readonly #ofChild = new Map<string, Set<PlacementId>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  load(reader: Reader): void {
    const rows = prefixOf('move');
    for (const [key, value] of reader.scan(prefixRange(rows))) {
      const [id = '', child = ''] = asText(key.subarray(rows.length)).split('\0');
      this.#keep(id, child, JSON.parse(asText(value)) as MoveRow);
    }
    const counters = prefixOf('moveCounter');
    for (const [key, value] of reader.scan(prefixRange(counters))) {
      this.#counters.set(asText(key.subarray(counters.length)), JSON.parse(asText(value)) as MoveCounter);
    }
  }

  row(id: PlacementId, child: string): MoveRow | undefined {
    return this.#rows.get(id)?.get(child);
  }

  rowsOf(id: PlacementId): ReadonlyMap<string, MoveRow> {
    return this.#rows.get(id) ?? none;
  }

  /** Returns the placements for which the agent has a row. */
  placementsOf(child: string): Iterable<PlacementId> {
    return this.#ofChild.get(child) ?? [];
  }

  /** Returns the placements for which any agent has a row. */
  placements(): IterableIterator<PlacementId> {
    return this.#rows.keys();
  }

  counter(id: PlacementId): MoveCounter {
    return this.#counters.get(id) ?? { base: 0, overdue: 0, generation: 0 };
  }

  /** Stores the row, or removes the stored row if `row` is absent. The sequence grows if something has changed. */
  set(t: Transaction, id: PlacementId, child: string, row: MoveRow | undefined): void {
    const before = this.row(id, child);
    if (stableStringify(before ?? null) === stableStringify(row ?? null)) return;
    const at = concat(prefixOf('move'), text(id), nul, text(child));
    if (row) t.put(at, text(JSON.stringify(row)));
    else t.remove(at);
    this.#keep(id, child, row);
    this.advance(t, id, 1);
  }

  /**
   * Raises the node's sequence: by 1 for a change, and by the sequence of a detached child plus 1 for the detachment. The sequence is never below the clock in
   * seconds. Reason: a store that was lost, or restored from an older copy, does not know which sequences were reported after the copy. It must not use one of
   * them again, because a grant for that sequence would take effect. Rows do not change more often than once a second for long, so the clock is above all
   * sequences that were reported before.
   */
  advance(t: Transaction, id: PlacementId, by: number): void {
    const counter = this.counter(id);
    const base = Math.max(counter.base, Math.floor(this.#clock.wallMs() / 1000));
    this.#count(t, id, { ...counter, base: (base + by) % sequences });
  }

  /** Adds `by` to the number of destinations that have gone on at their deadline. */
  overdue(t: Transaction, id: PlacementId, generation: number, by: number): void {
    const counter = this.counter(id);
    const before = counter.generation === generation ? counter.overdue : 0;
    this.#count(t, id, { ...counter, overdue: before + by, generation });
  }

  /** Call it when the placement was removed. */
  forget(t: Transaction, id: PlacementId): void {
    for (const child of [...this.rowsOf(id).keys()]) this.set(t, id, child, undefined);
    t.remove(concat(prefixOf('moveCounter'), text(id)));
    this.#counters.delete(id);
  }

  #count(t: Transaction, id: PlacementId, counter: MoveCounter): void {
    t.put(concat(prefixOf('moveCounter'), text(id)), text(JSON.stringify(counter)));
    this.#counters.set(id, counter);
  }

  #keep(id: PlacementId, child: string, row: MoveRow | undefined): void {
    const rows = this.#rows.get(id) ?? new Map<string, MoveRow>();
    const ids = this.#ofChild.get(child) ?? new Set<PlacementId>();
    if (row) {
      this.#rows.set(id, rows.set(child, row));
      this.#ofChild.set(child, ids.add(id));
      return;
    }
    rows.delete(child);
    ids.delete(id);
    if (rows.size === 0) this.#rows.delete(id);
    if (ids.size === 0) this.#ofChild.delete(child);
  }
}
