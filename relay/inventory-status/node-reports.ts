/**
 * Keeps the Node, Mailbox and SyncTarget objects of the system space up to date, and reports this node and its child relays to the parent. It runs at most once
 * an interval, and only for children of which something has changed.
 */

import { mailboxResource, nodeResource } from '../../core/apiserver/kinds/mesh-kinds.ts';
import { entryKey } from '../../core/entries/entry-keys.ts';
import { quarantinedAttributes } from '../../core/entries/quarantine-report.ts';
import type {
  HeldAttributes,
  NodeAttributes,
  QuarantinedAttributes,
  WaitsAttributes,
} from '../../core/entries/up-attributes.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import { childPath, nameOf, objectName, parentOf, replicaNodePath } from '../../core/identity/node-path.ts';
import type { RefusedClaims } from '../../core/match/allowed-summary.ts';
import { timestamp } from '../../core/object/conditions.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { Timer } from '../../core/runtime/clock.ts';
import type { SessionStatus } from '../../core/session/parent-ports.ts';
import { ifRoom } from '../../core/store/room.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import type { Child } from '../children/children.ts';
import type { Mailbox, Mailboxes } from '../mailbox/mailboxes.ts';
import { type Replicas, withoutReplicas } from '../replicas/replicas.ts';
import type { Reporting } from './authority-dependents.ts';
import { Descendants } from './descendants.ts';
import { InventoryStatuses, type ShownInventory } from './inventory-statuses.ts';
import { LocationCounts } from './location-counts.ts';
import { guarded, hide, sessionState, showMailbox, showNode, untakenEntries } from './node-objects.ts';
import { lookEveryMs, nodeEntry, OwnNode, type OwnNodePorts } from './own-node.ts';
import { heartbeatEveryMs, showSyncTarget } from './sync-target-status.ts';

export interface NodeReportsPorts extends OwnNodePorts {
  readonly children: ReadonlyMap<string, Child>;
  readonly mailboxes: Mailboxes;
  /** The node's inventory spaces, keyed by source. */
  inventories(): ReadonlyMap<string, ShownInventory>;
  connection(child: string): SessionStatus;
  /** Returns what this node must receive before it sends anything to the child. */
  waits?(child: string): WaitsAttributes | undefined;
  /** Absent: no relay has replicas. */
  readonly replicas?: Replicas;
  /** Returns the entries that stay in the mailbox of a relay although the relay reports fewer Locations. */
  heldInMailbox(reader: Reader, child: string): HeldAttributes | undefined;
  /** Returns the claims of a relay that have no effect. Undefined: there are none. */
  refusedClaims(child: string): RefusedClaims | undefined;
}

/** Time between two runs. People look at these objects, and accept a delay of a second. */
const intervalMs = 1_000;
/** Limit for the children of one run, which takes some milliseconds. So the node goes on with other work while a thousand children connect at once. */
const childrenPerRun = 50;
/** How often a changed lag is reported to the parent. Nodes above do not need each value of a lag that changes all the time. */
const lagEveryMs = 30_000;

export class NodeReports {
  readonly #ports: NodeReportsPorts;
  readonly #ownNode: OwnNode;
  readonly #descendants: Descendants;
  readonly #replicas: Replicas;
  readonly #inventories: InventoryStatuses;
  readonly #locations: LocationCounts;
  readonly #dirty = new Set<string>();
  /** The reports about authorities of the children that this node counts. */
  readonly #trustBelow = new Map<string, Reporting>();
  readonly #reportedLag = new Map<string, { entries: number; atMs: number }>();
  #timer: Timer | undefined;
  #lagTimer: Timer | undefined;
  #looking: Timer | undefined;
  #heartbeatsAtMs: number;
  #started = false;

  constructor(ports: NodeReportsPorts) {
    this.#ports = ports;
    this.#heartbeatsAtMs = ports.clock.monotonicMs();
    const { space, store, path, outbox, mailboxes, replicas = withoutReplicas } = ports;
    this.#replicas = replicas;
    this.#ownNode = new OwnNode(ports);
    this.#descendants = new Descendants({
      space,
      store,
      path,
      outbox,
      reportedOf: (child) => mailboxes.get(child)?.reported,
      isConnected: (child) => replicas.members(child).some((one) => ports.connection(one).connected),
      replicas,
    });
    this.#inventories = new InventoryStatuses({
      path,
      inventories: () => ports.inventories(),
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
    for (const child of [...this.#ports.children.keys(), ...this.#shownBefore()]) this.#dirty.add(child);
    this.#ports.store.write((t) => this.#descendants.load(t));
    this.#inventories.follow();
    this.#locations.start();
    // These objects are shown after the node serves, because nothing in the mesh waits for them.
    this.#timer = this.#ports.clock.after(0, () => this.#tick());
  }

  /** Returns the children that have objects: the process may have ended between the removal of a child and the removal of its objects. */
  *#shownBefore(): Generator<string> {
    const { space, path: own } = this.#ports;
    for (const resource of [nodeResource, mailboxResource]) {
      for (const stored of space.storage.scan(resource)) {
        const { spec, status } = space.parse(stored);
        const { path = '' } = (spec ?? {}) as { readonly path?: string };
        // A Node object without a status admits a relay that has not attached yet.
        if (status !== undefined && path !== '' && parentOf(path) === own) yield nameOf(path);
      }
    }
  }

  /** Call it when something about these children may have changed. */
  childrenChanged(children: Iterable<string>): void {
    for (const child of children) {
      this.#dirty.add(child);
      this.wake();
    }
  }

  /** Call it when a space was opened or removed. */
  spacesChanged(): void {
    this.#inventories.follow();
    this.wake();
  }

  /** Call it when something about the node itself may have changed, or when something remains to be shown. */
  wake(): void {
    if (!this.#started || this.#timer) return;
    this.#timer = this.#ports.clock.after(intervalMs, () => this.#tick());
  }

  connectionChanged(child: string): void {
    this.#descendants.connectionChanged(child);
    this.childrenChanged([child]);
  }

  /** Call it when this node starts or stops counting the child. */
  recount(t: Transaction, child: string): void {
    this.#descendants.recount(t, child);
    t.afterCommit(() => this.childrenChanged([child]));
  }

  /** Runs in the transaction that drops the mailbox of a child. Takes back the reports about the child and the nodes below it. */
  removed(t: Transaction, child: string): void {
    const { outbox, path } = this.#ports;
    this.recount(t, child);
    if (path !== '') outbox.remove(t, hash128(entryKey.node(replicaNodePath(path, child))), 0);
    t.afterCommit(() => this.#reportedLag.delete(child));
  }

  /** Returns the report of a child about a node at or below itself. */
  reportOf(reader: Reader, child: string, path: string): NodeAttributes | undefined {
    return this.#descendants.reportOf(reader, child, path);
  }

  /** Returns the relays deeper than this node's children that are not connected to their parents, as far as this node knows. */
  disconnectedBelow(): ReturnType<Descendants['disconnected']> {
    return this.#descendants.disconnected();
  }

  /** Runs in the transaction that applies a report of the child. */
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
    const { clock } = this.#ports;
    let childrenLeft = childrenPerRun;
    for (const name of this.#dirty) {
      if (childrenLeft-- === 0) break;
      this.#showChild(name);
      this.#inventories.childChanged(name);
      this.#locations.childChanged(name);
      // The child is removed only now: if there is no room to show it, it stays dirty.
      this.#dirty.delete(name);
    }
    this.#ownNode.show(this.#counts(), this.#trustBelow.values());
    const hasMoreBelow = this.#descendants.show(clock.wallMs());
    this.#looking ??= clock.after(lookEveryMs, () => {
      this.#looking = undefined;
      this.#refreshHeartbeats();
      this.wake();
    });
    const hasMoreInventory = this.#inventories.show(clock.wallMs());
    const hasMoreLocations = this.#locations.show();
    if (this.#dirty.size > 0 || hasMoreBelow || hasMoreInventory || hasMoreLocations) this.wake();
  }

  /** Shows all agents again, once in the time in which their heartbeats are written again. `childrenPerRun` spreads the work over some runs. */
  #refreshHeartbeats(): void {
    const nowMs = this.#ports.clock.monotonicMs();
    if (nowMs - this.#heartbeatsAtMs < heartbeatEveryMs) return;
    this.#heartbeatsAtMs = nowMs;
    for (const { name, role } of this.#ports.children.values()) if (role === 'agent') this.#dirty.add(name);
  }

  #showChild(name: string): void {
    const { space, path, children, mailboxes, store } = this.#ports;
    const child = children.get(name);
    const mailbox = mailboxes.get(name);
    const nodePath = replicaNodePath(path, name);
    if (!child || !mailbox) {
      this.#trustBelow.delete(name);
      hide(space, 'Mailbox', objectName(name));
      hide(space, 'Node', objectName(nodePath));
      return;
    }
    const { entries, head, acknowledged, backlog, report, refused, heldInMailbox } = store.read((reader) => ({
      entries: mailbox.producer.digest(reader).count,
      head: mailbox.producer.head(reader),
      acknowledged: mailbox.producer.acknowledged(reader),
      backlog: mailbox.producer.backlog(reader),
      report: this.#descendants.reportOf(reader, name, childPath(path, name)),
      refused: quarantinedAttributes(reader, mailbox.consumer).quarantined,
      heldInMailbox: this.#ports.heldInMailbox(reader, name),
    }));
    if (this.#replicas.standing(name).counts) this.#trustBelow.set(name, { path: nodePath, report });
    else this.#trustBelow.delete(name);
    const { entries: backlogEntries, bytes: backlogBytes } = backlog;
    const untaken = untakenEntries(report?.quarantined);
    const held = heldInMailbox ? { held: heldInMailbox } : {};
    const filled = { entries, head, acknowledged, backlogEntries, backlogBytes };
    showMailbox(space, name, nodePath, { ...filled, ...untaken, ...held }, this.#ports.clock.wallMs());
    this.#showSession(child, mailbox, { report, refused, heldInMailbox }, backlog);
  }

  #showSession(
    child: Child,
    mailbox: Mailbox,
    reports: {
      readonly report: NodeAttributes | undefined;
      readonly refused: QuarantinedAttributes | undefined;
      readonly heldInMailbox: HeldAttributes | undefined;
    },
    lag: { readonly entries: number; readonly bytes: number },
  ): void {
    const { space, path, clock, connection, store, outbox } = this.#ports;
    const { report, refused, heldInMailbox } = reports;
    const { connected, connectedSinceMs, heardAtMs, transport, diverged, cloned } = connection(child.name);
    const wallMs = clock.wallMs();
    const sinceMs = connected ? connectedSinceMs : heardAtMs;
    const since = sinceMs === undefined ? {} : { since: timestamp(Math.min(sinceMs, wallMs)) };
    const waits = connected ? (report?.waits ?? this.#ports.waits?.(child.name)) : undefined;
    const alarms = {
      diverged,
      cloned,
      reportedDiverged: report?.diverged,
      diskLow: report?.diskLow,
      waits,
      trouble: report?.trouble,
      limit: report?.limit,
      certificateTrouble: report?.certificateTrouble,
      refusedClaims: this.#ports.refusedClaims(child.name),
      shortage: store.read((reader) => mailbox.consumer.shortage(reader)),
    };
    const via = transport === undefined ? {} : { transport };
    // An agent that is attached to another replica of this node has been there, although this node has never heard it.
    const { wasAttached } = this.#replicas.standing(child.name);
    const state = wasAttached && !connected ? ('Disconnected' as const) : sessionState(connected, heardAtMs);
    const session = { state, ...since, ...via };
    const nodePath = replicaNodePath(path, child.name);
    const version = report?.version ?? '';
    // This node itself knows `refused` and `heldInMailbox` of its child. So the values in the child's report are not used.
    const { refused: _refused, heldInMailbox: _heldInMailbox, ...own } = guarded(report ?? {});
    const kept = { ...own, ...(refused ? { refused } : {}), ...(heldInMailbox ? { heldInMailbox } : {}) };
    if (child.role === 'agent') {
      const capacity = report?.capacity ? { capacity: report.capacity } : {};
      showNode(space, nodePath, 'Agent', { version, session, lag, agents: 1, ...capacity, ...kept }, wallMs, alarms);
      showSyncTarget(space, child.name, path, report, { connected, heardAtMs }, wallMs);
      return;
    }
    const { children = 0, relays = 0 } = report ?? {};
    const counts = { children, relays, agents: agentsOf(child) };
    showNode(space, nodePath, 'Relay', { version, session, lag, ...counts, ...kept }, wallMs, alarms);
    if (path === '') return;
    if (!this.#replicas.standing(child.name).counts) {
      // Another replica reports it: another replica of this node reports the child, or another replica of the child reports the nodes that the child had.
      store.write((t) => outbox.remove(t, hash128(entryKey.node(nodePath)), 0));
      return;
    }
    const entry = {
      role: mailbox.role,
      version,
      ...counts,
      ...kept,
      ...(report?.diverged ? { diverged: report.diverged } : {}),
      ...(report?.diskLow ? { diskLow: report.diskLow } : {}),
      ...(waits ? { waits } : {}),
      session,
      lag: { entries: this.#steadyLag(child.name, lag.entries) },
    };
    store.write((t) => outbox.put(t, nodeEntry(nodePath, entry), 0));
  }

  #steadyLag(child: string, entries: number): number {
    const nowMs = this.#ports.clock.monotonicMs();
    const lastReport = this.#reportedLag.get(child);
    if (lastReport?.entries === entries) return entries;
    if (!lastReport || nowMs - lastReport.atMs >= lagEveryMs) {
      this.#reportedLag.set(child, { entries, atMs: nowMs });
      return entries;
    }
    this.#lagTimer ??= this.#ports.clock.after(lagEveryMs, () => {
      this.#lagTimer = undefined;
      this.childrenChanged(this.#reportedLag.keys());
    });
    return lastReport.entries;
  }

  #counts(): { children: number; relays: number; agents: number } {
    const { children, path, mailboxes, store } = this.#ports;
    let [relays, agents] = [0, 0];
    store.read((reader) => {
      for (const child of children.values()) {
        const { name, role } = child;
        if (!this.#replicas.standing(name).counts) continue;
        if (role === 'agent') {
          agents++;
          continue;
        }
        const report = mailboxes.get(name) && this.#descendants.reportOf(reader, name, childPath(path, name));
        agents += agentsOf(child);
        relays += 1 + (report?.relays ?? 0);
      }
    });
    return { children: children.size, relays, agents };
  }
}

/** Returns the number of Locations that a relay counts. All replicas match the same Locations, but each replica reports the number that it owns. */
function agentsOf({ labels, counted = labels }: Child): number {
  return counted?.leaves ?? 0;
}
