/**
 * Exact state for a placement that matches one destination in all and asks for it: each node on the way whose own total is
 * one hands the objects' statuses up, the origin writes them into the objects. Decided locally at every level, so a second destination anywhere takes it back.
 */
import type { Producer, Table } from '../../core/feed/feed.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import { text } from '../../core/store/bytes.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { parseEntryKey, stateKey, statusKey } from '../../core/wire/entries.ts';
import type { Child } from '../schedule/children.ts';
import { type Placement, selectedObjects } from '../schedule/placements.ts';

export interface SingletonPorts {
  readonly children: ReadonlyMap<string, Child>;
  tableOf(source: string): Table | undefined;
  reportedOf(child: string): Table | undefined;
}

/** The objects of a placement with the status that its only destination reports; an absent status is not known (any more). */
export function singletonStatuses(
  reader: Reader,
  ports: SingletonPorts,
  placement: Placement,
  isSingle: boolean,
): { object: ObjectKey; status?: Uint8Array }[] {
  const table = ports.tableOf(placement.source);
  const reported = isSingle ? reportingChild(ports, placement) : undefined;
  const statuses: { object: ObjectKey; status?: Uint8Array }[] = [];
  for (const keyHash of selectedObjects(reader, placement.id)) {
    const row = table?.get(reader, keyHash);
    const entry = row?.content && table && parseEntryKey(table.content(reader, row.content).key);
    if (entry?.type !== 'object') continue;
    const key =
      reported?.role === 'relay' ? statusKey(placement.id, entry.object) : stateKey(placement.source, entry.object);
    const state = reported?.table.get(reader, hash128(key));
    const status = state?.content && reported?.table.content(reader, state.content).body;
    statuses.push({ object: entry.object, ...(status && status.length > 0 ? { status } : {}) });
  }
  return statuses;
}

/** Puts the statuses into the outbox, or takes them out where they are not known. Returns whether anything changed. */
export function forwardStatuses(
  t: Transaction,
  outbox: Producer,
  placement: Placement,
  statuses: readonly { object: ObjectKey; status?: Uint8Array }[],
): boolean {
  let changed = false;
  for (const { object, status } of statuses) {
    const key = statusKey(placement.id, object);
    const attributes = text(stableStringify({ target: placement.target?.target ?? 0 }));
    const done = status ? outbox.put(t, { key, attributes, body: status }, 0) : outbox.remove(t, hash128(key), 0);
    changed = done || changed;
  }
  return changed;
}

function reportingChild(ports: SingletonPorts, placement: Placement) {
  for (const name of placement.children) {
    const table = ports.reportedOf(name);
    const child = ports.children.get(name);
    if (table && child) return { role: child.role, table };
  }
  return undefined;
}
