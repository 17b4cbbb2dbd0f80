/**
 * Relays deeper than the node's own children, as `node/PATH` entries report them. The node passes each report on to its parent in the transaction that applies
 * the report, and shows it as a Node object. A child may report only about its own subtree.
 */

import { nodeResource } from '../../core/apiserver/kinds/mesh-kinds.ts';
import type { Space } from '../../core/apiserver/space.ts';
import { entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { NodeAttributes } from '../../core/entries/up-attributes.ts';
import type { AppliedChange, ContentReference, Producer, Table } from '../../core/feed/feed.ts';
import {
  childPath,
  childTowards,
  isBelow,
  objectName,
  parentOf,
  replicaNodePath,
} from '../../core/identity/node-path.ts';
import { replicasMax, splitReplica, withReplica } from '../../core/identity/replica.ts';
import { hash128 } from '../../core/object/hash.ts';
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Store, Transaction } from '../../core/store/store.ts';
import type { Replicas } from '../replicas/replicas.ts';
import { type ConnectionState, guarded, hide, showNode } from './node-objects.ts';

export interface DescendantsPorts {
  readonly store: Store;
  readonly space: Space;
  /** The path of this node; empty for the root, which passes nothing on. */
  readonly path: string;
  readonly outbox: Producer;
  reportedOf(child: string): Table | undefined;
  isConnected(child: string): boolean;
  readonly replicas: Replicas;
}

/**
 * Limit for the Node objects updated in one run: 30 ms, and 60 ms if all of them are new. So the node goes on with other work while a region of a thousand
 * relays connects or disconnects.
 */
const nodesPerRun = 50;

interface ReportedNode {
  readonly content: ContentReference;
  readonly node: NodeAttributes;
}

interface DescendantReport extends ReportedNode {
  readonly counts: boolean;
}

export class Descendants {
  readonly #ports: DescendantsPorts;
  readonly #nodes = new Map<string, NodeAttributes>();
  readonly #pending = new Set<string>();

  constructor(ports: DescendantsPorts) {
    this.#ports = ports;
  }

  /** Starts with all nodes that were reported or shown before the process ended, and reads the present reports of the children about them. */
  load(t: Transaction): void {
    const { space, path: own } = this.#ports;
    const shown = [...space.storage.scan(nodeResource)].map((stored) => space.parse(stored).spec as { path?: string });
    for (const path of new Set([...reportedPaths(t, ''), ...shown.map(({ path = '' }) => path)])) {
      const child = childTowards(own, path);
      // node-reports.ts shows the children, and each replica of a child.
      if (child === undefined || path === replicaNodePath(own, child)) continue;
      const report = this.#find(t, child, path);
      note(t, path, report !== undefined);
      this.#setNode(path, report);
    }
  }

  /** Returns the report of a child about a node at or below itself. */
  reportOf(reader: Reader, child: string, path: string): NodeAttributes | undefined {
    return this.#reportBy(reader, child, path)?.node;
  }

  /** Runs in the transaction that applies a report of the child. The Node objects are updated after it. */
  pass(t: Transaction, child: string, changes: readonly AppliedChange[]): void {
    this.#update(t, child, this.#deeper(child, changes));
  }

  /** Call it when this node starts or stops counting the child. For each node below the child, the report of another replica may replace the child's report. */
  recount(t: Transaction, child: string): void {
    this.#update(t, child, [...reportedPaths(t, `${childPath(this.#ports.path, child)}:`)]);
  }

  #update(t: Transaction, child: string, paths: readonly string[]): void {
    const { path: own, outbox } = this.#ports;
    const found = paths.map((path) => ({ path, report: this.#find(t, child, path) }));
    for (const { path, report } of found) note(t, path, report !== undefined);
    for (const { path, report } of own === '' ? [] : found) {
      const keyHash = hash128(entryKey.node(path));
      // The revision is always 0. A tombstone with the child's revision would reject later entries with a lower revision.
      if (report?.counts) outbox.putReference(t, keyHash, report.content, 0);
      else outbox.remove(t, keyHash, 0);
    }
    t.afterCommit(() => {
      for (const { path, report } of found) {
        // Any of several replicas reaches the nodes below. So the nodes below all replicas of the path are marked.
        if (this.#setNode(path, report)) this.#markBelow(splitReplica(path).name);
      }
    });
  }

  /**
   * All replicas of a path may have reported a node, because the node went from one replica to another. Returns the report of a replica that this node counts,
   * if there is one. The child itself comes before its other replicas.
   */
  #find(reader: Reader, child: string, path: string): DescendantReport | undefined {
    const { replicas } = this.#ports;
    let uncounted: DescendantReport | undefined;
    for (const reporter of new Set([child, ...replicas.members(child)])) {
      const report = this.#reportBy(reader, reporter, path);
      if (report && replicas.standing(reporter).counts) return { ...report, counts: true };
      if (report) uncounted ??= { ...report, counts: false };
    }
    return uncounted;
  }

  #reportBy(reader: Reader, reporter: string, path: string): ReportedNode | undefined {
    const table = this.#ports.reportedOf(reporter);
    const content = table?.get(reader, hash128(entryKey.node(path)))?.content;
    return table && content && { content, node: attributesOf(table.content(reader, content).attributes) };
  }

  /** Returns true if the state of the session has changed. */
  #setNode(path: string, report: DescendantReport | undefined): boolean {
    const before = this.#nodes.get(path);
    const after = report && (report.counts ? report.node : withoutSession(report.node));
    if (after) this.#nodes.set(path, after);
    else this.#nodes.delete(path);
    this.#pending.add(path);
    return before?.session?.state !== after?.session?.state;
  }

  /** Returns the relays below the children that were not connected to their parents when these last reported. */
  *disconnected(): Generator<{ path: string; since?: string; agents?: number }> {
    for (const [path, { role, session, agents }] of this.#nodes) {
      if (role !== 'relay' || session?.state !== 'Disconnected') continue;
      const { since } = session;
      yield { path, ...(since === undefined ? {} : { since }), ...(agents === undefined ? {} : { agents }) };
    }
  }

  connectionChanged(child: string): void {
    this.#markBelow(childPath(this.#ports.path, child));
  }

  /** Shows some of the changed nodes. Returns true if more of them remain. */
  show(wallMs: number): boolean {
    let nodesLeft = nodesPerRun;
    for (const path of this.#pending) {
      if (nodesLeft-- === 0) return true;
      this.#showOne(path, wallMs);
      // The path is removed only now: if there is no room to show the node, it stays pending.
      this.#pending.delete(path);
    }
    return false;
  }

  #showOne(path: string, wallMs: number): void {
    const { space } = this.#ports;
    const node = this.#nodes.get(path);
    if (!node) {
      hide(space, 'Node', objectName(path));
      return;
    }
    const { version, session, lag, children, relays, agents } = node;
    const state = this.#state(path);
    const counts = { children: children ?? 0, relays: relays ?? 0, agents: agents ?? 0 };
    const shown =
      state === 'Unknown' ? { session: { state } } : { session: { ...session, state }, ...(lag ? { lag } : {}) };
    showNode(space, path, 'Relay', { version, ...shown, ...counts, ...guarded(node) }, wallMs, {
      reportedDiverged: node.diverged,
      waits: state === 'Connected' ? node.waits : undefined,
      diskLow: node.diskLow,
    });
  }

  /** This node knows a deeper node only through the relays between them. While one of these relays is not connected, the state is unknown. */
  #state(path: string): ConnectionState {
    const { path: own, isConnected } = this.#ports;
    const child = childTowards(own, path);
    if (child === undefined || !isConnected(child)) return 'Unknown';
    for (let above = parentOf(path); above !== childPath(own, child); above = parentOf(above)) {
      if (!this.#isReached(above)) return 'Unknown';
    }
    return this.#nodes.get(path)?.session?.state ?? 'Unknown';
  }

  /** One connected replica is enough. */
  #isReached(path: string): boolean {
    for (let replica = 0; replica < replicasMax; replica++) {
      if (this.#nodes.get(withReplica(path, replica))?.session?.state === 'Connected') return true;
    }
    return false;
  }

  #markBelow(path: string): void {
    this.#ports.store.read((reader) => {
      for (const descendant of reportedPaths(reader, `${path}:`)) this.#pending.add(descendant);
    });
  }

  /** Returns the paths of the nodes below the child that the changes are about. */
  #deeper(child: string, changes: readonly AppliedChange[]): string[] {
    const above = childPath(this.#ports.path, child);
    return changes.flatMap(({ key }) => {
      const entry = parseEntryKey(key);
      return entry?.type === 'node' && isBelow(entry.path, above) ? [entry.path] : [];
    });
  }
}

/**
 * Returns the report without the session. A node that no counted replica reports may be on its way to another replica. Its Node object stays, with everything
 * that people wrote into it, and shows the state as unknown.
 */
function withoutSession({ session: _session, ...node }: NodeAttributes): NodeAttributes {
  return node;
}

/**
 * Returns the paths of nodes below the children that any child has reported. All nodes below one node are one range of keys. The paths are in the store,
 * because the process may end before all of these nodes are shown.
 */
function* reportedPaths(reader: Reader, prefix: string): Generator<string> {
  const { length } = prefixOf('descendant');
  for (const [key] of reader.scan(prefixRange(rowKey(prefix)))) yield asText(key.subarray(length));
}

function note(t: Transaction, path: string, isReported: boolean): void {
  const key = rowKey(path);
  if (!isReported) t.remove(key);
  else if (!t.get(key)) t.put(key, new Uint8Array(0));
}

function rowKey(path: string): Uint8Array {
  return concat(prefixOf('descendant'), text(path));
}

function attributesOf(attributes: Uint8Array): NodeAttributes {
  return JSON.parse(asText(attributes)) as NodeAttributes;
}
