/**
 * Holds all moves of a node whose store was lost, or restored from an older copy. The node does not know which copies are below it until its children have
 * reported. So it adds one destination to each move, for which every grant waits, until each child has reported in this run of the process, or is no longer a
 * child. So no node decides by old facts, neither this node nor a node above. The store keeps the barrier, because a later start would not notice the loss
 * again.
 *
 * Bound: one name for each child. The search for a missing child starts with the child that the last search found.
 */

import { entryKey } from '../../core/entries/entry-keys.ts';
import type { Producer } from '../../core/feed/feed.ts';
import { mergeMoveParts, unknownMovePart } from '../../core/move/move-part.ts';
import { hash128 } from '../../core/object/hash.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { decodePartial, encodePartial, type Partial } from '../../core/summary/partial.ts';
import type { Child } from '../children/children.ts';
import type { Placement } from '../placements/placement.ts';
import type { Placements } from '../placements/placements.ts';
import { ownContributionTopic } from '../work/topics.ts';

export interface RestoreBarrierPorts {
  /** The path of this node. The status of a move names it among the places for which the move waits. */
  readonly path: string;
  readonly children: ReadonlyMap<string, Child>;
  readonly placements: Placements;
  readonly outbox: Producer;
  /** Returns whether this node reports the child. Otherwise another replica of this node reports it. */
  counts(child: string): boolean;
}

export class RestoreBarrier {
  readonly #ports: RestoreBarrierPorts;
  readonly #reported = new Set<string>();
  #isPending = false;
  /** The child that the last search found missing. It is checked first, because it is probably still missing. */
  #missing = '';

  constructor(ports: RestoreBarrierPorts) {
    this.#ports = ports;
  }

  load(reader: Reader): void {
    this.#isPending = reader.get(prefixOf('restoreBarrier')) !== undefined;
  }

  /** True: the node does not know yet which copies are below it. */
  get isPending(): boolean {
    return this.#isPending;
  }

  /**
   * Raises the barrier. Call it when the parent or a child knows more than this store. The reports about moves that are in the outbox change at once, before
   * their totals are computed again.
   */
  begin(t: Transaction): void {
    if (this.#isPending) return;
    t.put(prefixOf('restoreBarrier'), new Uint8Array(0));
    this.#isPending = true;
    const moving = this.#moving();
    for (const placement of moving) this.#addToReport(t, placement);
    announce(t, moving);
  }

  /** Call it when the child has reported everything, and the reports are stored. */
  reportsStored(child: string): void {
    this.#reported.add(child);
  }

  childRemoved(child: string): void {
    this.#reported.delete(child);
  }

  /** Call it when the scheduler has processed everything that the parent had, so that `children` is complete. Removes the barrier if no child is missing. */
  idle(enqueue: (act: (t: Transaction) => void) => void): void {
    if (!this.#isPending || this.#isMissing(this.#missing)) return;
    for (const name of this.#ports.children.keys()) {
      if (!this.#isMissing(name)) continue;
      this.#missing = name;
      return;
    }
    enqueue((t) => {
      t.remove(prefixOf('restoreBarrier'));
      t.afterCommit(() => {
        this.#isPending = false;
      });
      announce(t, this.#moving());
    });
  }

  /** Adds the barrier to a total that this node reports, and by which it decides. */
  addTo(placement: Placement, total: Partial): Partial {
    if (!this.#isPending || !placement.move || !total.move) return total;
    const part = unknownMovePart(placement.move.order, this.#ports.path);
    return { ...total, move: mergeMoveParts(total.move, part) };
  }

  #isMissing(name: string): boolean {
    return this.#ports.children.has(name) && !this.#reported.has(name) && this.#ports.counts(name);
  }

  #moving(): Placement[] {
    return [...this.#ports.placements.all()].filter(({ move }) => move !== undefined);
  }

  #addToReport(t: Transaction, { id }: Placement): void {
    const { outbox, path } = this.#ports;
    const row = outbox.get(t, hash128(entryKey.partial(id)));
    if (!row?.content) return;
    const content = outbox.content(t, row.content);
    const reported = decodePartial(content.body);
    if (!reported.move) return;
    const move = mergeMoveParts(reported.move, unknownMovePart(reported.move.order, path));
    outbox.put(t, { ...content, body: encodePartial({ ...reported, move }) }, row.originRevision);
  }
}

/** Announces that this node's own part of these moves has changed. */
function announce(t: Transaction, placements: readonly Placement[]): void {
  for (const { id } of placements) t.announce(ownContributionTopic, id);
}
