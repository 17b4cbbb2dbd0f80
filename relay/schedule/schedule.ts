/**
 * From sources to mailboxes: decides which rows each child gets. The scheduler processes dirty keys in bounded transactions. The work grows with the number of
 * changes times the number of children that they concern.
 *
 * The order of the classes of work is a promise. Objects are processed before placements, for two reasons. An object that a placement lost is removed from the
 * placement's children while these children are still known. And a removed placement takes away only objects that no other placement wants. Targets are
 * processed last: a placement's target row is put only when no object is left. So a child that has acknowledged the target has stored every object that the
 * target covers.
 */

import type { RefsAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, type EntryKey, entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import { type PlacementId, placementId, splitPlacementId } from '../../core/entries/placement-id.ts';
import type { Producer } from '../../core/feed/feed.ts';
import { hash128 } from '../../core/object/hash.ts';
import { equalJson } from '../../core/object/json-value.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { type Child, matchChild } from '../children/children.ts';
import type { Placement } from '../placements/placement.ts';
import { forgetPlacement, matchedChildren, selectedObjects, storedPlacements } from '../placements/placements.ts';
import { readPlacement } from '../placements/read-placement.ts';
import { heldObjects } from '../promoted/held-back.ts';
import { heldCustomizers } from '../promoted/held-customizers.ts';
import { clearDirty, dirtyClasses, dirtyWork, markDirty, type ScheduleWork, type WorkClass } from '../work/dirty.ts';
import { atChild, ownContributionTopic, scheduledTopic } from '../work/topics.ts';
import { MailboxWriter } from './mailbox-writer.ts';
import { PlacementBindings } from './placement-bindings.ts';
import { PlacementInterestIndex } from './placement-interest-index.ts';
import type { SchedulePorts } from './ports.ts';

/**
 * Limit for the rows put or removed in one transaction, a few ms on one core; then other tasks have their turn. These rows are flushed and sent while the next
 * transaction puts its rows. An object and its target are one piece of work for all children, so that each child gets both in one frame. Such a piece may
 * exceed the limit: for 1,000 children it has 2,000 rows and takes about 30 ms.
 */
const rowsPerStep = 256;
const besideObjects = ['auxiliary', 'promoted', 'promotedCustomizer', 'release'] as const;
/** Limit for the dirty keys that are read at once. It bounds memory, not progress. */
const workPerStep = 500;

export class Scheduler {
  readonly #ports: SchedulePorts;
  readonly #writer: MailboxWriter;
  readonly #placementBindings: PlacementBindings;
  readonly #interest: PlacementInterestIndex;
  /** The classes of work that have dirty keys. */
  #present: ReadonlySet<WorkClass> = new Set();
  /** Number of placements matched with a changed child, since the start. */
  lookedAt = 0;
  /** Number of targets that were sent, or checked, for a child, since the start. */
  aimed = 0;

  constructor(ports: SchedulePorts) {
    this.#ports = ports;
    this.#writer = new MailboxWriter(ports);
    this.#placementBindings = new PlacementBindings(ports, this.#writer);
    this.#interest = new PlacementInterestIndex(ports.placements);
  }

  /** Reads the placements from the store: at the start, and after the transaction of a step has failed. */
  load(reader: Reader): void {
    this.#interest.forget();
    for (const id of storedPlacements(reader)) {
      const children = new Set(matchedChildren(reader, id));
      // The placement's row was removed, but the removal is not processed yet. The children must stay known: they may have objects that the placement has lost
      // meanwhile.
      const removed = { id, ...splitPlacementId(id), locationSelectors: [], children };
      this.#ports.placements.set(readPlacement(reader, this.#ports, id, children) ?? removed);
    }
  }

  /** Does one bounded piece of work in the caller's transaction. Returns true if more work is left. */
  step(t: Transaction): boolean {
    this.#writer.begin();
    this.#placementBindings.begin();
    this.#present = dirtyClasses(t);
    for (const stage of this.#ports.stages) stage.begin?.();
    const done =
      this.#each(t, 'child', (work) => this.#child(t, work.key)) &&
      this.#each(t, 'auxiliary', (work) => this.#auxiliary(t, work)) &&
      this.#each(t, 'row', (work) => this.#row(t, work)) &&
      this.#each(t, 'placement', (work) => this.#placement(t, work)) &&
      this.#each(t, 'move', (work) => this.#move(t, work.key)) &&
      !this.#ports.releases.release(t) &&
      this.#each(t, 'match', (work) => this.#match(t, work.key)) &&
      this.#each(t, 'exposure', (work) => this.#exposure(t, work.key)) &&
      this.#each(t, 'shipment', (work) => this.#shipment(t, work.key)) &&
      this.#each(t, 'target', (work) => this.#target(t, work.key)) &&
      this.#each(t, 'aim', (work) => this.#aim(t, work.key));
    this.#ports.guard.rest();
    // `match` may have marked work for moves, and `placement` objects.
    return !done || this.#present.has('move') || this.#present.has('row');
  }

  /** Returns true if the class is empty afterwards. A piece of work that returns false stays dirty for the next step. */
  #each(t: Transaction, in_: Exclude<WorkClass, 'space'>, act: (work: ScheduleWork) => boolean): boolean {
    if (!this.#present.has(in_)) return true;
    const work = dirtyWork(t, in_, workPerStep);
    try {
      return this.#workOff(t, in_, work, act);
    } finally {
      // The work may have marked other classes dirty.
      this.#present = dirtyClasses(t);
    }
  }

  #workOff(
    t: Transaction,
    in_: WorkClass,
    work: readonly ScheduleWork[],
    act: (work: ScheduleWork) => boolean,
  ): boolean {
    for (const item of work) {
      if (this.#writer.rows >= rowsPerStep) return false;
      const todo = this.#ports.guard.begin(t, in_, item);
      if (!todo) {
        clearDirty(t, in_, item.key);
        continue;
      }
      if (!act(todo)) return false;
      clearDirty(t, in_, item.key);
      this.#ports.guard.ended(t, in_, item);
    }
    return work.length < workPerStep;
  }

  // ------------------------------------------------------------------------------------------------- children

  /** Matches only placements that name a changed key, and changes only placements whose result differs. */
  #child(t: Transaction, name: string): boolean {
    const { children } = this.#ports;
    const stays = this.#ports.refreshChild(t, name);
    const child = stays ? children.get(name) : undefined;
    for (const placement of [...this.#interest.by(name, child)]) {
      this.lookedAt++;
      const isAttached = placement.children.has(name);
      const matches = child !== undefined && matchChild(placement, child).matches;
      // The child's mailbox was dropped with the child. A child of the same name may be added before the next step: its mailbox is new, and it gets everything
      // again.
      if (isAttached && !child) this.#dropFrom(t, placement, name);
      else if (isAttached !== matches) markDirty(t, 'match', `${placement.id} ${name}`);
      // Even if the expression does not match, it may now fail in another way. The status of the placement shows this to its author.
      if (isAttached || matches || placement.locationExpression !== undefined)
        t.announce(scheduledTopic, atChild(placement.id, name));
    }
    this.#ports.passage.childChanged(t, name);
    this.#interest.matched(name, child);
    return true;
  }

  #dropFrom(t: Transaction, placement: Placement, name: string): void {
    this.#ports.passage.mayDetach(t, placement.id, name, placement);
    this.#placementBindings.detach(t, placement.id, name, placement.children);
  }

  #match(t: Transaction, key: string): boolean {
    const [id, name] = key.split(' ') as [PlacementId, string];
    const placement = this.#ports.placements.get(id);
    if (!placement) return true;
    t.announce(scheduledTopic, atChild(id, name));
    const child = this.#ports.children.get(name);
    const mailbox = this.#ports.mailboxOf(name);
    if (child && mailbox && matchChild(placement, child).matches) {
      if (this.#ports.passage.takesBack(id, name)) this.#placementBindings.detach(t, id, name, placement.children);
      const attached = placement.children.has(name);
      if (!attached && this.#ports.passage.mayAttach(t, placement, child))
        this.#placementBindings.attach(t, placement, child, mailbox);
      else if (!attached) this.#interest.wait(id, name);
      markDirty(t, 'aim', key);
    } else if (placement.children.has(name)) {
      if (this.#ports.passage.mayDetach(t, id, name, placement))
        this.#placementBindings.detach(t, id, name, placement.children);
      else this.#interest.wait(id, name);
    } else if (child && mailbox && this.#ports.passage.keeps(t, id, name)) {
      this.#placementBindings.attach(t, placement, child, mailbox);
      markDirty(t, 'aim', key);
    }
    return true;
  }

  #move(t: Transaction, id: PlacementId): boolean {
    t.announce(scheduledTopic, id);
    this.#writer.rows += this.#ports.passage.work(t, id);
    return true;
  }

  // ---------------------------------------------------------------------------------------------- placements

  #placement(t: Transaction, { key: id, originRevision }: ScheduleWork): boolean {
    const { placements, children, passage } = this.#ports;
    t.announce(scheduledTopic, id);
    const before = placements.get(id);
    const current = before?.children ?? new Set(matchedChildren(t, id));
    const placement = readPlacement(t, this.#ports, id, current);
    passage.placementChanged(t, id);
    for (const child of [...current]) {
      const still = placement && children.has(child) && matchChild(placement, children.get(child)!).matches;
      if (!still && passage.mayDetach(t, id, child, placement))
        this.#placementBindings.detach(t, id, child, current, originRevision);
      else if (!still) this.#interest.wait(id, child);
      if (this.#writer.rows >= rowsPerStep) return false;
    }
    if (!placement) {
      placements.delete(id);
      forgetPlacement(t, id);
    } else {
      placements.set(placement);
    }
    if (!placement) return true;
    if (!before) passage.placementCame(t, placement);
    else if (!equalJson(before.delivery, placement.delivery)) this.#boundsChanged(t, placement, originRevision);
    for (const child of children.values()) {
      const mailbox = this.#ports.mailboxOf(child.name);
      if (!mailbox) continue;
      const isAttached = current.has(child.name);
      if (!isAttached && !matchChild(placement, child).matches) continue;
      // A child that must not lose the placement yet also needs its present form.
      if (isAttached) {
        this.#placementBindings.sendPlacement(t, placement, child, mailbox, originRevision);
        for (const stage of this.#ports.stages) stage.rematched?.(t, child);
      } else if (passage.mayAttach(t, placement, child)) this.#placementBindings.attach(t, placement, child, mailbox);
      else this.#interest.wait(id, child.name);
      if (this.#writer.rows >= rowsPerStep) return false;
    }
    markDirty(t, 'target', id);
    return true;
  }

  /** The bounds of the space have changed. The rows of the objects may have been processed before, with the former bounds. */
  #boundsChanged(t: Transaction, { id, source, name }: Placement, originRevision: number): void {
    const table = this.#ports.tableOf(source);
    for (const keyHash of selectedObjects(t, id)) {
      const row = table?.get(t, keyHash);
      const entry = row?.content && table && parseEntryKey(table.content(t, row.content).key);
      if (entry?.type !== 'object' && entry?.type !== 'promoted') continue;
      markDirty(t, 'row', entryKey.object(source, entry.object), [name], originRevision);
    }
  }

  // ------------------------------------------------------------------------------------------- objects, targets

  #row(t: Transaction, work: ScheduleWork): boolean {
    const entry = parseEntryKey(work.key);
    if (entry?.type !== 'object') return true;
    this.#toChildren(t, entry.source, work, (child, mailbox, keyHash) => {
      if (child.role === 'agent') this.#writer.ship(t, child, mailbox, entry.source, keyHash, work);
      else this.#writer.share(t, mailbox, entry.source, keyHash);
    });
    return true;
  }

  /** Relays on the way need these rows. Agents get objects that were made with them. */
  #auxiliary(t: Transaction, work: ScheduleWork): boolean {
    const entry = parseEntryKey(work.key);
    if (!isBeside(entry)) return true;
    this.#toChildren(t, entry.source, work, (child, mailbox, keyHash) => {
      if (child.role === 'relay') this.#writer.share(t, mailbox, entry.source, keyHash);
    });
    if (entry.type === 'auxiliary' || entry.type === 'promotedCustomizer') {
      this.#ports.auxiliaryChanged(t, entry.source, entry.object);
    }
    if (entry.type === 'auxiliary') return true;
    if (this.#ports.releases.rowChanged(t, entry)) t.announce(scheduledTopic, entry.id);
    if (entry.type === 'release') t.announce(ownContributionTopic, entry.id);
    if (entry.type === 'promoted') {
      const { name } = splitPlacementId(entry.id);
      markDirty(t, 'row', entryKey.object(entry.source, entry.object), [name], work.originRevision);
    }
    return true;
  }

  /** Call it when an agent is at another step of a release. The agent gets the objects that the release changes, and then their target. */
  #exposure(t: Transaction, key: string): boolean {
    const [id, name] = key.split(' ') as [PlacementId, string];
    const placement = this.#ports.placements.get(id);
    const child = this.#ports.children.get(name);
    const mailbox = this.#ports.mailboxOf(name);
    if (!placement?.children.has(name) || child?.role !== 'agent' || !mailbox) return true;
    let isWhole = true;
    const changed = [...heldObjects(t, id)].map(({ keyHash }) => keyHash);
    for (const customizer of heldCustomizers(t, id)) {
      for (const stage of this.#ports.stages)
        changed.push(...(stage.madeWith?.(placement.source, customizer, name) ?? []));
    }
    for (const keyHash of changed) {
      if (!this.#writer.ship(t, child, mailbox, placement.source, keyHash)) isWhole = false;
    }
    // A target covers the rows that were in the mailbox before the target.
    if (isWhole) this.#writer.aim(t, placement, name, mailbox);
    return isWhole;
  }

  /** Sends a row to the children that at least one of its placements reaches. Removes it from children that no placement of the row reaches any more. */
  #toChildren(
    t: Transaction,
    source: string,
    work: ScheduleWork,
    send: (child: Child, mailbox: Producer, keyHash: Uint8Array) => void,
  ): void {
    const keyHash = hash128(work.key);
    const table = this.#ports.tableOf(source);
    const row = table?.get(t, keyHash);
    const content = row?.content && table?.content(t, row.content);
    const refs = new Set([...work.refs, ...(content ? attributesOf<RefsAttributes>(content).refs : [])]);
    for (const name of this.#childrenOf(source, refs)) {
      const mailbox = this.#ports.mailboxOf(name);
      const child = this.#ports.children.get(name);
      if (!mailbox) continue;
      if (child && content && this.#writer.wantedBy(source, content, name)) send(child, mailbox, keyHash);
      else if (child?.role === 'agent') this.#writer.ship(t, child, mailbox, source, keyHash, work);
      else this.#writer.remove(t, mailbox, keyHash, work.originRevision);
    }
  }

  #target(t: Transaction, id: PlacementId): boolean {
    const placement = this.#ports.placements.get(id);
    if (!placement) return true;
    t.announce(scheduledTopic, id);
    const fresh = readPlacement(t, this.#ports, id, placement.children);
    if (fresh) this.#ports.placements.set(fresh);
    for (const child of placement.children) this.#aimAt(t, placement, child);
    return true;
  }

  /** Sends the target of a placement to one child that got the placement. */
  #aim(t: Transaction, key: string): boolean {
    const [id, child] = key.split(' ') as [PlacementId, string];
    const placement = this.#ports.placements.get(id);
    if (!placement) return true;
    t.announce(scheduledTopic, atChild(id, child));
    if (placement.children.has(child)) this.#aimAt(t, placement, child);
    return true;
  }

  #aimAt(t: Transaction, placement: Placement, child: string): void {
    const mailbox = this.#ports.mailboxOf(child);
    this.aimed++;
    if (mailbox) this.#writer.aim(t, placement, child, mailbox);
  }

  #childrenOf(source: string, refs: Iterable<string>): Set<string> {
    const children = new Set<string>();
    for (const name of refs) {
      for (const child of this.#ports.placements.get(placementId(source, name))?.children ?? []) children.add(child);
    }
    return children;
  }

  /** Sends one object to one agent again. Returns false if the shipment has to wait for the next step. */
  #shipment(t: Transaction, key: string): boolean {
    const [source, keyHash, name] = key.split(' ') as [string, string, string];
    const child = this.#ports.children.get(name);
    const mailbox = this.#ports.mailboxOf(name);
    return (
      child?.role !== 'agent' || !mailbox || this.#writer.ship(t, child, mailbox, source, Buffer.from(keyHash, 'hex'))
    );
  }
}

/** Rows that travel beside the objects. They go to relays only. */
function isBeside(entry: EntryKey | undefined): entry is EntryKey & { readonly type: (typeof besideObjects)[number] } {
  return besideObjects.some((type) => type === entry?.type);
}
