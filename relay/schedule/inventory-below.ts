/**
 * Inventory of spaces here and above, on its way to the agents that it names. Each row goes to one child: the one that is the first name of what is
 * left of its path. A relay gets it by reference; where the path ends, it is the inventory of an agent, found by an index of paths.
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
  /** All that share the child's name and have a mailbox. */
  replicasOf(child: string): readonly string[];
}

/** Rows handed on in one transaction: some 10 ms of LMDB on one core. */
const rowsPerStep = 500;
const nul = Buffer.of(0);

/** In the transaction that changes a row of a source, of this node or above. */
export function noteInventoryRow(t: Transaction, { key, before, after, originRevision }: AppliedChange): void {
  const had = before && attributesOf<InventoryAttributes>(before).path;
  const has = after && attributesOf<InventoryAttributes>(after).path;
  if (had !== undefined && had !== has) t.remove(indexKey(had, key));
  if (has !== undefined) t.put(indexKey(has, key), new Uint8Array(0));
  markDirty(t, 'inventory', key, had === undefined ? [] : [had], originRevision);
}

export class InventoryBelow {
  readonly #ports: InventoryBelowPorts;

  constructor(ports: InventoryBelowPorts) {
    this.#ports = ports;
  }

  /** What stands for a child that is an agent, in the order of spaces and names. */
  rowsAt(reader: Reader, child: string): InventoryRow[] {
    const { path, tableOf } = this.#ports;
    const prefix = concat(prefixOf('inventoryAt'), text(childPath(path, child)), nul);
    return [...reader.scan(prefixRange(prefix))].flatMap(([at]) => {
      const key = asText(at.subarray(prefix.length));
      const entry = parseEntryKey(key);
      const table = entry?.type === 'inventory' ? tableOf(entry.source) : undefined;
      const row = table?.get(reader, hash128(key));
      if (!table || !row?.content) return [];
      const body = JSON.parse(asText(table.content(reader, row.content).body)) as InventoryBody;
      return [{ ...body, origin: key.slice(entryKey.inventory('', '').length - 1) }];
    });
  }

  /** A relay has a mailbox from now on: what lies below it has waited for that. */
  relayCame(t: Transaction, child: string): void {
    const prefix = concat(prefixOf('inventoryAt'), text(`${childPath(this.#ports.path, child)}:`));
    for (const [at] of t.scan(prefixRange(prefix))) {
      const tail = at.subarray(prefix.length);
      markDirty(t, 'inventory', asText(tail.subarray(tail.indexOf(0) + 1)));
    }
  }

  /** One bounded piece of work; true if more is left. It comes before placements are scheduled: they are matched with what it brings. */
  step(t: Transaction): boolean {
    const work = dirtyWork(t, 'inventory', rowsPerStep);
    for (const item of work) {
      clearDirty(t, 'inventory', item.key);
      this.#row(t, item);
    }
    return work.length > 0;
  }

  #row(t: Transaction, { key, refs, originRevision }: ScheduleWork): void {
    const { path: own, tableOf, mailboxOf, replicasOf } = this.#ports;
    const entry = parseEntryKey(key);
    if (entry?.type !== 'inventory') return;
    const keyHash = hash128(key);
    const table = tableOf(entry.source);
    const row = table?.get(t, keyHash);
    const path = table && row?.content && attributesOf<InventoryAttributes>(table.content(t, row.content)).path;
    const to = path === undefined ? undefined : childTowards(own, path);
    for (const at of new Set([...refs, ...(path === undefined ? [] : [path])])) {
      const child = childTowards(own, at);
      if (child === undefined) continue;
      if (at === childPath(own, child)) markDirty(t, 'child', child);
      for (const replica of replicasOf(child)) {
        const mailbox = mailboxOf(replica);
        if (mailbox?.role !== 'relay') continue;
        const has = row?.content && child === to && path !== childPath(own, child) ? row.content : undefined;
        const known = mailbox.producer.get(t, keyHash);
        if (has) mailbox.producer.putReference(t, keyHash, has, row!.originRevision);
        else if (known?.content) mailbox.producer.remove(t, keyHash, Math.max(originRevision, known.originRevision));
      }
    }
  }
}

function indexKey(path: string, key: string): Uint8Array {
  return concat(prefixOf('inventoryAt'), text(path), nul, text(key));
}
