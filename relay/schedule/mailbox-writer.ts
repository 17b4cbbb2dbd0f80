/**
 * Puts rows into the mailboxes of children and removes rows. Relays share rows by reference; rows for agents go through the stages. The writer counts the rows
 * that it changes, so that a step has a bound.
 */

import type { RefsAttributes, TargetAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import { placementId } from '../../core/entries/placement-id.ts';
import type { Content, Producer } from '../../core/feed/feed.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { text } from '../../core/store/bytes.ts';
import type { Transaction } from '../../core/store/store.ts';
import type { Child } from '../children/children.ts';
import { dropKeepEntry, writeKeepEntry } from '../mailbox/keep-entries.ts';
import type { Placement } from '../placements/placement.ts';
import { markDirty, type ScheduleWork } from '../work/dirty.ts';
import { boundedTarget, isDelivered } from './delivery-guard.ts';
import { type OutgoingContent, type Shipment, shipmentKey, throughStages } from './outgoing.ts';
import type { SchedulePorts } from './ports.ts';

type MailboxWriterPorts = Pick<SchedulePorts, 'tableOf' | 'children' | 'placements' | 'stages' | 'releases'>;

export class MailboxWriter {
  readonly #ports: MailboxWriterPorts;
  /** The number of rows changed since `begin`. */
  rows = 0;

  constructor(ports: MailboxWriterPorts) {
    this.#ports = ports;
  }

  begin(): void {
    this.rows = 0;
  }

  wantedBy(source: string, content: Content, child: string): boolean {
    return isDelivered(content, (name) => {
      const placement = this.#ports.placements.get(placementId(source, name));
      return placement?.children.has(child) ? placement : undefined;
    });
  }

  /** Returns the key hash of the object's entry. An object that a release removes has no object row any more, only a `promoted` row. */
  objectOf(t: Transaction, source: string, keyHash: Uint8Array): Uint8Array {
    const table = this.#ports.tableOf(source);
    const row = table?.get(t, keyHash);
    const entry = row?.content && table && parseEntryKey(table.content(t, row.content).key);
    return entry?.type === 'promoted' ? hash128(entryKey.object(source, entry.object)) : keyHash;
  }

  share(t: Transaction, mailbox: Producer, source: string, keyHash: Uint8Array): void {
    const row = this.#ports.tableOf(source)?.get(t, keyHash);
    if (!row?.content) return;
    // The mailbox may have a tombstone that is newer than the source's row. Two cases: the row's space was restored; or `detach` removed the row because of
    // labels, and now the row returns. So the row gets at least the revision of the tombstone. Otherwise a child that has received the tombstone would ignore
    // the row.
    const before = mailbox.get(t, keyHash);
    const originRevision = Math.max(row.originRevision, before?.content ? 0 : (mailbox.newest(before) ?? 0));
    if (!mailbox.putReference(t, keyHash, row.content, originRevision)) return;
    // Only changed rows count. A piece of work that starts again in the next step does not count the rows that it has already put.
    this.rows++;
  }

  /** Shares the row if a placement that reaches the child may deliver the row. */
  shareWanted(t: Transaction, child: string, mailbox: Producer, source: string, keyHash: Uint8Array): void {
    const table = this.#ports.tableOf(source);
    const row = table?.get(t, keyHash);
    if (table && row?.content && this.wantedBy(source, table.content(t, row.content), child))
      this.share(t, mailbox, source, keyHash);
  }

  /**
   * Puts into an agent's mailbox what the stages make from the object's row, or from the absence of the row. Returns false if the next step has to try again.
   */
  ship(
    t: Transaction,
    child: Child,
    mailbox: Producer,
    source: string,
    keyHash: Uint8Array,
    work?: ScheduleWork,
  ): boolean {
    const shipment = { child, source, keyHash, ...(work?.key.startsWith('o/') ? { changed: work } : {}) };
    const offered = this.#offered(t, child, source, keyHash, work);
    const what = this.#permitted(t, shipment, mailbox, throughStages(this.#ports.stages, t, shipment, offered));
    if (what.type === 'keep') {
      const key = offered.type === 'content' ? offered.content.key : work?.key;
      if (key !== undefined && writeKeepEntry(t, child.name, mailbox, key)) this.rows++;
      return true;
    }
    if (what.type === 'later') {
      markDirty(t, 'shipment', shipmentKey({ source, keyHash, child: child.name }));
      return false;
    }
    if (what.type === 'content') {
      this.#put(t, mailbox, keyHash, what, offered.originRevision);
      return true;
    }
    this.remove(t, mailbox, keyHash, what.originRevision);
    if (dropKeepEntry(t, child.name, mailbox, keyHash)) this.rows++;
    return true;
  }

  /** A stage may bring back, or leave in the mailbox, a form of an object that its space may not deliver any more. */
  #permitted(t: Transaction, { child, source, keyHash }: Shipment, mailbox: Producer, what: OutgoingContent) {
    if (what.type === 'nothing') return what;
    const row = what.type === 'content' ? undefined : mailbox.get(t, keyHash);
    const content = what.type === 'content' ? what.content : row?.content && mailbox.content(t, row.content);
    if (!content || parseEntryKey(content.key)?.type !== 'object' || this.#mayHave(source, content, child.name)) {
      return what;
    }
    return { type: 'nothing', originRevision: row?.originRevision ?? 0 } as const;
  }

  /** Bounds alone decide: a stage may keep a form that no placement of the child has in its rows any more. */
  #mayHave(source: string, content: Content, child: string): boolean {
    const { refs } = attributesOf<RefsAttributes>(content);
    const placements = refs.flatMap((name) => this.#ports.placements.get(placementId(source, name)) ?? []);
    if (!placements.some(({ delivery }) => delivery !== undefined)) return true;
    return isDelivered(content, (name) => placements.find((one) => one.name === name && one.children.has(child)));
  }

  #put(
    t: Transaction,
    mailbox: Producer,
    keyHash: Uint8Array,
    what: OutgoingContent & { readonly type: 'content' },
    rowRevision: number,
  ): void {
    // The content of an older write may replace the content of a newer write in the mailbox, because it is the newer decision. So its revision is not below the
    // revision of the mailbox's row. If the mailbox has no row, the row may have been lost, and the agent may have the source's row. Then the revision is not
    // below the revision of the source's row.
    const originRevision = Math.max(what.originRevision, mailbox.newest(mailbox.get(t, keyHash)) ?? rowRevision);
    const changed = what.reference
      ? mailbox.putReference(t, keyHash, what.reference, originRevision)
      : mailbox.put(t, what.content, originRevision);
    if (changed) this.rows++;
  }

  aim(t: Transaction, placement: Placement, child: string, mailbox: Producer): void {
    const keyHash = hash128(entryKey.target(placement.id));
    const table = this.#ports.tableOf(placement.source);
    const row = table?.get(t, keyHash);
    const content = row?.content && table?.content(t, row.content);
    const target = content && attributesOf<TargetAttributes>(content);
    const isAgent = this.#ports.children.get(child)?.role === 'agent';
    const released = target && isAgent ? this.#ports.releases.targetFor(t, placement, child, target) : target;
    const sent = released && boundedTarget(released, placement);
    if (!content || !sent || sent === target) {
      if (sent) this.share(t, mailbox, placement.source, keyHash);
      return;
    }
    this.putChanged(t, mailbox, placement.source, { ...content, attributes: text(stableStringify(sent)) });
  }

  /** Puts a row of the source that this node has changed for the child. */
  putChanged(t: Transaction, mailbox: Producer, source: string, content: Content): void {
    const keyHash = hash128(content.key);
    const row = this.#ports.tableOf(source)?.get(t, keyHash);
    const originRevision = Math.max(row?.originRevision ?? 0, mailbox.newest(mailbox.get(t, keyHash)) ?? 0);
    if (mailbox.put(t, content, originRevision)) this.rows++;
  }

  /**
   * Removes a row that the child must not have any more. The row becomes a tombstone with at least the revision of the child's row, so that the child does not
   * ignore the tombstone as outdated.
   */
  remove(t: Transaction, mailbox: Producer, keyHash: Uint8Array, originRevision = 0): void {
    const row = mailbox.get(t, keyHash);
    if (!row?.content) return;
    this.rows++;
    mailbox.remove(t, keyHash, Math.max(originRevision, row.originRevision));
  }

  #offered(
    t: Transaction,
    child: Child,
    source: string,
    keyHash: Uint8Array,
    work?: ScheduleWork,
  ): OutgoingContent & { readonly originRevision: number } {
    const table = this.#ports.tableOf(source);
    const row = table?.get(t, keyHash);
    const originRevision = Math.max(row?.originRevision ?? 0, work?.originRevision ?? 0);
    if (!table || !row?.content) return { type: 'nothing', originRevision };
    const content = table.content(t, row.content);
    const isObject = parseEntryKey(content.key)?.type === 'object';
    if (!isObject || !this.wantedBy(source, content, child.name)) return { type: 'nothing', originRevision };
    return { type: 'content', content, reference: row.content, originRevision: row.originRevision };
  }
}
