/**
 * Keeps the Node, Mailbox and SyncTarget objects of the system space at what they say, and tells the parent of this node and of its
 * child relays. At most once an interval, and only of children of which something changed.
 */

import type { Space } from '../../core/apiserver/space.ts';
import { entryKey } from '../../core/entries/entry-keys.ts';
import { quarantinedAttributes } from '../../core/entries/quarantine-report.ts';
import type {
  HeldAttributes,
  NodeAttributes,
  QuarantinedAttributes,
  WaitsAttributes,
} from '../../core/entries/up-attributes.ts';
import type { AppliedChange, Producer } from '../../core/feed/feed.ts';
import { childPath, objectName, replicaNodePath } from '../../core/identity/node-path.ts';
import { cutCounts } from '../../core/object/bounded-counts.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { timestamp } from '../../core/object/conditions.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { Divergence } from '../../core/session/feed-alarm.ts';
import type { SessionStatus } from '../../core/session/parent-ports.ts';
import { type WatermarkWait, waitsAttributes } from '../../core/session/watermark-gate.ts';
import { text } from '../../core/store/bytes.ts';
import { ifRoom } from '../../core/store/room.ts';
import type { Reader, Store, Transaction } from '../../core/store/store.ts';
import type { Child } from '../children/children.ts';
import type { Mailbox, Mailboxes } from '../mailbox/mailboxes.ts';
import { type ReplicaCounting, withoutReplicas } from '../replicas/counting.ts';
import { Descendants } from './descendants.ts';
import { InventoryStatuses, type ShownInventory } from './inventory-statuses.ts';
import { LocationCounts } from './location-counts.ts';
import { guarded, hide, showMailbox, showNode, untakenEntries } from './node-objects.ts';
import { showSyncTarget } from './sync-target-status.ts';

export interface NodeReportsPorts {
  readonly space: Space;
  readonly path: string;
  readonly software: string;
  readonly clock: Clock;
  readonly store: Store;
  readonly children: ReadonlyMap<string, Child>;
  readonly mailboxes: Mailboxes;
  readonly outbox: Producer;
  /** The node's inventory spaces, by source. */
  readonly inventories: ReadonlyMap<string, ShownInventory>;
  connection(child: string): SessionStatus;
  /** Whether the node is attached to its parent; undefined for the root. */
  attached(): boolean | undefined;
  /** Why there is no session with the parent; undefined while there is one, or nothing was tried yet. */
  unreached?(): string | undefined;
  /** For what it is that this node takes nothing from its parent. */
  waiting?(): WatermarkWait | undefined;
  /** What has to be heard before anything is told to the child. */
  waits?(child: string): WaitsAttributes | undefined;
  /** The node's own feed from its parent differed. */
  diverged(): Divergence | undefined;
  /** Ms since this node heard of the root, over all hops; 0 at the root. */
  rootAgeMs(): number;
  /** Absent: nobody has siblings. */
  readonly counting?: ReplicaCounting;
  /** What is kept in the mailbox of a relay although it tells of fewer places. */
  heldInMailbox(reader: Reader, child: string): HeldAttributes | undefined;
  /** What this node itself keeps although it may be meant to go. */
  guarded(reader: Reader): Pick<NodeAttributes, 'held' | 'rolledBack' | 'quarantined'>;
}

/** People look at these objects; a second is what they notice. */
const intervalMs = 1_000;
/** Children looked at in one run: some milliseconds, so that a thousand that come back at once do not stop the node. */
const childrenPerRun = 50;
/** Beats come every 15 s at each hop: what is younger is as fresh as it gets. */
const rootAgeShownMs = 60_000;
/** Below this a disk is nearly full: four times of what the store needs to write at all (store/lmdb/lmdb-store.ts). */
const diskLowBytes = 64 * 2 ** 20;
/** How long a node stays silent about what nobody pokes it for: its disk, and the age of what it has. */
const lookEveryMs = 30_000;
/** A lag that changes all the time is no news for those above. */
const lagEveryMs = 30_000;

export class NodeReports {
  readonly #ports: NodeReportsPorts;
  readonly #descendants: Descendants;
  readonly #counting: ReplicaCounting;
  readonly #inventories: InventoryStatuses;
  readonly #locations: LocationCounts;
  readonly #dirty = new Set<string>();
  readonly #reportedLag = new Map<string, { entries: number; atMs: number }>();
  #timer: Timer | undefined;
  #lagTimer: Timer | undefined;
  #rootContactMs: number | undefined;
  #looking: Timer | undefined;
  #started = false;

  constructor(ports: NodeReportsPorts) {
    this.#ports = ports;
    const { space, store, path, outbox, mailboxes, counting = withoutReplicas } = ports;
    this.#counting = counting;
    this.#descendants = new Descendants({
      space,
      store,
      path,
      outbox,
      reportedOf: (child) => mailboxes.get(child)?.reported,
      isConnected: (child) => (counting.membersOf(child) ?? [child]).some((one) => ports.connection(one).connected),
      counting,
    });
    this.#inventories = new InventoryStatuses({
      path,
      inventories: ports.inventories,
      connection: (child) => ports.connection(child),
      reportOf: (child) => ports.store.read((reader) => this.reportOf(reader, child, childPath(path, child))),
      changed: () => this.wake(),
    });
    this.#locations = new LocationCounts({
      space,
      children: ports.children,
      isConnected: (child) => ports.connection(child).connected,
    });
  }

  start(): void {
    this.#started = true;
    for (const child of this.#ports.children.keys()) this.#dirty.add(child);
    this.#ports.store.write((t) => this.#descendants.load(t));
    this.#inventories.start();
    this.#locations.start();
    // The node serves first: nothing in the mesh waits for these objects.
    this.#timer = this.#ports.clock.after(0, () => this.#tick());
  }

  /** Something may have changed with these children. */
  childrenChanged(children: Iterable<string>): void {
    for (const child of children) {
      this.#dirty.add(child);
      this.wake();
    }
  }

  /** Something may have changed with the node itself, or is left to show. */
  wake(): void {
    if (!this.#started || this.#timer) return;
    this.#timer = this.#ports.clock.after(intervalMs, () => this.#tick());
  }

  connectionChanged(child: string): void {
    this.#descendants.connectionChanged(child);
    this.childrenChanged([child]);
  }

  /** What the child tells counts from now on, or does no more. */
  recount(t: Transaction, child: string): void {
    this.#descendants.recount(t, child);
    t.afterCommit(() => this.childrenChanged([child]));
  }

  /** What a child tells of a node at or below itself. */
  reportOf(reader: Reader, child: string, path: string): NodeAttributes | undefined {
    return this.#descendants.told(reader, child, path);
  }

  /** In the transaction that applies what a child said. */
  pass(t: Transaction, child: string, changes: readonly AppliedChange[]): void {
    this.#descendants.pass(t, child, changes);
  }

  stop(): void {
    this.#started = false;
    this.#inventories.stop();
    this.#timer?.stop();
    this.#lagTimer?.stop();
    this.#looking?.stop();
  }

  #tick(): void {
    this.#timer = undefined;
    if (!ifRoom(() => this.#run())) this.wake();
  }

  #run(): void {
    const { space, path, clock, outbox, store, software } = this.#ports;
    let left = childrenPerRun;
    for (const name of this.#dirty) {
      if (left-- === 0) break;
      this.#showChild(name);
      this.#inventories.childChanged(name);
      this.#locations.childChanged(name);
      // Not before: there may be no room to show it.
      this.#dirty.delete(name);
    }
    const counts = this.#counts();
    const attached = this.#ports.attached();
    const session =
      attached === undefined
        ? {}
        : { session: { state: attached ? ('Connected' as const) : ('Disconnected' as const) } };
    const role = path === '' ? 'Center' : 'Relay';
    const kept = store.read((reader) => this.#ports.guarded(reader));
    const diverged = this.#ports.diverged();
    const diskLow = store.size().diskFreeBytes < diskLowBytes;
    const own = { version: software, ...session, ...this.#rootHeard(), ...counts, ...kept };
    const waits = waitsAttributes(this.#ports.waiting?.());
    const alarms = { diverged, diskLow, ...waits };
    showNode(space, path, role, own, clock.wallMs(), alarms, this.#ports.unreached?.());
    const hasMoreBelow = this.#descendants.show(clock.wallMs());
    if (path !== '') {
      const reportedAlarms = {
        ...(diverged ? { diverged: { at: timestamp(diverged.atMs), what: diverged.what } } : {}),
        ...(diskLow ? { diskLow: true as const } : {}),
        ...waits,
      };
      const told: NodeAttributes = {
        role: 'relay',
        version: software,
        ...cutCounts(counts),
        ...kept,
        ...reportedAlarms,
      };
      store.write((t) => outbox.put(t, entryOf(path, told), 0));
    }
    this.#looking ??= clock.after(lookEveryMs, () => {
      this.#looking = undefined;
      this.wake();
    });
    const hasMoreInventory = this.#inventories.show(clock.wallMs());
    const hasMoreLocations = this.#locations.show();
    if (this.#dirty.size > 0 || hasMoreBelow || hasMoreInventory || hasMoreLocations) this.wake();
  }

  #showChild(name: string): void {
    const { space, path, children, mailboxes, store } = this.#ports;
    const child = children.get(name);
    const mailbox = mailboxes.get(name);
    const at = replicaNodePath(path, name);
    if (!child || !mailbox) {
      hide(space, 'Mailbox', name);
      hide(space, 'Node', objectName(at));
      return;
    }
    const { entries, head, acknowledged, backlog, said, refused, heldInMailbox } = store.read((reader) => ({
      entries: mailbox.producer.digest(reader).count,
      head: mailbox.producer.head(reader),
      acknowledged: mailbox.producer.acknowledged(reader),
      backlog: mailbox.producer.backlog(reader),
      said: this.#descendants.told(reader, name, childPath(path, name)),
      refused: quarantinedAttributes(reader, mailbox.consumer).quarantined,
      heldInMailbox: this.#ports.heldInMailbox(reader, name),
    }));
    const { entries: backlogEntries, bytes: backlogBytes } = backlog;
    const untaken = untakenEntries(said?.quarantined);
    const held = heldInMailbox ? { held: heldInMailbox } : {};
    const filled = { entries, head, acknowledged, backlogEntries, backlogBytes };
    showMailbox(space, name, at, { ...filled, ...untaken, ...held }, this.#ports.clock.wallMs());
    this.#showSession(child, mailbox, { said, refused, heldInMailbox }, backlog);
  }

  #showSession(
    child: Child,
    mailbox: Mailbox,
    told: {
      readonly said: NodeAttributes | undefined;
      readonly refused: QuarantinedAttributes | undefined;
      readonly heldInMailbox: HeldAttributes | undefined;
    },
    lag: { readonly entries: number; readonly bytes: number },
  ): void {
    const { space, path, clock, connection, store, outbox } = this.#ports;
    const { said, refused, heldInMailbox } = told;
    const { connected, connectedSinceMs, silentMs, transport, diverged, cloned } = connection(child.name);
    const wallMs = clock.wallMs();
    const sinceMs = connected ? connectedSinceMs : wallMs - silentMs;
    const since = sinceMs === undefined ? {} : { since: timestamp(Math.min(sinceMs, wallMs)) };
    const waits = connected ? (said?.waits ?? this.#ports.waits?.(child.name)) : undefined;
    const alarms = {
      diverged,
      cloned,
      reportedDiverged: said?.diverged,
      diskLow: said?.diskLow,
      waits,
      trouble: said?.trouble,
      limit: said?.limit,
      certificateTrouble: said?.certificateTrouble,
    };
    const by = transport === undefined ? {} : { transport };
    const session = { state: connected ? ('Connected' as const) : ('Disconnected' as const), ...since, ...by };
    const at = replicaNodePath(path, child.name);
    const version = said?.version ?? '';
    // In the child's own words it would be what it was told to say.
    const { refused: _refused, heldInMailbox: _heldInMailbox, ...own } = guarded(said ?? {});
    const kept = { ...own, ...(refused ? { refused } : {}), ...(heldInMailbox ? { heldInMailbox } : {}) };
    if (child.role === 'agent') {
      const capacity = said?.capacity ? { capacity: said.capacity } : {};
      showNode(space, at, 'Agent', { version, session, lag, agents: 1, ...capacity, ...kept }, wallMs, alarms);
      showSyncTarget(space, child.name, path, said, connected, wallMs);
      return;
    }
    const { children = 0, relays = 0 } = said ?? {};
    const counts = { children, relays, agents: agentsOf(child) };
    showNode(space, at, 'Relay', { version, session, lag, ...counts, ...kept }, wallMs, alarms);
    if (path === '') return;
    if (!this.#counting.counts(child.name)) {
      // A sibling of this node tells of it, or the child's own sibling tells of what it had.
      store.write((t) => outbox.remove(t, hash128(entryKey.node(at)), 0));
      return;
    }
    const above = {
      role: mailbox.role,
      version,
      ...counts,
      ...kept,
      ...(said?.diverged ? { diverged: said.diverged } : {}),
      ...(said?.diskLow ? { diskLow: said.diskLow } : {}),
      ...(waits ? { waits } : {}),
      session,
      lag: { entries: this.#steadyLag(child.name, lag.entries) },
    };
    store.write((t) => outbox.put(t, entryOf(at, above), 0));
  }

  /** The moment, which stays as it is while the age grows: told once. */
  #rootHeard(): { readonly rootContactAt?: string } {
    const ageMs = this.#ports.rootAgeMs();
    if (ageMs < rootAgeShownMs) return {};
    const heardMs = this.#ports.clock.wallMs() - ageMs;
    // Two readings of two clocks are some ms apart: of the same moment they are to be the same text.
    const before = this.#rootContactMs ?? heardMs;
    this.#rootContactMs = Math.abs(before - heardMs) < lookEveryMs / 10 ? before : heardMs;
    return { rootContactAt: timestamp(this.#rootContactMs) };
  }

  #steadyLag(child: string, entries: number): number {
    const nowMs = this.#ports.clock.monotonicMs();
    const told = this.#reportedLag.get(child);
    if (told?.entries === entries) return entries;
    if (!told || nowMs - told.atMs >= lagEveryMs) {
      this.#reportedLag.set(child, { entries, atMs: nowMs });
      return entries;
    }
    this.#lagTimer ??= this.#ports.clock.after(lagEveryMs, () => {
      this.#lagTimer = undefined;
      this.childrenChanged(this.#reportedLag.keys());
    });
    return told.entries;
  }

  #counts(): { children: number; relays: number; agents: number } {
    const { children, path, mailboxes, store } = this.#ports;
    let [relays, agents] = [0, 0];
    store.read((reader) => {
      for (const child of children.values()) {
        const { name, role } = child;
        if (!this.#counting.counts(name)) continue;
        if (role === 'agent') {
          agents++;
          continue;
        }
        const said = mailboxes.get(name) && this.#descendants.told(reader, name, childPath(path, name));
        agents += agentsOf(child);
        relays += 1 + (said?.relays ?? 0);
      }
    });
    return { children: children.size, relays, agents };
  }
}

/** Siblings match the same places, and each says of how many it is the owner. */
function agentsOf({ labels, counted = labels }: Child): number {
  return counted?.leaves ?? 0;
}

function entryOf(path: string, node: NodeAttributes) {
  return { key: entryKey.node(path), attributes: text(stableStringify(node)), body: new Uint8Array(0) };
}
