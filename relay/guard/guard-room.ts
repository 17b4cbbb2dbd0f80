/** Prevents accidental deletions. It connects three parts: the incarnations of the own spaces, the rows that this node holds, and the approvals of people. */

import { nodeResource } from '../../core/apiserver/kinds/mesh-kinds.ts';
import type { StorageEvent } from '../../core/apiserver/storage.ts';
import type { NoteAct } from '../../core/audit/node-acts.ts';
import { heldAttributes } from '../../core/entries/deletion-guard.ts';
import { quarantinedAttributes } from '../../core/entries/quarantine-report.ts';
import { noteSeen, reportSeenRevisions } from '../../core/entries/source-incarnations.ts';
import type { HeldAttributes, NodeAttributes } from '../../core/entries/up-attributes.ts';
import type { FeedConsumer } from '../../core/feed/consumer.ts';
import type { DeletionLimits } from '../../core/feed/deletions.ts';
import type { AppliedChange, Producer } from '../../core/feed/feed.ts';
import type { Quarantined } from '../../core/feed/quarantine.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { LogRate } from '../../core/runtime/log-rate.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Reader, Store, Transaction } from '../../core/store/store.ts';
import { LabelSummaryShrinkGuard } from '../children/label-summary-shrink-guard.ts';
import type { Mailboxes } from '../mailbox/mailboxes.ts';
import type { Placement } from '../placements/placement.ts';
import type { NodeSpaces } from '../spaces/node-spaces.ts';
import { childShownTopic, ownNodeTopic } from '../work/topics.ts';
import { HeldDeletionApprovals, type NodeSpec } from './held-deletion-approvals.ts';
import { SpaceIncarnations } from './space-incarnations.ts';

export interface GuardRoomPorts {
  readonly path: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Writes approved deletions into the audit log. */
  readonly noteAct?: NoteAct | undefined;
  readonly spaces: NodeSpaces;
  readonly upstream: FeedConsumer;
  readonly outbox: Producer;
  readonly mailboxes: Mailboxes;
  /** Returns the report of a child about itself or about a node below it. */
  reportOf(reader: Reader, child: string, path: string): NodeAttributes | undefined;
  /** Runs the write in the scheduler's loop. */
  enqueue(act: (t: Transaction) => void): void;
  /** Called in the transaction that deletes held rows of the parent after an approval, with these rows. */
  released(t: Transaction, changes: readonly AppliedChange[]): void;
  readonly limits: DeletionLimits;
  /** Gauges of the process. */
  readonly measured: {
    held(entries: number): void;
    quarantined(entries: number): void;
    /** The number of children that report more than their quota. */
    short(children: number): void;
  };
  /** Returns the quarantined work. This work would end the process. */
  quarantinedWork(): readonly Quarantined[];
  /** Returns the placements that a child's mailbox has. */
  placementsOf(child: string): Iterable<Placement>;
  /** Called when another label summary is valid for a child, because a person has approved a deletion. */
  labelsReleased(t: Transaction, child: string): void;
}

/** How often the log names bad or refused entries of one child: a child that lies sends them without end. */
const logEveryMs = 10_000;

export class GuardRoom {
  readonly #ports: GuardRoomPorts;
  readonly #spaceIncarnations: SpaceIncarnations;
  readonly #heldDeletionApprovals: HeldDeletionApprovals;
  readonly #labelSummaryShrinkGuard: LabelSummaryShrinkGuard;
  readonly #logRate: LogRate;
  readonly #quotaLogRate: LogRate;
  /** The children that report more than their quota. */
  readonly #short = new Set<string>();
  #unsubscribe: (() => void) | undefined;

  constructor(ports: GuardRoomPorts) {
    this.#ports = ports;
    const { path, spaces, upstream, outbox, mailboxes, clock, log } = ports;
    this.#logRate = new LogRate(clock, logEveryMs);
    this.#quotaLogRate = new LogRate(clock, logEveryMs);
    this.#spaceIncarnations = new SpaceIncarnations({
      origins: () => spaces.spaceIncarnations(),
      outbox,
      upstream: upstream.sound,
      mailboxes: () => [...mailboxes.all()].map(({ producer }) => producer),
      reported: () => [...mailboxes.all()].map(({ reported }) => reported),
      wallMs: () => clock.wallMs(),
      disbelieved: (source, revision) =>
        log.warn(
          { source, revision },
          'a child reported a revision that is years ahead of the clock: this node ignores the revision',
        ),
      alarmed: (alarm) => {
        log.error(alarm, 'the store was emptied or restored from an older copy');
        ports.store.announce(ownNodeTopic, ['self']);
      },
    });
    this.#labelSummaryShrinkGuard = new LabelSummaryShrinkGuard({
      limits: ports.limits,
      wallMs: () => clock.wallMs(),
      placementsOf: (child) => ports.placementsOf(child),
      entriesOf: (reader, child) => mailboxes.get(child)?.producer.digest(reader).count ?? 0,
      changed: (child) => this.#shrinkGuardChanged(child),
    });
    this.#heldDeletionApprovals = new HeldDeletionApprovals({
      path,
      system: spaces.system,
      upstream: upstream.sound,
      mailboxOf: (child) => mailboxes.get(child)?.producer,
      replicasOf: (child) => mailboxes.replicasOf(child),
      reportOf: (...asked) => ports.reportOf(...asked),
      approve: (t, token) => this.#approve(t, token),
      approveFor: (t, child, token) => {
        if (this.#labelSummaryShrinkGuard.approve(t, child, token)) ports.labelsReleased(t, child);
      },
    });
  }

  start(): void {
    const { path, store, spaces, enqueue, measured } = this.#ports;
    this.#unsubscribe = spaces.system.storage.subscribe((events) => this.#nodesChanged(events));
    measured.held(store.read((reader) => this.#ports.upstream.held(reader)?.entries ?? 0));
    this.#measure();
    for (const { child, consumer } of this.#ports.mailboxes.all()) {
      if (store.read((reader) => consumer.shortage(reader))) this.#short.add(child);
    }
    measured.short(this.#short.size);
    // A person may have approved a deletion just before the last process ended.
    enqueue((t) => this.#heldDeletionApprovals.consider(t, path));
  }

  stop(): void {
    this.#unsubscribe?.();
  }

  /** Called when a child sends a Hello. */
  sendGaps(t: Transaction, mailbox: Producer): void {
    this.#spaceIncarnations.sendGaps(t, mailbox);
  }

  /** Runs in the transaction that removes a space of this node. */
  spaceRemoved(t: Transaction, source: string): void {
    this.#spaceIncarnations.removed(t, source);
  }

  /** Call it when a session with the parent begins. Reports the newest revisions that this node has received of the spaces above. */
  attaching(t: Transaction): void {
    reportSeenRevisions(t, this.#ports.outbox);
  }

  fromAbove(t: Transaction, changes: readonly AppliedChange[]): void {
    this.#spaceIncarnations.fromAbove(t, changes, noteSeen(t, changes, this.#ports));
    this.#heldDeletionApprovals.fromAbove(t, changes);
  }

  /** Runs in the transaction that applies a report of the child, before anything reads the child's labels. */
  labelsFromBelow(t: Transaction, child: string, changes: readonly AppliedChange[]): void {
    const consumer = this.#ports.mailboxes.get(child)?.consumer;
    // An empty incarnation in the resume tuple of the child's feed means that the report arrives by a reconciliation.
    if (consumer) this.#labelSummaryShrinkGuard.received(t, child, changes, consumer.resume(t).incarnation === '');
  }

  /** Returns the rows that this node keeps in the mailbox of a child although the child reports fewer Locations. */
  heldInMailbox(reader: Reader, child: string): HeldAttributes | undefined {
    return heldAttributes(this.#labelSummaryShrinkGuard.held(reader, child)).held;
  }

  fromBelow(t: Transaction, child: string, changes: readonly AppliedChange[]): void {
    this.#spaceIncarnations.received(t, changes);
    this.#heldDeletionApprovals.fromBelow(t, child, changes);
  }

  guarded(reader: Reader): Pick<NodeAttributes, 'held' | 'rolledBack' | 'quarantined'> {
    const { upstream, quarantinedWork } = this.#ports;
    const rolledBack = this.#spaceIncarnations.alarms(reader);
    return {
      ...heldAttributes(upstream.held(reader)),
      ...quarantinedAttributes(reader, upstream, quarantinedWork()),
      ...(rolledBack.length > 0 ? { rolledBack } : {}),
    };
  }

  #approve(t: Transaction, token: string): void {
    const { upstream, released, log, noteAct, path } = this.#ports;
    const changes = upstream.release(t, token);
    if (changes.length > 0) {
      log.warn({ entries: changes.length }, 'a person approved the deletion: the held entries are deleted');
      noteAct?.({ verb: 'approve', about: path, annotations: { 'banyan.io/deleted-entries': String(changes.length) } });
      released(t, changes);
    }
    if (this.#spaceIncarnations.acknowledge(t, token)) t.announce(ownNodeTopic, 'self');
  }

  /** Call it when the set of entries that this node holds although the parent lacks them has changed. */
  heldChanged(): void {
    const { upstream, store, log, measured } = this.#ports;
    const held = store.read((reader) => upstream.held(reader));
    measured.held(held?.entries ?? 0);
    if (held) log.warn({ ...held }, 'entries that the parent lacks are held');
    store.announce(ownNodeTopic, ['self']);
  }

  /** Call it when the set of quarantined entries of the parent has changed. */
  quarantineChanged(): void {
    const { upstream, store, log } = this.#ports;
    const { quarantined } = store.read((reader) => quarantinedAttributes(reader, upstream));
    this.#measure();
    if (quarantined)
      log.warn(
        { ...quarantined },
        'this node quarantines entries of the parent: they do not have the form that their keys require',
      );
    store.announce(ownNodeTopic, ['self']);
  }

  /** Call it when the set of quarantined entries of a child has changed. */
  childQuarantineChanged(child: string): void {
    const { mailboxes, store, log } = this.#ports;
    const consumer = mailboxes.get(child)?.consumer;
    const { quarantined } = consumer ? store.read((reader) => quarantinedAttributes(reader, consumer)) : {};
    this.#measure();
    if (quarantined && this.#logRate.allows(child))
      log.warn(
        { child, ...quarantined },
        'this node quarantines entries of a child: they do not have the form that their keys require, or nobody asked for them',
      );
    store.announce(childShownTopic, [child]);
  }

  /** Call it when a child has left for good. */
  childRemoved(child: string): void {
    this.#short.delete(child);
    this.#ports.measured.short(this.#short.size);
    this.#logRate.forget(child);
    this.#quotaLogRate.forget(child);
  }

  /** Call it when the quota of a child has refused entries, or has room again. */
  childShortageChanged(child: string): void {
    const { mailboxes, store, log, measured } = this.#ports;
    const consumer = mailboxes.get(child)?.consumer;
    const shortage = consumer && store.read((reader) => consumer.shortage(reader));
    if (shortage) this.#short.add(child);
    else this.#short.delete(child);
    measured.short(this.#short.size);
    if (shortage && this.#quotaLogRate.allows(child)) {
      const { key, reason } = shortage;
      log.warn({ child, key, reason }, 'this node refuses entries of a child, which has used its quota');
    } else if (!shortage) log.info({ child }, 'there is room again for entries that the quota of a child has refused');
    store.announce(childShownTopic, [child]);
  }

  #shrinkGuardChanged(child: string): void {
    const { store, log } = this.#ports;
    const kept = store.read((reader) => this.heldInMailbox(reader, child));
    if (kept)
      log.warn(
        { child, ...kept },
        "a relay lost its store and reports fewer Locations: this node keeps the relay's mailbox",
      );
    store.announce(childShownTopic, [child]);
  }

  #measure(): void {
    const { store, upstream, mailboxes } = this.#ports;
    const count = store.read((reader) => {
      const ofChildren = Array.from(mailboxes.all(), ({ consumer }) => consumer.quarantinedCount(reader));
      return ofChildren.reduce((sum, quarantined) => sum + quarantined, upstream.quarantinedCount(reader));
    });
    this.#ports.measured.quarantined(count);
  }

  #nodesChanged(events: readonly StorageEvent[]): void {
    for (const { object } of events) {
      const { group, resource } = object.key;
      if (group !== nodeResource.group || resource !== nodeResource.resource) continue;
      const stored = this.#ports.spaces.system.storage.get(object.key);
      const spec = stored && (this.#ports.spaces.system.parse(stored) as KubeObject).spec;
      const { path, approveHeldDeletions } = (spec ?? {}) as NodeSpec;
      if (approveHeldDeletions !== undefined)
        this.#ports.enqueue((t) => this.#heldDeletionApprovals.consider(t, path ?? ''));
    }
  }
}
