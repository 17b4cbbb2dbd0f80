/** The children of this node with what the scheduler needs of them, read from the inventory and from what they report. */

import { entryKey } from '../../core/entries/entry-keys.ts';
import type { ChildRole } from '../../core/entries/entry-kind.ts';
import type { Table } from '../../core/feed/feed.ts';
import { childPath } from '../../core/identity/node-path.ts';
import { splitReplica } from '../../core/identity/replica.ts';
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
import type { ChildFeeds } from '../../core/session/parent-ports.ts';
import { text } from '../../core/store/bytes.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { SegmentTree } from '../../core/summary/segment-tree.ts';
import type { Mailbox, Mailboxes } from '../mailbox/mailboxes.ts';
import { locationExpression, propertiesOf } from '../placements/location-expression.ts';
import { OwnedLabelSummary, readOwnedLabelSummary } from '../replicas/owned-label-summary.ts';
import { markDirty } from '../work/dirty.ts';
import { childRemovedTopic, childTopic } from '../work/topics.ts';
import type { Child, Destination } from './children.ts';
import type { Evictions } from './evictions.ts';
import { inheritedBelow } from './inherited-labels.ts';
import {
  type Inventory,
  type InventoryLocation,
  type InventoryRow,
  type Schedulability,
  schedulabilityOf,
} from './inventory.ts';
import { LabelSummaryPublisher, type LabelSummaryPublisherPorts } from './label-summary-publisher.ts';
import { forgetHeldLabelSummary, heldLabelSummary } from './label-summary-shrink-guard.ts';

export interface ChildRegistryPorts extends LabelSummaryPublisherPorts {
  readonly inventory: Inventory;
  readonly mailboxes: Mailboxes;
  readonly evictions: Evictions;
  /** What inventory spaces, here and above, say of a child. */
  rowsAt(reader: Reader, child: string): readonly InventoryRow[];
  /** A relay is a child from now on. */
  relayCame(t: Transaction, child: string): void;
  /** Whose children count, where replicas are about. */
  readonly counting: { readonly isOtherReplica: boolean; counts(child: string): boolean };
  /** What Locations of this node inherit. */
  inherited(): Labels;
  readonly path: string;
}

export class ChildRegistry {
  readonly children = new Map<string, Child>();
  readonly #ports: ChildRegistryPorts;
  readonly #told: LabelSummaryPublisher;
  readonly #counted = new OwnedLabelSummary();
  /** Children whose part of the summary is of a transaction that may have failed. */
  readonly #unsure = new Set<string>();
  #settling: Timer | undefined;
  readonly #labels = new SegmentTree<LabelSummary>((a, b) => mergeLabelSummaries([a, b]));

  constructor(ports: ChildRegistryPorts) {
    this.#ports = ports;
    this.#told = new LabelSummaryPublisher({ ...ports, counted: (attributes) => this.#counted.beside(attributes) });
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
    this.#count(t, [...this.children.keys()]);
    if (this.#told.begin(t, this.#summary())) for (const name of this.children.keys()) markDirty(t, 'child', name);
  }

  /** One child anew; false when it is gone for good: its mailbox is dropped. */
  refresh(t: Transaction, name: string): boolean {
    const { mailboxes } = this.#ports;
    const mailbox = mailboxes.get(name);
    if (mailbox?.role !== 'relay' && !this.#isNamed(t, name)) {
      this.children.delete(name);
      this.#labels.delete(name);
      this.#counted.set(name, undefined);
      this.#ports.evictions.forget(name);
      mailboxes.drop(t, name);
      forgetHeldLabelSummary(t, name);
      this.#tell(t);
      t.announce(childTopic, name);
      t.announce(childRemovedTopic, name);
      return false;
    }
    if (!mailbox) mailboxes.ensure(t, name, 'agent');
    this.#read(t, name);
    this.#count(t, [name]);
    this.#tell(t);
    t.announce(childTopic, name);
    return true;
  }

  /** In the transaction in which the inventory or the report of a child changes, before `refresh`: the parent hears of it with this write. */
  widen(t: Transaction, name: string): void {
    this.#contribute(name, this.labelsOf(t, name));
    this.#count(t, [name]);
    this.#unsure.add(name);
    t.afterCommit(() => this.#unsure.delete(name));
    this.#settling ??= this.#ports.clock.after(0, () => this.#settle());
    this.#tell(t);
  }

  /** By now every transaction has ended: what is unsure still was of one that failed. */
  #settle(): void {
    this.#settling = undefined;
    if (this.#unsure.size === 0) return;
    this.#ports.write((t) => {
      for (const name of this.#unsure) this.#contribute(name, this.labelsOf(t, name));
      this.#count(t, [...this.#unsure]);
      this.#unsure.clear();
      this.#tell(t);
    });
  }

  /** Some are counted from now on, or are so no more. */
  recount(t: Transaction, names: readonly string[]): void {
    // What is counted of a relay may have come with the word that it counts: sums are made of both before the scheduler looks.
    for (const name of names) {
      const mailbox = this.#ports.mailboxes.get(name);
      const known = this.children.get(name);
      const counted = mailbox?.role === 'relay' && known ? this.#countedOf(t, mailbox) : undefined;
      if (known && counted) this.children.set(name, { ...known, counted });
    }
    this.#count(t, names);
    this.#publishOwnedLabelSummary(t);
  }

  #count(t: Transaction, names: readonly string[]): void {
    const { counting, mailboxes } = this.#ports;
    let concerned = names;
    if (!this.#counted.isNeeded) {
      const isNeeded = (name: string) =>
        this.children.get(name)?.counted !== undefined || mailboxes.replicasOf(name).length > 1;
      if (!counting.isOtherReplica && !names.some(isNeeded)) return;
      this.#counted.need();
      concerned = [...this.children.keys()];
    }
    for (const name of concerned) {
      const mailbox = mailboxes.get(name);
      const labels = mailbox?.role === 'relay' ? this.#countedOf(t, mailbox) : undefined;
      this.#counted.set(name, counting.counts(name) ? (labels ?? this.labelsOf(t, name)) : undefined);
    }
  }

  #tell(t: Transaction): void {
    this.#told.tell(t, this.#summary());
    this.#publishOwnedLabelSummary(t);
  }

  #publishOwnedLabelSummary(t: Transaction): void {
    if (this.#counted.isNeeded) this.#told.publishOwnedLabelSummary(t);
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
    const { producer, consumer, reported } = known ?? this.#addRelay(t, name);
    consumer.forgetPoison(t);
    // A relay whose labels are not here is told nothing that it may take as all there is. One that was put back waits for that word, and says nothing before.
    if (role === 'relay' && !this.#reportedLabelSummary(t, reported)) consumer.beginAgain(t);
    return { producer, consumer };
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
    const labels = this.#groupLabels(t, name);
    const hasReportedLabels = this.#reportedLabels(t, mailbox) !== undefined;
    const counted = this.#countedOf(t, mailbox);
    const said = { ...(labels ? { labels } : {}), ...(counted && counted !== labels ? { counted } : {}) };
    this.children.set(name, { name, role: 'relay', destinations: [], hasReportedLabels, ...said });
    this.#contribute(name, labels ?? emptyLabelSummary);
    const path = childPath(this.#ports.path, name);
    const tree = { path, labels: inheritedBelow(path, this.#ports.inherited(), {}) };
    mailbox.producer.put(
      t,
      { key: entryKey.tree(), attributes: text(stableStringify(tree)), body: new Uint8Array(0) },
      0,
    );
  }

  #isNamed(reader: Reader, name: string): boolean {
    return this.#ports.inventory.hasSyncTarget(name) || this.#ports.rowsAt(reader, name).length > 0;
  }

  #agentOf(reader: Reader, name: string): { destinations: Destination[]; labels: LabelSummary } {
    const { inventory, evictions, inherited, rowsAt } = this.#ports;
    const path = childPath(this.#ports.path, name);
    const own: AgentTarget = {
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

  /**
   * Siblings get the same, what any of them needs: a child of theirs finds it wherever it attaches next. Most of them say the same, and that is
   * taken once; otherwise a place is counted by each that knows it, which only numbers that are no more than expected are made of.
   */
  #groupLabels(reader: Reader, name: string): LabelSummary | undefined {
    const said = this.#ports.mailboxes.replicasOf(name).flatMap((replica) => {
      const labels = this.#reportedLabels(reader, this.#ports.mailboxes.get(replica)!);
      return labels ? [labels] : [];
    });
    const different = new Map(
      said.map((labels) => [Buffer.from(encodeLabelSummary(labels)).toString('latin1'), labels]),
    );
    const [first, ...others] = different.values();
    return first && others.length > 0 ? mergeLabelSummaries([first, ...others]) : first;
  }

  #reportedLabels(reader: Reader, { child, reported }: Mailbox): LabelSummary | undefined {
    const said = this.#reportedLabelSummary(reader, reported);
    const held = heldLabelSummary(reader, child);
    return said && held ? mergeLabelSummaries([said, held]) : said;
  }

  #reportedLabelSummary(reader: Reader, reported: Table): LabelSummary | undefined {
    const row = reported.get(reader, hash128(entryKey.labels()));
    return row?.content && decodeLabelSummary(reported.content(reader, row.content).attributes);
  }

  /** Of a relay: the places that it counts; those of its replicas are theirs. */
  #countedOf(reader: Reader, { child, reported }: Mailbox): LabelSummary | undefined {
    const counted = readOwnedLabelSummary(reader, reported);
    if (counted) return counted;
    // What is held may match; it is there no more, as far as is known.
    if (heldLabelSummary(reader, child)) return this.#reportedLabelSummary(reader, reported);
    const { mailboxes } = this.#ports;
    if (mailboxes.replicasOf(child).length < 2) return undefined;
    // One that has said nothing gets what its replicas need, and counts none of it.
    return this.#reportedLabels(reader, mailboxes.get(child)!) ?? emptyLabelSummary;
  }

  /** What is known of the places at a child and below it. */
  labelsOf(reader: Reader, name: string): LabelSummary {
    const mailbox = this.#ports.mailboxes.get(name);
    if (mailbox?.role === 'relay') return this.#groupLabels(reader, name) ?? emptyLabelSummary;
    return this.#agentOf(reader, name).labels;
  }

  /** What says the same as before costs no merge. */
  #contribute(child: string, labels: LabelSummary): void {
    const { name } = splitReplica(child);
    const before = this.#labels.get(name);
    if (before && Buffer.compare(encodeLabelSummary(before), encodeLabelSummary(labels)) === 0) return;
    this.#labels.set(name, labels);
  }

  #summary(): LabelSummary {
    return this.#labels.total() ?? emptyLabelSummary;
  }
}

/** A SyncTarget that stands for an agent, with the Locations that select it. */
interface AgentTarget {
  readonly origin?: string;
  readonly schedulability: Schedulability;
  readonly locations: readonly InventoryLocation[];
}

function targetOfRow({ origin, syncTarget, locations }: InventoryRow, inherited: Labels): AgentTarget {
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
  { origin, schedulability }: AgentTarget,
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
