/** What all rooms of a node stand on: its feeds, mailboxes and spaces, the placements and the children that it knows. */

import type { Space } from '../../core/apiserver/space.ts';
import { deletionGuard } from '../../core/entries/deletion-guard.ts';
import type { TreeAttributes } from '../../core/entries/down-attributes.ts';
import { downFeedJudge } from '../../core/entries/down-check.ts';
import { attributesOf, entryKey } from '../../core/entries/entry-keys.ts';
import { farAheadBy } from '../../core/entries/source-incarnations.ts';
import { FeedConsumer } from '../../core/feed/consumer.ts';
import type { Producer, Table } from '../../core/feed/feed.ts';
import { FeedProducer } from '../../core/feed/producer.ts';
import { childPath, depthOf } from '../../core/identity/node-path.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { Labels } from '../../core/object/selector.ts';
import { beginBoot, type NodeIdentity } from '../../core/session/node-identity.ts';
import { readWatermarks, type Watermarks } from '../../core/session/watermark.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { ChildRegistry } from '../children/child-registry.ts';
import type { Child } from '../children/children.ts';
import { Evictions } from '../children/evictions.ts';
import { inheritedBelow } from '../children/inherited-labels.ts';
import type { NodeConfig } from '../config/config.ts';
import { Mailboxes } from '../mailbox/mailboxes.ts';
import { Placements } from '../placements/placements.ts';
import type { ReplicaCounting } from '../replicas/counting.ts';
import { LabelSummaryAcknowledgement } from '../replicas/label-summary-acknowledgement.ts';
import { ReplicaGroups } from '../replicas/replica-groups.ts';
import { ReplicaPlace } from '../replicas/replica-place.ts';
import { InventoryBelow } from '../schedule/inventory-below.ts';
import { NodeSpaces } from '../spaces/node-spaces.ts';
import { markDirty } from '../work/dirty.ts';
import type { NodePorts } from './node-ports.ts';

/** What the rooms ask of parts of the node that are made after them. */
export interface LaterParts {
  /** Makes the write in a transaction of its own, in order; without room on the disk, when there is room. */
  enqueue(act: (t: Transaction) => void): void;
  connection(child: string): { connected: boolean; silentMs: number };
  endSession(child: string, reason: string): void;
  /** This run of the process has received all that the parent had; true where there is no parent. */
  hasReceivedFromParent(): boolean;
  /** The parent is one of several replicas. */
  parentHasReplicas(): boolean;
  /** Adds up anew what these children of a node with replicas add; false: some of the sums can only be reported later. */
  recountChildren(children: readonly string[]): boolean;
  /** The store is broken. */
  failed(error: unknown): void;
}

/** What most rooms ask, ready to be spread into their ports. */
export interface Lookups {
  readonly placements: Placements;
  readonly children: ReadonlyMap<string, Child>;
  /** The table that holds a source's rows: one of the node's own spaces, or what comes from above. */
  tableOf(source: string): Table;
  mailboxOf(child: string): Producer | undefined;
  /** What a child reported: the consumer's table of its up feed. */
  reportedOf(child: string): Table | undefined;
  ownSpace(source: string): Space | undefined;
  pathOf(child: string): string;
  /** Of each source, up to which revision all is here: of what is above as the parent has said, of the own spaces what they are at. */
  covered(reader: Reader): Watermarks;
}

export class NodeState {
  /** Hops to the root. */
  readonly path: string;
  readonly depth: number;
  readonly identity: NodeIdentity;
  readonly upstream: FeedConsumer;
  readonly outbox: FeedProducer;
  readonly mailboxes: Mailboxes;
  readonly spaces: NodeSpaces;
  readonly placements = new Placements();
  readonly inventory: InventoryBelow;
  readonly childRegistry: ChildRegistry;
  /** By which labels all that is here was found. */
  readonly matched: LabelSummaryAcknowledgement;
  /** Siblings among the children, and this node as one of several. */
  readonly groups: ReplicaGroups;
  readonly place: ReplicaPlace;
  readonly counting: ReplicaCounting;
  readonly lookups: Lookups;

  constructor(config: NodeConfig, ports: NodePorts, later: LaterParts) {
    const { store, clock, random, log, defer } = ports;
    const { path } = config;
    this.path = path;
    this.depth = depthOf(path);
    this.identity = store.write((t) => beginBoot(t, clock, random));
    const { bootNonce } = this.identity;
    const guard = deletionGuard(clock, config.limits);
    const isFarAhead = farAheadBy(clock);
    this.upstream = store.write((t) =>
      FeedConsumer.open(t, { name: 'upstream', guard, judge: downFeedJudge('relay'), isFarAhead }),
    );
    this.outbox = store.write((t) => FeedProducer.open(t, { name: 'outbox', bootNonce, random }));
    this.mailboxes = new Mailboxes(store, random, bootNonce, path, isFarAhead);
    this.spaces = new NodeSpaces({ store, clock, random, log, defer, path }, config, {
      inventoryChanged: (t, child) => this.childRegistry.widen(t, child),
    });
    const tableOf = (source: string) => this.spaces.tableOf(source) ?? this.upstream.sound;
    this.inventory = new InventoryBelow({
      path,
      tableOf,
      mailboxOf: (child) => this.mailboxes.get(child),
      replicasOf: (child) => this.mailboxes.replicasOf(child),
    });
    this.matched = new LabelSummaryAcknowledgement({
      store,
      upstream: this.upstream,
      outbox: this.outbox,
      mailboxes: this.mailboxes,
    });
    this.childRegistry = new ChildRegistry({
      labelSummaryPublisher: (t, attributes) => this.matched.told(t, attributes),
      rowsAt: (reader, child) => this.inventory.rowsAt(reader, child),
      relayCame: (t, child) => {
        this.inventory.relayCame(t, child);
        this.groups.relayCame(t, child);
      },
      inventory: this.spaces.inventory,
      counting: {
        isOtherReplica: (config.replicas ?? 1) > 1,
        counts: (child) => this.counting.counts(child) && !this.counting.isMixed(child),
      },
      mailboxes: this.mailboxes,
      outbox: this.outbox,
      clock,
      write: (act) => later.enqueue(act),
      evictions: new Evictions(clock, (names) =>
        later.enqueue((t) => {
          for (const name of names) markDirty(t, 'child', name);
        }),
      ),
      inherited: () => this.#inherited(config, ports),
      path,
    });
    this.groups = new ReplicaGroups({
      clock,
      mailboxes: this.mailboxes,
      store,
      isConnected: (child) => later.connection(child).connected,
      write: (act) => later.enqueue(act),
    });
    this.place = this.#makePlace(config, ports, later);
    this.counting = {
      counts: (child) => this.place.owns(child) && this.groups.counts(child),
      isFrozen: (child) => this.groups.isFrozen(child),
      isMixed: (child) => this.groups.isMixed(child),
      membersOf: (child) => this.groups.membersOf(child),
      wasAttached: (child) => this.place.wasAttached(child),
    };
    this.lookups = {
      placements: this.placements,
      children: this.childRegistry.children,
      tableOf,
      mailboxOf: (child) => this.mailboxes.get(child)?.producer,
      reportedOf: (child) => this.mailboxes.get(child)?.reported,
      ownSpace: (source) => this.spaces.own(source),
      pathOf: (child) => childPath(path, child),
      covered: (reader) => ({ ...readWatermarks(reader).told, ...this.spaces.revisions() }),
    };
  }

  #makePlace({ replica = 0, replicas = 1 }: NodeConfig, { store }: NodePorts, later: LaterParts): ReplicaPlace {
    return new ReplicaPlace({
      store,
      upstream: this.upstream,
      outbox: this.outbox,
      replica,
      replicas,
      children: () => [...this.mailboxes.all()].map(({ child }) => child),
      recountChildren: (children) => later.recountChildren(children),
      end: (child, reason) => later.endSession(child, reason),
    });
  }

  isOrigin(source: string): boolean {
    return this.spaces.own(source) !== undefined;
  }

  #inherited({ path, labels }: NodeConfig, { store }: NodePorts): Labels {
    const row = store.read((reader) => {
      const found = this.upstream.sound.get(reader, hash128(entryKey.tree()));
      return found?.content && this.upstream.content(reader, found.content);
    });
    const above = row ? attributesOf<TreeAttributes>(row).labels : {};
    return inheritedBelow(path, above, labels);
  }
}
