/** The implementation of the port `Replicas` for a node: the node's own side as a replica, and the groups of replicas among its children. */
import type { FeedConsumer } from '../../core/feed/consumer.ts';
import type { AppliedChange, Producer } from '../../core/feed/feed.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { AttachWatch } from '../../core/session/parent-ports.ts';
import type { Store, Transaction } from '../../core/store/store.ts';
import type { Mailboxes } from '../mailbox/mailboxes.ts';
import { markDirty } from '../work/dirty.ts';
import { connectionTopic, countedTopic } from '../work/topics.ts';
import { ReplicaRecount, type ReplicaSums } from './recounts.ts';
import { ReplicaGroups } from './replica-groups.ts';
import { ReplicaPlace } from './replica-place.ts';
import { ordinaryStanding, type Replicas, type Standing } from './replicas.ts';

export interface ReplicaRoomPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly mailboxes: Mailboxes;
  readonly upstream: FeedConsumer;
  readonly outbox: Producer;
  /** The number of this node among its replicas, and the number of replicas. */
  readonly replica: number;
  readonly replicas: number;
  readonly sums: ReplicaSums;
  isConnected(child: string): boolean;
  endSession(child: string, reason: string): void;
  /** Runs the write in its own transaction, in the order of the calls. With a full disk, the write waits until there is room. */
  enqueue(act: (t: Transaction) => void): void;
}

export class ReplicaRoom implements Replicas {
  readonly #mailboxes: Mailboxes;
  readonly #place: ReplicaPlace;
  readonly #groups: ReplicaGroups;
  readonly #unsubscribe: readonly (() => void)[];

  /** Reads the groups and owners from the store. The caller must have opened the mailboxes before. */
  constructor(ports: ReplicaRoomPorts) {
    const { store, mailboxes, enqueue } = ports;
    this.#mailboxes = mailboxes;
    const recount = new ReplicaRecount(store, ports.sums);
    this.#groups = new ReplicaGroups({ ...ports, write: enqueue });
    this.#place = new ReplicaPlace({
      ...ports,
      children: () => Array.from(mailboxes.all(), ({ child }) => child),
      recountChildren: (children) => recount.recountChildren(children),
    });
    store.read((reader) => {
      this.#groups.load(reader);
      this.#place.load(reader);
    });
    this.#unsubscribe = [
      store.subscribe(connectionTopic, (children) => {
        for (const child of children) this.#groups.connectionChanged(child, ports.isConnected(child));
      }),
      store.subscribe(countedTopic, (children) => {
        recount.recount([...children]);
        // A placement may have stayed at a child only because the child's replicas did not count. So the scheduler checks the children again.
        enqueue((t) => {
          for (const child of children) markDirty(t, 'child', child);
        });
      }),
    ];
  }

  get hasReplicas(): boolean {
    return this.#place.hasReplicas;
  }

  get attachWatch(): AttachWatch {
    return this.#place;
  }

  standing(child: string): Standing {
    if (!this.#place.hasReplicas && !this.#groups.has(child)) return ordinaryStanding;
    return {
      counts: this.#place.owns(child) && this.#groups.counts(child),
      isFrozen: this.#groups.isFrozen(child),
      isMixed: this.#groups.isMixed(child),
      isChanging: this.#groups.isChanging(child),
      isElsewhere: this.#place.isElsewhere(child),
      wasAttached: this.#place.wasAttached(child),
    };
  }

  members(child: string, below?: string): readonly string[] {
    const all = this.#mailboxes.replicasOf(child);
    if (all.length < 2) return all.length === 0 ? [child] : all;
    const home = below === undefined ? undefined : this.#groups.homeOf(child, below);
    return home !== undefined && all.includes(home) ? [home, ...all.filter((member) => member !== home)] : all;
  }

  received(t: Transaction, from: { readonly child: string } | 'parent', changes: readonly AppliedChange[]): void {
    if (from === 'parent') this.#place.receivedFromParent(t, changes);
    else this.#groups.received(t, from.child, changes);
  }

  relayAdded(t: Transaction, child: string): void {
    this.#groups.relayAdded(t, child);
  }

  removed(t: Transaction, child: string): void {
    this.#place.removed(t, child);
    this.#groups.removed(t, child);
  }

  hasOtherHistory(child: string): void {
    this.#groups.hasOtherHistory(child);
  }

  settle(): void {
    this.#place.reportTerm();
  }

  stop(): void {
    for (const end of this.#unsubscribe) end();
    this.#groups.stop();
  }
}
