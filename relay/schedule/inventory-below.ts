/**
 * Brings the inventory of spaces of this node and above to the agents that it names. Each row goes to one child: the child that is next on the path of the row.
 * A relay gets the row by reference. If the path ends at the child, the row is the inventory of an agent, and an index of paths finds the row.
 */

import type { InventoryAttributes, InventoryBody } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { AppliedChange, Table } from '../../core/feed/feed.ts';
import { childPath, childTowards } from '../../core/identity/node-path.ts';
import { hash128 } from '../../core/object/hash.ts';
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import type { InventoryRow } from '../children/inventory.ts';
import type { Mailbox } from '../mailbox/mailboxes.ts';
import { clearDirty, dirtyWork, markDirty, type ScheduleWork } from '../work/dirty.ts';

export interface InventoryBelowPorts {
  readonly path: string;
  tableOf(source: string): Table | undefined;
  mailboxOf(child: string): Mailbox | undefined;
  /** Returns all replicas with the child's name that have a mailbox. */
  replicasOf(child: string): readonly string[];
  /** Called in the transaction that changes the inventory below a child relay. */
  changedBelow(t: Transaction, child: string): void;
}

/** Limit for the rows that one transaction sends on: about 10 ms of LMDB on one core. */
const rowsPerStep = 500;
const nul = Buffer.of(0);

/** Runs in the transaction that changes a row of a source of this node or of a node above. */
export function noteInventoryRow(t: Transaction, { key, before, after, originRevision }: AppliedChange): void {
  const oldPath = before && attributesOf<InventoryAttributes>(before).path;
  const newPath = after && attributesOf<InventoryAttributes>(after).path;
  if (oldPath !== undefined && oldPath !== newPath) t.remove(indexKey(oldPath, key));
  if (newPath !== undefined) t.put(indexKey(newPath, key), new Uint8Array(0));
  markDirty(t, 'inventory', key, oldPath === undefined ? [] : [oldPath], originRevision);
}

export class InventoryBelow {
  readonly #ports: InventoryBelowPorts;

  constructor(ports: InventoryBelowPorts) {
    this.#ports = ports;
  }

  /** Returns the rows for a child that is an agent, sorted by space and name. */
  rowsAt(reader: Reader, child: string): InventoryRow[] {
    const prefix = concat(prefixOf('inventoryAt'), text(childPath(this.#ports.path, child)), nul);
    return [...reader.scan(prefixRange(prefix))].flatMap(([at]) => {
      const key = asText(at.subarray(prefix.length));
      const body = this.#bodyOf(reader, key);
      return body ? [{ ...body, origin: key.slice(entryKey.inventory('', '').length - 1) }] : [];
    });
  }

  /** Returns the rows for the agents below a child that is a relay. */
  *rowsBelow(reader: Reader, child: string): Generator<InventoryBody> {
    const prefix = concat(prefixOf('inventoryAt'), text(`${childPath(this.#ports.path, child)}:`));
    for (const [at] of reader.scan(prefixRange(prefix))) {
      const tail = at.subarray(prefix.length);
      const key = asText(tail.subarray(tail.indexOf(0) + 1));
      const body = this.#bodyOf(reader, key);
      if (body) yield body;
    }
  }

  #bodyOf(reader: Reader, key: string): InventoryBody | undefined {
    const entry = parseEntryKey(key);
    const table = entry?.type === 'inventory' ? this.#ports.tableOf(entry.source) : undefined;
    const row = table?.get(reader, hash128(key));
    return table && row?.content
      ? (JSON.parse(asText(table.content(reader, row.content).body)) as InventoryBody)
      : undefined;
  }

  /** Call it when a relay has got a mailbox. Sends the rows for the subtree of the relay, which have waited for the mailbox. */
  relayAdded(t: Transaction, child: string): void {
    const prefix = concat(prefixOf('inventoryAt'), text(`${childPath(this.#ports.path, child)}:`));
    for (const [at] of t.scan(prefixRange(prefix))) {
      const tail = at.subarray(prefix.length);
      markDirty(t, 'inventory', asText(tail.subarray(tail.indexOf(0) + 1)));
    }
  }

  /**
   * Does one bounded piece of work. Returns true if more work may be left. It runs before placements are scheduled, because placements are matched with the
   * destinations of these rows.
   */
  step(t: Transaction): boolean {
    const work = dirtyWork(t, 'inventory', rowsPerStep);
    for (const item of work) {
      clearDirty(t, 'inventory', item.key);
      this.#row(t, item);
    }
    return work.length > 0;
  }

  #row(t: Transaction, { key, refs, originRevision }: ScheduleWork): void {
    const { path: ownPath, tableOf, mailboxOf, replicasOf } = this.#ports;
    const entry = parseEntryKey(key);
    if (entry?.type !== 'inventory') return;
    const keyHash = hash128(key);
    const table = tableOf(entry.source);
    const row = table?.get(t, keyHash);
    const path = table && row?.content && attributesOf<InventoryAttributes>(table.content(t, row.content)).path;
    const receiver = path === undefined ? undefined : childTowards(ownPath, path);
    for (const at of new Set([...refs, ...(path === undefined ? [] : [path])])) {
      const child = childTowards(ownPath, at);
      if (child === undefined) continue;
      if (at === childPath(ownPath, child)) markDirty(t, 'child', child);
      else this.#ports.changedBelow(t, child);
      for (const replica of replicasOf(child)) {
        const mailbox = mailboxOf(replica);
        if (mailbox?.role !== 'relay') continue;
        const reference =
          row?.content && child === receiver && path !== childPath(ownPath, child) ? row.content : undefined;
        const existing = mailbox.producer.get(t, keyHash);
        if (reference) mailbox.producer.putReference(t, keyHash, reference, row!.originRevision);
        else if (existing?.content)
          mailbox.producer.remove(t, keyHash, Math.max(originRevision, existing.originRevision));
      }
    }
  }
}

function indexKey(path: string, key: string): Uint8Array {
  return concat(prefixOf('inventoryAt'), text(path), nul, text(key));
}
