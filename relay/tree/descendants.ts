/**
 * Relays deeper than the own children, as `node/PATH` entries tell of them: handed on to the parent in the transaction that brought
 * them, and shown as Node objects. A child speaks for its own subtree only.
 */

import type { Space } from '../../core/apiserver/space.ts';
import type { AppliedChange, Producer, Table } from '../../core/feed/feed.ts';
import { parentOf } from '../../core/identity/node-path.ts';
import { replicasMax, withReplica } from '../../core/identity/replica.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { asText, text } from '../../core/store/bytes.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { nodeKey, parseEntryKey } from '../../core/wire/entries.ts';
import type { NodeAttributes } from '../../core/wire/entry-attributes.ts';
import type { Counting } from './counting.ts';
import { childPath, guarded, hide, nodeResource, objectName, type SessionState, showNode } from './node-objects.ts';

export interface DescendantsPorts {
  readonly space: Space;
  /** Of this node; empty for the root, which hands nothing on. */
  readonly path: string;
  readonly outbox: Producer;
  reportedOf(child: string): Table | undefined;
  isConnected(child: string): boolean;
  readonly counting: Counting;
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
      if (child === undefined || shown === childPath(path, child)) continue;
      const told = this.told(reader, child, shown);
      if (told) this.#known.set(shown, told);
      this.#pending.add(shown);
    }
  }

  /** What a child says of a node at or below itself. */
  told(reader: Reader, child: string, path: string): NodeAttributes | undefined {
    const table = this.#ports.reportedOf(child);
    const row = table?.get(reader, hash128(nodeKey(path)));
    return row?.content && table ? attributesOf(table.content(reader, row.content).attributes) : undefined;
  }

  /** In the transaction that applies what a child said. */
  pass(t: Transaction, child: string, changes: readonly AppliedChange[]): void {
    const { path, outbox } = this.#ports;
    if (path === '' || !this.#ports.counting.counts(child)) return;
    for (const { key, keyHash, after } of this.#deeper(child, changes)) {
      // Of one revision always: a tombstone with the child's own would keep out what comes after it.
      if (after) outbox.put(t, { ...after, key }, 0);
      else outbox.remove(t, keyHash, 0);
    }
  }

  /** What the child tells counts from now on, or does no more: what a sibling of it tells of the same nodes stands in for it. */
  recount(t: Transaction, child: string): void {
    const { path, outbox, counting } = this.#ports;
    if (path === '') return;
    const below = `${childPath(path, child)}:`;
    const holders = [child, ...(counting.membersOf(child) ?? [])].filter((holder) => counting.counts(holder));
    for (const known of this.#known.keys()) {
      if (!known.startsWith(below)) continue;
      const told = holders.map((holder) => this.told(t, holder, known)).find((node) => node !== undefined);
      const attributes = told && text(stableStringify(told));
      if (attributes) outbox.put(t, { key: nodeKey(known), attributes, body: new Uint8Array(0) }, 0);
      else outbox.remove(t, hash128(nodeKey(known)), 0);
    }
  }

  /** After that commit; true when a Node object has to be brought up to date. */
  note(child: string, changes: readonly AppliedChange[]): boolean {
    let changed = false;
    for (const { key, after } of this.#deeper(child, changes)) {
      const path = key.slice(nodeKey('').length);
      const before = this.#known.get(path);
      const now = after && attributesOf(after.attributes);
      if (now) this.#known.set(path, now);
      else this.#known.delete(path);
      this.#pending.add(path);
      if (before?.session?.state !== now?.session?.state) this.#touchBelow(path);
      changed = true;
    }
    return changed;
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

  #deeper(child: string, changes: readonly AppliedChange[]): AppliedChange[] {
    const below = `${childPath(this.#ports.path, child)}:`;
    return changes.filter(({ key }) => {
      const entry = parseEntryKey(key);
      return entry?.type === 'node' && entry.path.startsWith(below);
    });
  }
}

function attributesOf(attributes: Uint8Array): NodeAttributes {
  return JSON.parse(asText(attributes)) as NodeAttributes;
}

/** The child of `own` that a path lies at or below. */
export function childOf(own: string, path: string): string | undefined {
  const rest = own === '' ? path : path.startsWith(`${own}:`) ? path.slice(own.length + 1) : '';
  return rest === '' ? undefined : rest.split(':')[0];
}
