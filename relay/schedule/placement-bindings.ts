/**
 * Brings a placement to a child, or removes it from the child. Decides what the child gets from the placement, and what the child keeps because another
 * placement wants it. The work grows with the number of the placement's objects, for one child.
 */

import { entryKey } from '../../core/entries/entry-keys.ts';
import { type PlacementId, splitPlacementId } from '../../core/entries/placement-id.ts';
import type { Producer } from '../../core/feed/feed.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { Watermarks } from '../../core/session/watermark.ts';
import type { Transaction } from '../../core/store/store.ts';
import type { Child } from '../children/children.ts';
import type { Placement } from '../placements/placement.ts';
import { forgetMatched, selectedObjects, storeMatched } from '../placements/placements.ts';
import { boundedRules } from './delivery-guard.ts';
import type { MailboxWriter } from './mailbox-writer.ts';
import { shipmentKey } from './outgoing.ts';
import type { SchedulePorts } from './ports.ts';

export class PlacementBindings {
  readonly #ports: SchedulePorts;
  readonly #writer: MailboxWriter;
  /** Read at most once in a step, because no rows arrive during a step. */
  #covered: Watermarks | undefined;

  constructor(ports: SchedulePorts, writer: MailboxWriter) {
    this.#ports = ports;
    this.#writer = writer;
  }

  /** Call it when a step begins. */
  begin(): void {
    this.#covered = undefined;
  }

  attach(t: Transaction, placement: Placement, child: Child, mailbox: Producer): void {
    this.sendPlacement(t, placement, child, mailbox);
    // Stored before the objects are sent: the decision of a stage may depend on the placements that reach the child.
    storeMatched(t, placement.id, child.name);
    this.#ports.placements.attach(placement, child.name);
    if (child.role === 'agent') this.#ports.releases.attached(t, placement.id, child.name);
    for (const keyHash of selectedObjects(t, placement.id)) {
      if (child.role === 'relay') this.#writer.shareWanted(t, child.name, mailbox, placement.source, keyHash);
      else this.#shipAlone(t, child, mailbox, placement.source, keyHash);
    }
  }

  /** Ships one object as its own piece of work for the poison-work guard. If this object ends the process, the child still gets the other objects. */
  #shipAlone(t: Transaction, child: Child, mailbox: Producer, source: string, selected: Uint8Array): void {
    const { guard, tableOf } = this.#ports;
    const keyHash = this.#writer.objectOf(t, source, selected);
    const key = shipmentKey({ source, keyHash, child: child.name });
    const table = tableOf(source);
    const row = table?.get(t, keyHash);
    const about = row?.content && table ? `${table.content(t, row.content).key} for ${child.name}` : undefined;
    const work = guard.begin(t, 'shipment', { key, refs: [], originRevision: row?.originRevision ?? 0 }, about);
    if (!work) return;
    this.#writer.ship(t, child, mailbox, source, keyHash);
    guard.ended(t, 'shipment', work);
  }

  /** Sends the placement itself to a relay. An agent gets only the rules for its objects and reports (`rules`). */
  sendPlacement(t: Transaction, placement: Placement, child: Child, mailbox: Producer, originRevision = 0): void {
    const { id, source } = placement;
    if (child.role === 'relay') this.#writer.share(t, mailbox, source, hash128(entryKey.placement(id)));
    const rules = hash128(entryKey.rules(id));
    const table = this.#ports.tableOf(source);
    const row = table?.get(t, rules);
    if (!table || !row?.content) return this.#writer.remove(t, mailbox, rules, originRevision);
    const bounded = boundedRules(table.content(t, row.content), placement);
    const before = this.#writer.rows;
    if (bounded) this.#writer.putChanged(t, mailbox, source, bounded);
    else this.#writer.share(t, mailbox, source, rules);
    if (this.#writer.rows > before) this.#ports.askedChanged(t, child.name);
  }

  /**
   * Removes a placement from a child. `originRevision` is the revision of the write that removes the placement; 0 if no write does, because labels have
   * changed.
   *
   * A deletion must be newer than the child's rows, also if the child comes from another parent and has newer rows than this mailbox ever had. If labels have
   * changed, the deletions get the revision up to which this node has received everything of the source. The revision of this node's row is not enough: the
   * child's row may be newer although its content is equal, since reconciliations compare contents. But this node has processed every write up to that
   * revision.
   */
  detach(t: Transaction, id: PlacementId, child: string, current: Set<string>, originRevision = 0): void {
    this.#ports.placements.detach(id, current, child);
    forgetMatched(t, id, child);
    const mailbox = this.#ports.mailboxOf(child);
    if (!mailbox) return;
    const { source } = splitPlacementId(id);
    const table = this.#ports.tableOf(source);
    const to = this.#ports.children.get(child);
    const covered = originRevision === 0 ? this.#coveredOf(t, source) : 0;
    for (const keyHash of selectedObjects(t, id)) {
      const row = table?.get(t, keyHash);
      const wanted = row?.content && table && this.#writer.wantedBy(source, table.content(t, row.content), child);
      if (!wanted) this.#writer.remove(t, mailbox, keyHash, Math.max(covered, row?.originRevision ?? 0));
      // Another placement may still bring the object, perhaps in another form.
      if (to?.role === 'agent') this.#shipAlone(t, to, mailbox, source, keyHash);
    }
    // Also ships the rows that were kept back because this node did not know a release completely: the agent loses them, unless another placement wants them.
    for (const key of this.#ports.releases.detached(t, id, child)) {
      if (to?.role === 'agent') this.#writer.ship(t, to, mailbox, source, hash128(key));
    }
    for (const key of [entryKey.placement(id), entryKey.rules(id), entryKey.target(id)].map(hash128)) {
      const ofRow = table?.get(t, key)?.originRevision ?? 0;
      this.#writer.remove(t, mailbox, key, Math.max(covered, originRevision, ofRow));
    }
    // The revisions of a grant are sequences, not revisions of a space.
    this.#writer.remove(t, mailbox, hash128(entryKey.grant(id)));
  }

  #coveredOf(t: Transaction, source: string): number {
    this.#covered ??= this.#ports.covered(t);
    return this.#covered[source] ?? 0;
  }
}
