/** The children of this node with what the scheduler needs of them, read from the inventory and from what they report. */

import type { Producer } from '../../core/feed/feed.ts';
import {
  decodeLabelSummary,
  emptyLabelSummary,
  encodeLabelSummary,
  type LabelSummary,
  mergeLabelSummaries,
} from '../../core/match/label-summary.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import type { Labels } from '../../core/object/selector.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { ChildFeeds } from '../../core/session/parent-sessions.ts';
import { text } from '../../core/store/bytes.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { SegmentTree } from '../../core/summary/segment-tree.ts';
import { labelsKey, treeKey } from '../../core/wire/entries.ts';
import type { Mailbox, Mailboxes } from '../mailbox/mailboxes.ts';
import { inheritedBelow } from '../tree/inherited-labels.ts';
import type { Child, ChildRole, Destination } from './children.ts';
import { markDirty } from './dirty.ts';
import type { Inventory } from './inventory.ts';
import { locationExpression } from './location-expression.ts';

export interface ChildBookPorts {
  readonly inventory: Inventory;
  readonly mailboxes: Mailboxes;
  readonly outbox: Producer;
  /** What Locations of this node inherit. */
  inherited(): Labels;
  readonly path: string;
}

export class ChildBook {
  readonly children = new Map<string, Child>();
  readonly #ports: ChildBookPorts;
  readonly #labels = new SegmentTree<LabelSummary>((a, b) => mergeLabelSummaries([a, b]));

  constructor(ports: ChildBookPorts) {
    this.#ports = ports;
  }

  /** At start: all known children, and the agents that the inventory names. */
  load(t: Transaction): void {
    for (const { child } of this.#ports.mailboxes.all()) this.#read(t, child);
    for (const name of this.#ports.inventory.syncTargets()) if (!this.children.has(name)) this.refresh(t, name);
    this.#tellLabels(t);
  }

  /** One child anew; false when it is gone for good: its mailbox is dropped. */
  refresh(t: Transaction, name: string): boolean {
    const { inventory, mailboxes } = this.#ports;
    const mailbox = mailboxes.get(name);
    if (mailbox?.role !== 'relay' && !inventory.hasSyncTarget(name)) {
      this.children.delete(name);
      this.#labels.delete(name);
      mailboxes.drop(t, name);
      this.#tellLabels(t);
      return false;
    }
    if (!mailbox) mailboxes.ensure(t, name, 'agent');
    this.#read(t, name);
    this.#tellLabels(t);
    return true;
  }

  /** For a child that says hello: agents are known by the inventory, a relay by its certificate. Throws for who may not come. */
  feedsOf(t: Transaction, name: string, role: ChildRole): ChildFeeds {
    const known = this.#ports.mailboxes.get(name);
    if (known && known.role !== role) {
      const holder = known.role === 'agent' ? 'an agent' : 'a relay';
      throw new BanyanError(
        'AlreadyExists',
        `the name "${name}" is taken by ${holder}: give this ${role} another name`,
      );
    }
    if (!known && role === 'agent') {
      throw new BanyanError(
        'NotFound',
        `there is no SyncTarget "${name}" here: create it, with its Location, before the agent joins`,
      );
    }
    const { producer, reported } = known ?? this.#addRelay(t, name);
    return { producer, consumer: reported };
  }

  /** What comes down from above has changed: every child sees other inherited labels. */
  inheritedChanged(t: Transaction): void {
    for (const name of this.children.keys()) markDirty(t, 'child', name);
  }

  #addRelay(t: Transaction, name: string): Mailbox {
    const mailbox = this.#ports.mailboxes.ensure(t, name, 'relay');
    markDirty(t, 'child', name);
    return mailbox;
  }

  #read(t: Transaction, name: string): void {
    const mailbox = this.#ports.mailboxes.get(name);
    if (!mailbox) return;
    if (mailbox.role === 'agent') {
      const destinations = this.#destinationsOf(name);
      this.children.set(name, { name, role: 'agent', destinations });
      this.#labels.set(
        name,
        mergeLabelSummaries(
          destinations.slice(0, 1).map(({ labels }) => ({ leaves: 1, sets: [{ labels, leaves: 1 }] })),
        ),
      );
      return;
    }
    const labels = this.#reportedLabels(t, mailbox);
    this.children.set(name, { name, role: 'relay', destinations: [], ...(labels ? { labels } : {}) });
    this.#labels.set(name, labels ?? emptyLabelSummary);
    const path = this.#ports.path === '' ? name : `${this.#ports.path}:${name}`;
    const tree = { path, labels: inheritedBelow(path, this.#ports.inherited(), {}) };
    mailbox.producer.put(t, { key: treeKey, attributes: text(stableStringify(tree)), body: new Uint8Array(0) }, 0);
  }

  #destinationsOf(name: string): Destination[] {
    const path = this.#ports.path === '' ? name : `${this.#ports.path}:${name}`;
    return this.#ports.inventory
      .locationsOf(name, this.#ports.inherited())
      .map(({ name: location, labels, object, syncTarget }) => ({
        location,
        syncTargetUid: syncTarget.metadata.uid ?? '',
        labels,
        evaluate: (expression) =>
          locationExpression(expression, { location: withLabels(object, labels), syncTarget, path }),
      }));
  }

  #reportedLabels(reader: Reader, { reported }: Mailbox): LabelSummary | undefined {
    const row = reported.get(reader, hash128(labelsKey));
    return row?.content && decodeLabelSummary(reported.content(reader, row.content).attributes);
  }

  /** The node's own summary goes up in the transaction of the change that made it. */
  #tellLabels(t: Transaction): void {
    const attributes = encodeLabelSummary(this.#labels.total() ?? emptyLabelSummary);
    this.#ports.outbox.put(t, { key: labelsKey, attributes, body: new Uint8Array(0) }, 0);
  }
}

function withLabels(location: KubeObject, labels: Labels): KubeObject {
  return { ...location, metadata: { ...location.metadata, labels: { ...labels } } };
}
