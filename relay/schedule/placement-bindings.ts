/**
 * A placement comes to a child, or leaves it: what the child gets of it, and what it keeps because another placement wants it. The work is the placement's
 * objects, for this child alone.
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
import type { MailboxWriter } from './mailbox-writer.ts';
import { shipmentKey } from './outgoing.ts';
import type { SchedulePorts } from './ports.ts';

export class PlacementBindings {
  readonly #ports: SchedulePorts;
  readonly #writer: MailboxWriter;
  /** Read at most once in a step: nothing comes here during one. */
  #covered: Watermarks | undefined;

  constructor(ports: SchedulePorts, writer: MailboxWriter) {
    this.#ports = ports;
    this.#writer = writer;
  }

  /** A step begins. */
  begin(): void {
    this.#covered = undefined;
  }

  attach(t: Transaction, placement: Placement, child: Child, mailbox: Producer): void {
    this.announce(t, placement, child, mailbox);
    // Before the objects: what a stage decides may depend on the placements that reach the child.
    storeMatched(t, placement.id, child.name);
    this.#ports.placements.attach(placement, child.name);
    if (child.role === 'agent') this.#ports.releases.attached(t, placement.id, child.name);
    for (const keyHash of selectedObjects(t, placement.id)) {
      if (child.role === 'relay') this.#writer.share(t, mailbox, placement.source, keyHash);
      else this.#shipAlone(t, child, mailbox, placement.source, keyHash);
    }
  }

  /** Of many objects each is a piece of its own: one that ends the process leaves the others to the child. */
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

  /** A relay needs the placement itself; an agent gets what is final, and what it is to report. */
  announce(t: Transaction, placement: Placement, child: Child, mailbox: Producer, originRevision = 0): void {
    const { id, source } = placement;
    if (child.role === 'relay') this.#writer.share(t, mailbox, source, hash128(entryKey.placement(id)));
    const rules = hash128(entryKey.rules(id));
    if (this.#ports.tableOf(source)?.get(t, rules)?.content) this.#writer.share(t, mailbox, source, rules);
    else this.#writer.remove(t, mailbox, rules, originRevision);
  }

  /**
   * `originRevision`: of the write for which it goes, if there is one. The child may have newer rows than this mailbox ever had, of a parent that it came
   * from: a deletion that says what is told of it is newer than those too. Where it goes by labels, what the source has now is the newest; the row here may be
   * older than that of a child that has the same from elsewhere (reconciliations compare contents), but whatever was written up to where all is here was looked at.
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
      // Another placement may still bring the object, but perhaps not the same form of it.
      if (to?.role === 'agent') this.#shipAlone(t, to, mailbox, source, keyHash);
    }
    // Also what was kept back because too little was known.
    for (const key of this.#ports.releases.detached(t, id, child)) {
      if (to?.role === 'agent') this.#writer.ship(t, to, mailbox, source, hash128(key));
    }
    for (const key of [entryKey.placement(id), entryKey.rules(id), entryKey.target(id)].map(hash128)) {
      const ofRow = table?.get(t, key)?.originRevision ?? 0;
      this.#writer.remove(t, mailbox, key, Math.max(covered, originRevision, ofRow));
    }
    // Its revisions are no space's.
    this.#writer.remove(t, mailbox, hash128(entryKey.grant(id)));
  }

  #coveredOf(t: Transaction, source: string): number {
    this.#covered ??= this.#ports.covered(t);
    return this.#covered[source] ?? 0;
  }
}
