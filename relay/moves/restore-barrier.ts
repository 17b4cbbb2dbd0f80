/**
 * A node whose store was put back to an older copy, or lost: what it knows of copies below it is of then, until its children have said what they have.
 * Until all of them were heard in this run of the process, or are children no more, it adds to each move one destination that a grant waits for, so that
 * nobody decides by what it knows, neither here nor above. The store remembers it, since a later start would not show it again.
 *
 * Bound: a name for each child, and none that is worth a search twice.
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
  /** Of this node; shown as what a move waits for. */
  readonly path: string;
  readonly children: ReadonlyMap<string, Child>;
  readonly placements: Placements;
  readonly outbox: Producer;
  /** The child is told of here, and not by a sibling of this node. */
  counts(child: string): boolean;
}

export class RestoreBarrier {
  readonly #ports: RestoreBarrierPorts;
  readonly #heard = new Set<string>();
  #isPending = false;
  /** The last that was found to be missing: it most likely still is. */
  #missing = '';

  constructor(ports: RestoreBarrierPorts) {
    this.#ports = ports;
  }

  load(reader: Reader): void {
    this.#isPending = reader.get(prefixOf('restoreBarrier')) !== undefined;
  }

  /** What the node knows of its subtree is of another time. */
  get isPending(): boolean {
    return this.#isPending;
  }

  /** The parent or a child knows more than this store. What the parent is told of moves says so at once: before it is looked at anew. */
  begin(t: Transaction): void {
    if (this.#isPending) return;
    t.put(prefixOf('restoreBarrier'), new Uint8Array(0));
    this.#isPending = true;
    const moving = this.#moving();
    for (const placement of moving) this.#tell(t, placement);
    announce(t, moving);
  }

  /** All that the child had to say is stored. */
  heard(child: string): void {
    this.#heard.add(child);
  }

  left(child: string): void {
    this.#heard.delete(child);
  }

  /** All that is above is here and worked off: so are the children that there are. */
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

  /** Of what this node tells and decides by. */
  put(placement: Placement, total: Partial): Partial {
    if (!this.#isPending || !placement.move || !total.move) return total;
    const part = unknownMovePart(placement.move.order, this.#ports.path);
    return { ...total, move: mergeMoveParts(total.move, part) };
  }

  #isMissing(name: string): boolean {
    return this.#ports.children.has(name) && !this.#heard.has(name) && this.#ports.counts(name);
  }

  #moving(): Placement[] {
    return [...this.#ports.placements.all()].filter(({ move }) => move !== undefined);
  }

  #tell(t: Transaction, { id }: Placement): void {
    const { outbox, path } = this.#ports;
    const row = outbox.get(t, hash128(entryKey.partial(id)));
    if (!row?.content) return;
    const content = outbox.content(t, row.content);
    const told = decodePartial(content.body);
    if (!told.move) return;
    const move = mergeMoveParts(told.move, unknownMovePart(told.move.order, path));
    outbox.put(t, { ...content, body: encodePartial({ ...told, move }) }, row.originRevision);
  }
}

/** The node's own part of these moves has changed. */
function announce(t: Transaction, placements: readonly Placement[]): void {
  for (const { id } of placements) t.announce(ownContributionTopic, id);
}
