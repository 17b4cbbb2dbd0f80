/**
 * Relays deeper than the own children, as `node/PATH` entries tell of them: handed on to the parent in the transaction that brought
 * them, and shown as Node objects. A child speaks for its own subtree only.
 */

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
import { type ConnectionState, guarded, hide, nodeResource, showNode } from './node-objects.ts';

export interface DescendantsPorts {
  readonly store: Store;
  readonly space: Space;
  /** Of this node; empty for the root, which hands nothing on. */
  readonly path: string;
  readonly outbox: Producer;
  reportedOf(child: string): Table | undefined;
  isConnected(child: string): boolean;
  readonly replicas: Replicas;
}

/** Node objects brought up to date in one run: 30 ms, and 60 where all are new, so that a region that comes or goes with a thousand relays does not stop the node. */
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
  readonly #known = new Map<string, NodeAttributes>();
  readonly #pending = new Set<string>();

  constructor(ports: DescendantsPorts) {
    this.#ports = ports;
  }

  /** What was told or shown at the last end, with what the children's tables say of it now. */
  load(t: Transaction): void {
    const { space, path: own } = this.#ports;
    const shown = [...space.storage.scan(nodeResource)].map((stored) => space.parse(stored).spec as { path?: string });
    for (const path of new Set([...toldOf(t, ''), ...shown.map(({ path = '' }) => path)])) {
      const child = childTowards(own, path);
      // Children, and each of several siblings, are shown by node-reports.ts.
      if (child === undefined || path === replicaNodePath(own, child)) continue;
      const told = this.#find(t, child, path);
      note(t, path, told !== undefined);
      this.#learn(path, told);
    }
  }

  /** What a child says of a node at or below itself. */
  told(reader: Reader, child: string, path: string): NodeAttributes | undefined {
    return this.#reportBy(reader, child, path)?.node;
  }

  /** In the transaction that applies what a child said; to be shown after it. */
  pass(t: Transaction, child: string, changes: readonly AppliedChange[]): void {
    this.#look(t, child, this.#deeper(child, changes));
  }

  /** What the child tells counts from now on, or does no more: what a sibling of it tells of the same nodes stands in for it. */
  recount(t: Transaction, child: string): void {
    this.#look(t, child, [...toldOf(t, `${childPath(this.#ports.path, child)}:`)]);
  }

  #look(t: Transaction, child: string, paths: readonly string[]): void {
    const { path: own, outbox } = this.#ports;
    const found = paths.map((path) => ({ path, told: this.#find(t, child, path) }));
    for (const { path, told } of found) note(t, path, told !== undefined);
    for (const { path, told } of own === '' ? [] : found) {
      const keyHash = hash128(entryKey.node(path));
      // Of one revision always: a tombstone with the child's own would keep out what comes after it.
      if (told?.counts) outbox.putReference(t, keyHash, told.content, 0);
      else outbox.remove(t, keyHash, 0);
    }
    t.afterCommit(() => {
      for (const { path, told } of found) {
        // Those below are reached through any of several siblings.
        if (this.#learn(path, told)) this.#touchBelow(splitReplica(path).name);
      }
    });
  }

  /** Siblings may all have told of a node, one before it went to another: of those that count, and else of all, the child itself goes first. */
  #find(reader: Reader, child: string, path: string): DescendantReport | undefined {
    const { replicas } = this.#ports;
    let uncounted: DescendantReport | undefined;
    for (const holder of new Set([child, ...replicas.members(child)])) {
      const told = this.#reportBy(reader, holder, path);
      if (told && replicas.standing(holder).counts) return { ...told, counts: true };
      if (told) uncounted ??= { ...told, counts: false };
    }
    return uncounted;
  }

  #reportBy(reader: Reader, holder: string, path: string): ReportedNode | undefined {
    const table = this.#ports.reportedOf(holder);
    const content = table?.get(reader, hash128(entryKey.node(path)))?.content;
    return table && content && { content, node: attributesOf(table.content(reader, content).attributes) };
  }

  /** True when its state is another. */
  #learn(path: string, told: DescendantReport | undefined): boolean {
    const before = this.#known.get(path);
    const now = told && (told.counts ? told.node : withoutSession(told.node));
    if (now) this.#known.set(path, now);
    else this.#known.delete(path);
    this.#pending.add(path);
    return before?.session?.state !== now?.session?.state;
  }

  connectionChanged(child: string): void {
    this.#touchBelow(childPath(this.#ports.path, child));
  }

  /** Some of what has changed; true if more is left. */
  show(wallMs: number): boolean {
    let left = nodesPerRun;
    for (const path of this.#pending) {
      if (left-- === 0) return true;
      this.#showOne(path, wallMs);
      // Not before: there may be no room to show it.
      this.#pending.delete(path);
    }
    return false;
  }

  #showOne(path: string, wallMs: number): void {
    const { space } = this.#ports;
    const node = this.#known.get(path);
    if (!node) {
      hide(space, 'Node', objectName(path));
      return;
    }
    const { version, session, lag, children, relays, agents } = node;
    const state = this.#state(path);
    const counts = { children: children ?? 0, relays: relays ?? 0, agents: agents ?? 0 };
    const seen =
      state === 'Unknown' ? { session: { state } } : { session: { ...session, state }, ...(lag ? { lag } : {}) };
    showNode(space, path, 'Relay', { version, ...seen, ...counts, ...guarded(node) }, wallMs, {
      reportedDiverged: node.diverged,
      waits: state === 'Connected' ? node.waits : undefined,
      diskLow: node.diskLow,
    });
  }

  /** A node is known only through those above it: while one of them is away, nothing is known. */
  #state(path: string): ConnectionState {
    const { path: own, isConnected } = this.#ports;
    const child = childTowards(own, path);
    if (child === undefined || !isConnected(child)) return 'Unknown';
    for (let above = parentOf(path); above !== childPath(own, child); above = parentOf(above)) {
      if (!this.#isReached(above)) return 'Unknown';
    }
    return this.#known.get(path)?.session?.state ?? 'Unknown';
  }

  /** Of siblings, one that is connected is enough. */
  #isReached(path: string): boolean {
    for (let replica = 0; replica < replicasMax; replica++) {
      if (this.#known.get(withReplica(path, replica))?.session?.state === 'Connected') return true;
    }
    return false;
  }

  #touchBelow(path: string): void {
    this.#ports.store.read((reader) => {
      for (const told of toldOf(reader, `${path}:`)) this.#pending.add(told);
    });
  }

  /** Paths of the nodes below the child that the changes tell of. */
  #deeper(child: string, changes: readonly AppliedChange[]): string[] {
    const above = childPath(this.#ports.path, child);
    return changes.flatMap(({ key }) => {
      const entry = parseEntryKey(key);
      return entry?.type === 'node' && isBelow(entry.path, above) ? [entry.path] : [];
    });
  }
}

/** One that nobody counts may be on its way: its Node object stays, with what people wrote into it, and says that nothing is known. */
function withoutSession({ session: _session, ...node }: NodeAttributes): NodeAttributes {
  return node;
}

/** Paths below the children that any of them tells of: what lies below one node is a range. It is in the store because a process may end before all of them are shown. */
function* toldOf(reader: Reader, prefix: string): Generator<string> {
  const { length } = prefixOf('descendant');
  for (const [key] of reader.scan(prefixRange(rowKey(prefix)))) yield asText(key.subarray(length));
}

function note(t: Transaction, path: string, isTold: boolean): void {
  const key = rowKey(path);
  if (!isTold) t.remove(key);
  else if (!t.get(key)) t.put(key, new Uint8Array(0));
}

function rowKey(path: string): Uint8Array {
  return concat(prefixOf('descendant'), text(path));
}

function attributesOf(attributes: Uint8Array): NodeAttributes {
  return JSON.parse(asText(attributes)) as NodeAttributes;
}
