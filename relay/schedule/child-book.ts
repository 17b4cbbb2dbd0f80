/** The children of this node with what the scheduler needs of them, read from the inventory and from what they report. */

import {
  decodeLabelSummary,
  emptyLabelSummary,
  encodeLabelSummary,
  type LabelSummary,
  mergeLabelSummaries,
  summaryOfAgent,
} from '../../core/match/label-summary.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import type { Labels } from '../../core/object/selector.ts';
import type { Timer } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { ChildFeeds } from '../../core/session/parent-sessions.ts';
import { text } from '../../core/store/bytes.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { SegmentTree } from '../../core/summary/segment-tree.ts';
import { labelsKey, treeKey } from '../../core/wire/entries.ts';
import type { Mailbox, Mailboxes } from '../mailbox/mailboxes.ts';
import { inheritedBelow } from '../tree/inherited-labels.ts';
import { childPath } from '../tree/node-objects.ts';
import type { Child, ChildRole, Destination } from './children.ts';
import { markDirty } from './dirty.ts';
import type { Evictions } from './evictions.ts';
import { type Inventory, type InventoryLocation, type Schedulability, schedulabilityOf } from './inventory.ts';
import type { InventoryRow } from './inventory-below.ts';
import { locationExpression, propertiesOf } from './location-expression.ts';
import { ToldLabels, type ToldLabelsPorts } from './told-labels.ts';

export interface ChildBookPorts extends ToldLabelsPorts {
  readonly inventory: Inventory;
  readonly mailboxes: Mailboxes;
  readonly evictions: Evictions;
  /** What inventory spaces, here and above, say of a child. */
  rowsAt(reader: Reader, child: string): readonly InventoryRow[];
  /** A relay is a child from now on. */
  relayCame(t: Transaction, child: string): void;
  /** What Locations of this node inherit. */
  inherited(): Labels;
  readonly path: string;
}

export class ChildBook {
  readonly children = new Map<string, Child>();
  readonly #ports: ChildBookPorts;
  readonly #told: ToldLabels;
  /** Children whose part of the summary is of a transaction that may have failed. */
  readonly #unsure = new Set<string>();
  #settling: Timer | undefined;
  readonly #labels = new SegmentTree<LabelSummary>((a, b) => mergeLabelSummaries([a, b]));

  constructor(ports: ChildBookPorts) {
    this.#ports = ports;
    this.#told = new ToldLabels(ports);
  }

  /** At start: all known children, and the agents that the inventory names. */
  load(t: Transaction): void {
    for (const { child } of this.#ports.mailboxes.all()) this.#read(t, child);
    for (const name of this.#ports.inventory.syncTargets()) {
      if (this.children.has(name)) continue;
      this.#ports.mailboxes.ensure(t, name, 'agent');
      this.#read(t, name);
    }
    // Labels of this node, or the time, have changed since the last start: all that was matched is matched anew.
    if (this.#told.begin(t, this.#summary())) for (const name of this.children.keys()) markDirty(t, 'child', name);
  }

  /** One child anew; false when it is gone for good: its mailbox is dropped. */
  refresh(t: Transaction, name: string): boolean {
    const { mailboxes } = this.#ports;
    const mailbox = mailboxes.get(name);
    if (mailbox?.role !== 'relay' && !this.#isNamed(t, name)) {
      this.children.delete(name);
      this.#labels.delete(name);
      this.#ports.evictions.forget(name);
      mailboxes.drop(t, name);
      this.#told.tell(t, this.#summary());
      return false;
    }
    if (!mailbox) mailboxes.ensure(t, name, 'agent');
    this.#read(t, name);
    this.#told.tell(t, this.#summary());
    return true;
  }

  /** In the transaction in which the inventory or the report of a child changes, before `refresh`: the parent hears of it with this write. */
  widen(t: Transaction, name: string): void {
    this.#contribute(name, this.#labelsOf(t, name));
    this.#unsure.add(name);
    t.afterCommit(() => this.#unsure.delete(name));
    this.#settling ??= this.#ports.clock.after(0, () => this.#settle());
    this.#told.tell(t, this.#summary());
  }

  /** By now every transaction has ended: what is unsure still was of one that failed. */
  #settle(): void {
    this.#settling = undefined;
    if (this.#unsure.size === 0) return;
    this.#ports.write((t) => {
      for (const name of this.#unsure) this.#contribute(name, this.#labelsOf(t, name));
      this.#unsure.clear();
      this.#told.tell(t, this.#summary());
    });
  }

  stop(): void {
    this.#settling?.stop();
    this.#told.stop();
    this.#ports.evictions.stop();
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
        `there is no SyncTarget "${name}" here, nor one with spec.attachTo "${childPath(this.#ports.path, name)}" in an inventory space here or above: create one, with its Location, before the agent joins`,
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
    this.#ports.relayCame(t, name);
    return mailbox;
  }

  #read(t: Transaction, name: string): void {
    const mailbox = this.#ports.mailboxes.get(name);
    if (!mailbox) return;
    if (mailbox.role === 'agent') {
      const { destinations, labels } = this.#agentOf(t, name);
      this.children.set(name, { name, role: 'agent', destinations });
      this.#contribute(name, labels);
      return;
    }
    const labels = this.#reportedLabels(t, mailbox);
    this.children.set(name, { name, role: 'relay', destinations: [], ...(labels ? { labels } : {}) });
    this.#contribute(name, labels ?? emptyLabelSummary);
    const path = childPath(this.#ports.path, name);
    const tree = { path, labels: inheritedBelow(path, this.#ports.inherited(), {}) };
    mailbox.producer.put(t, { key: treeKey, attributes: text(stableStringify(tree)), body: new Uint8Array(0) }, 0);
  }

  #isNamed(reader: Reader, name: string): boolean {
    return this.#ports.inventory.hasSyncTarget(name) || this.#ports.rowsAt(reader, name).length > 0;
  }

  #agentOf(reader: Reader, name: string): { destinations: Destination[]; labels: LabelSummary } {
    const { inventory, evictions, inherited, rowsAt } = this.#ports;
    const path = childPath(this.#ports.path, name);
    const own: Target = {
      schedulability: inventory.takesPlacements(name),
      locations: inventory.locationsOf(name, inherited()),
    };
    const targets = [own, ...rowsAt(reader, name).map((row) => targetOfRow(row, inherited()))];
    const due = evictions.areDue(
      name,
      targets.map(({ schedulability }) => schedulability.evictAfterMs),
    );
    const destinations = targets
      .filter((_, index) => !due[index])
      .flatMap((target) => target.locations.map((location) => destinationOf(location, target, path)));
    return {
      destinations,
      labels: summaryOfAgent(
        destinations,
        destinations.some(({ cordoned }) => cordoned),
      ),
    };
  }

  #reportedLabels(reader: Reader, { reported }: Mailbox): LabelSummary | undefined {
    const row = reported.get(reader, hash128(labelsKey));
    return row?.content && decodeLabelSummary(reported.content(reader, row.content).attributes);
  }

  #labelsOf(reader: Reader, name: string): LabelSummary {
    const mailbox = this.#ports.mailboxes.get(name);
    if (mailbox?.role === 'relay') return this.#reportedLabels(reader, mailbox) ?? emptyLabelSummary;
    return this.#agentOf(reader, name).labels;
  }

  /** What says the same as before costs no merge. */
  #contribute(name: string, labels: LabelSummary): void {
    const before = this.#labels.get(name);
    if (before && Buffer.compare(encodeLabelSummary(before), encodeLabelSummary(labels)) === 0) return;
    this.#labels.set(name, labels);
  }

  #summary(): LabelSummary {
    return this.#labels.total() ?? emptyLabelSummary;
  }
}

/** A SyncTarget that stands for an agent, with the Locations that select it. */
interface Target {
  readonly origin?: string;
  readonly schedulability: Schedulability;
  readonly locations: readonly InventoryLocation[];
}

function targetOfRow({ origin, syncTarget, locations }: InventoryRow, inherited: Labels): Target {
  return {
    origin,
    schedulability: schedulabilityOf(syncTarget),
    locations: locations.map((object) => ({
      name: object.metadata.name!,
      labels: { ...inherited, ...object.metadata.labels },
      object,
      syncTarget,
    })),
  };
}

function destinationOf(
  { name, labels, object, syncTarget }: InventoryLocation,
  { origin, schedulability }: Target,
  path: string,
): Destination {
  const input = { location: withLabels(object, labels), syncTarget, path };
  return {
    location: name,
    ...(origin === undefined ? {} : { origin }),
    ...(schedulability.unschedulable ? { cordoned: true } : {}),
    syncTargetUid: syncTarget.metadata.uid ?? '',
    labels,
    properties: propertiesOf(syncTarget),
    targetLabels: syncTarget.metadata.labels ?? {},
    facts: { ...input, properties: propertiesOf(syncTarget) },
    rest: restOf(object, syncTarget),
    evaluate: (expression) => locationExpression(expression, input).matches,
    failureOf: (expression) => locationExpression(expression, input).error,
  };
}

/** All but what has a key of its own. */
function restOf(location: KubeObject, syncTarget: KubeObject): string {
  const { labels: _own, ...metadata } = location.metadata;
  const { labels: _target, ...targetMetadata } = syncTarget.metadata;
  const { properties: _properties, ...targetSpec } = (syncTarget.spec ?? {}) as { properties?: unknown };
  const parts = [
    { ...location, metadata },
    { ...syncTarget, metadata: targetMetadata, spec: targetSpec },
  ];
  return Buffer.from(hash128(stableStringify(parts))).toString('base64');
}

function withLabels(location: KubeObject, labels: Labels): KubeObject {
  return { ...location, metadata: { ...location.metadata, labels: { ...labels } } };
}
