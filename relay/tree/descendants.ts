/**
 * Relays deeper than the own children, as `node/PATH` entries tell of them: handed on to the parent in the transaction that brought
 * them, and shown as Node objects. A child speaks for its own subtree only.
 */

import type { Space } from '../../core/apiserver/space.ts';
import type { AppliedChange, ContentReference, Producer, Table } from '../../core/feed/feed.ts';
import { parentOf } from '../../core/identity/node-path.ts';
import { replicasMax, splitReplica, withReplica } from '../../core/identity/replica.ts';
import { hash128 } from '../../core/object/hash.ts';
import { asText } from '../../core/store/bytes.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { nodeKey, parseEntryKey } from '../../core/wire/entries.ts';
import type { NodeAttributes } from '../../core/wire/entry-attributes.ts';
import type { Counting } from './counting.ts';
import {
  childPath,
  guarded,
  hide,
  nodeResource,
  objectName,
  type SessionState,
  showNode,
  siblingPath,
} from './node-objects.ts';

export interface DescendantsPorts {
  readonly space: Space;
  /** Of this node; empty for the root, which hands nothing on. */
  readonly path: string;
  readonly outbox: Producer;
  reportedOf(child: string): Table | undefined;
  isConnected(child: string): boolean;
  readonly counting: Counting;
}

interface Told {
  readonly content: ContentReference;
  readonly node: NodeAttributes;
}

interface Found extends Told {
  readonly counts: boolean;
}

export class Descendants {
  readonly #ports: DescendantsPorts;
  readonly #known = new Map<string, NodeAttributes>();
  readonly #pending = new Set<string>();

  constructor(ports: DescendantsPorts) {
    this.#ports = ports;
  }

  /** What was shown at the last end, with what the children's tables say of it now. */
  load(reader: Reader): void {
    const { space, path } = this.#ports;
    for (const stored of space.storage.scan(nodeResource)) {
      const shown = (space.parse(stored).spec as { path?: string }).path ?? '';
      const child = childOf(path, shown);
      // Children, and each of several siblings, are shown by node-reports.ts.
      if (child === undefined || shown === siblingPath(path, child)) continue;
      this.#learn(shown, this.#find(reader, child, shown));
    }
  }

  /** What a child says of a node at or below itself. */
  told(reader: Reader, child: string, path: string): NodeAttributes | undefined {
    return this.#toldBy(reader, child, path)?.node;
  }

  /** In the transaction that applies what a child said; to be shown after it. */
  pass(t: Transaction, child: string, changes: readonly AppliedChange[]): void {
    this.#look(t, child, this.#deeper(child, changes));
  }

  /** What the child tells counts from now on, or does no more: what a sibling of it tells of the same nodes stands in for it. */
  recount(t: Transaction, child: string): void {
    const below = `${childPath(this.#ports.path, child)}:`;
    const paths = [...this.#known.keys()].filter((known) => known.startsWith(below));
    this.#look(t, child, paths);
  }

  #look(t: Transaction, child: string, paths: readonly string[]): void {
    const { path: own, outbox } = this.#ports;
    const found = paths.map((path) => ({ path, told: this.#find(t, child, path) }));
    for (const { path, told } of own === '' ? [] : found) {
      const keyHash = hash128(nodeKey(path));
      // Of one revision always: a tombstone with the child's own would keep out what comes after it.
      if (told?.counts) outbox.putReference(t, keyHash, told.content, 0);
      else outbox.remove(t, keyHash, 0);
    }
    t.afterCommit(() => {
      for (const { path, told } of found) this.#learn(path, told);
    });
  }

  /** Siblings may all have told of a node, one before it went to another: of those that count, and else of all, the child itself goes first. */
  #find(reader: Reader, child: string, path: string): Found | undefined {
    const { counting } = this.#ports;
    let uncounted: Found | undefined;
    for (const holder of new Set([child, ...(counting.membersOf(child) ?? [])])) {
      const told = this.#toldBy(reader, holder, path);
      if (told && counting.counts(holder)) return { ...told, counts: true };
      if (told) uncounted ??= { ...told, counts: false };
    }
    return uncounted;
  }

  #toldBy(reader: Reader, holder: string, path: string): Told | undefined {
    const table = this.#ports.reportedOf(holder);
    const content = table?.get(reader, hash128(nodeKey(path)))?.content;
    return table && content && { content, node: attributesOf(table.content(reader, content).attributes) };
  }

  #learn(path: string, told: Found | undefined): void {
    const before = this.#known.get(path);
    const now = told && (told.counts ? told.node : withoutSession(told.node));
    if (now) this.#known.set(path, now);
    else this.#known.delete(path);
    this.#pending.add(path);
    // Those below are reached through any of several siblings.
    if (before?.session?.state !== now?.session?.state) this.#touchBelow(splitReplica(path).name);
  }

  connectionChanged(child: string): void {
    this.#touchBelow(childPath(this.#ports.path, child));
  }

  show(wallMs: number): void {
    const { space } = this.#ports;
    for (const path of this.#pending) {
      const node = this.#known.get(path);
      if (!node) {
        hide(space, 'Node', objectName(path));
        continue;
      }
      const { version, session, lag, children, relays, agents } = node;
      const state = this.#state(path);
      const counts = { children: children ?? 0, relays: relays ?? 0, agents: agents ?? 0 };
      const seen =
        state === 'Unknown' ? { session: { state } } : { session: { ...session, state }, ...(lag ? { lag } : {}) };
      showNode(space, path, 'Relay', { version, ...seen, ...counts, ...guarded(node) }, wallMs, {
        toldDiverged: node.diverged,
        waits: state === 'Connected' ? node.waits : undefined,
        diskLow: node.diskLow,
      });
    }
    this.#pending.clear();
  }

  /** A node is known only through those above it: while one of them is away, nothing is known. */
  #state(path: string): SessionState {
    const { path: own, isConnected } = this.#ports;
    const child = childOf(own, path);
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
    for (const known of this.#known.keys()) if (known.startsWith(`${path}:`)) this.#pending.add(known);
  }

  /** Paths of the nodes below the child that the changes tell of. */
  #deeper(child: string, changes: readonly AppliedChange[]): string[] {
    const below = `${childPath(this.#ports.path, child)}:`;
    return changes.flatMap(({ key }) => {
      const entry = parseEntryKey(key);
      return entry?.type === 'node' && entry.path.startsWith(below) ? [entry.path] : [];
    });
  }
}

/** One that nobody counts may be on its way: its Node object stays, with what people wrote into it, and says that nothing is known. */
function withoutSession({ session: _session, ...node }: NodeAttributes): NodeAttributes {
  return node;
}

function attributesOf(attributes: Uint8Array): NodeAttributes {
  return JSON.parse(asText(attributes)) as NodeAttributes;
}

/** The child of `own` that a path lies at or below. */
export function childOf(own: string, path: string): string | undefined {
  const rest = own === '' ? path : path.startsWith(`${own}:`) ? path.slice(own.length + 1) : '';
  return rest === '' ? undefined : rest.split(':')[0];
}
