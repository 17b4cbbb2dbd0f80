/** The room that sees to it that nothing is deleted by accident: the lives of the own spaces, what this node holds, and the words by which it goes. */

import type { StorageEvent } from '../../core/apiserver/storage.ts';
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
import type { Logger } from '../../core/runtime/logger.ts';
import type { Reader, Store, Transaction } from '../../core/store/store.ts';
import { LabelSummaryShrinkGuard } from '../children/label-summary-shrink-guard.ts';
import { nodeResource } from '../inventory-status/node-objects.ts';
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
  readonly spaces: NodeSpaces;
  readonly upstream: FeedConsumer;
  readonly outbox: Producer;
  readonly mailboxes: Mailboxes;
  /** What a child tells of a node at or below itself. */
  told(reader: Reader, child: string, path: string): NodeAttributes | undefined;
  /** Writes, and has what changed looked at. */
  enqueue(act: (t: Transaction) => void): void;
  /** Rows from above that a release has deleted, in its transaction. */
  released(t: Transaction, changes: readonly AppliedChange[]): void;
  readonly limits: DeletionLimits;
  /** Gauges of the process. */
  readonly measured: { held(entries: number): void; quarantined(entries: number): void };
  /** Work that is left alone, since it ends the process. */
  setAside(): readonly Quarantined[];
  /** Placements that a child's mailbox has. */
  placementsOf(child: string): Iterable<Placement>;
  /** What counts of the labels of a child is something else now. */
  labelsReleased(t: Transaction, child: string): void;
}

export class GuardRoom {
  readonly #ports: GuardRoomPorts;
  readonly #spaceIncarnations: SpaceIncarnations;
  readonly #heldDeletionApprovals: HeldDeletionApprovals;
  readonly #labelSummaryShrinkGuard: LabelSummaryShrinkGuard;
  #unsubscribe: (() => void) | undefined;

  constructor(ports: GuardRoomPorts) {
    this.#ports = ports;
    const { path, spaces, upstream, outbox, mailboxes, clock, log } = ports;
    this.#spaceIncarnations = new SpaceIncarnations({
      origins: spaces.spaceIncarnations(),
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
        log.error(alarm, 'the store was emptied or put back to an older copy');
        ports.store.announce(ownNodeTopic, 'self');
      },
    });
    this.#labelSummaryShrinkGuard = new LabelSummaryShrinkGuard({
      limits: ports.limits,
      wallMs: () => clock.wallMs(),
      placementsOf: (child) => ports.placementsOf(child),
      entriesOf: (reader, child) => mailboxes.get(child)?.producer.digest(reader).count ?? 0,
      changed: (child) => this.#narrowed(child),
    });
    this.#heldDeletionApprovals = new HeldDeletionApprovals({
      path,
      system: spaces.system,
      upstream: upstream.sound,
      mailboxOf: (child) => mailboxes.get(child)?.producer,
      replicasOf: (child) => mailboxes.replicasOf(child),
      told: (...asked) => ports.told(...asked),
      release: (t, token) => this.#release(t, token),
      releaseFor: (t, child, token) => {
        if (this.#labelSummaryShrinkGuard.release(t, child, token)) ports.labelsReleased(t, child);
      },
    });
  }

  start(): void {
    const { path, store, spaces, enqueue, measured } = this.#ports;
    this.#unsubscribe = spaces.system.storage.subscribe((events) => this.#asked(events));
    measured.held(store.read((reader) => this.#ports.upstream.held(reader)?.entries ?? 0));
    this.#measure();
    // A word that was given just before the last end.
    enqueue((t) => this.#heldDeletionApprovals.consider(t, path));
  }

  stop(): void {
    this.#unsubscribe?.();
  }

  /** For a child that says hello. */
  tell(t: Transaction, mailbox: Producer): void {
    this.#spaceIncarnations.tell(t, mailbox);
  }

  /** A session with the parent begins: it is told what has been seen of the spaces above. */
  attaching(t: Transaction): void {
    reportSeenRevisions(t, this.#ports.outbox);
  }

  fromAbove(t: Transaction, changes: readonly AppliedChange[]): void {
    this.#spaceIncarnations.fromAbove(t, changes, noteSeen(t, changes, this.#ports));
    this.#heldDeletionApprovals.fromAbove(t, changes);
  }

  /** In the transaction that applies what a child said, before anything reads its labels. */
  labelsFromBelow(t: Transaction, child: string, changes: readonly AppliedChange[]): void {
    const consumer = this.#ports.mailboxes.get(child)?.consumer;
    // Between two histories it names no incarnation.
    if (consumer) this.#labelSummaryShrinkGuard.heard(t, child, changes, consumer.resume(t).incarnation === '');
  }

  /** What is kept in the mailbox of a child although the child tells of fewer places. */
  heldInMailbox(reader: Reader, child: string): HeldAttributes | undefined {
    return heldAttributes(this.#labelSummaryShrinkGuard.held(reader, child)).held;
  }

  fromBelow(t: Transaction, child: string, changes: readonly AppliedChange[]): void {
    this.#spaceIncarnations.heard(t, changes);
    this.#heldDeletionApprovals.fromBelow(t, child, changes);
  }

  guarded(reader: Reader): Pick<NodeAttributes, 'held' | 'rolledBack' | 'quarantined'> {
    const { upstream, setAside } = this.#ports;
    const rolledBack = this.#spaceIncarnations.alarms(reader);
    return {
      ...heldAttributes(upstream.held(reader)),
      ...quarantinedAttributes(reader, upstream, setAside()),
      ...(rolledBack.length > 0 ? { rolledBack } : {}),
    };
  }

  #release(t: Transaction, token: string): void {
    const { upstream, released, log } = this.#ports;
    const changes = upstream.release(t, token);
    if (changes.length > 0) {
      log.warn({ entries: changes.length }, 'a person approved the deletion: the held entries are deleted');
      released(t, changes);
    }
    if (this.#spaceIncarnations.acknowledge(t, token)) t.announce(ownNodeTopic, 'self');
  }

  /** What this node holds of its parent's feed has changed. */
  heldChanged(): void {
    const { upstream, store, log, measured } = this.#ports;
    const held = store.read((reader) => upstream.held(reader));
    measured.held(held?.entries ?? 0);
    if (held) log.warn({ ...held }, 'entries that the parent lacks are held');
    store.announce(ownNodeTopic, 'self');
  }

  /** Other entries of the parent's feed are quarantined than before. */
  quarantineChanged(): void {
    const { upstream, store, log } = this.#ports;
    const { quarantined } = store.read((reader) => quarantinedAttributes(reader, upstream));
    this.#measure();
    if (quarantined) log.warn({ ...quarantined }, 'entries from above are not what their keys say');
    store.announce(ownNodeTopic, 'self');
  }

  /** Other entries of a child are quarantined than before. */
  childQuarantineChanged(child: string): void {
    const { mailboxes, store, log } = this.#ports;
    const consumer = mailboxes.get(child)?.consumer;
    const { quarantined } = consumer ? store.read((reader) => quarantinedAttributes(reader, consumer)) : {};
    this.#measure();
    if (quarantined) log.warn({ child, ...quarantined }, 'entries of a child are not what their keys say');
    store.announce(childShownTopic, child);
  }

  #narrowed(child: string): void {
    const { store, log } = this.#ports;
    const kept = store.read((reader) => this.heldInMailbox(reader, child));
    if (kept)
      log.warn(
        { child, ...kept },
        "a relay lost its store and reports fewer Locations: this node keeps the relay's mailbox",
      );
    store.announce(childShownTopic, child);
  }

  #measure(): void {
    const { store, upstream, mailboxes } = this.#ports;
    const count = store.read((reader) => {
      const ofChildren = Array.from(mailboxes.all(), ({ consumer }) => consumer.quarantinedCount(reader));
      return ofChildren.reduce((sum, one) => sum + one, upstream.quarantinedCount(reader));
    });
    this.#ports.measured.quarantined(count);
  }

  #asked(events: readonly StorageEvent[]): void {
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
