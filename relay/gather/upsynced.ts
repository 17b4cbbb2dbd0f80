/**
 * Passes on the reports about objects that were created at an edge cluster (upsynced objects). If the rule of the object asks for it, the report goes on
 * towards the node that has the source. The node also keeps an index of the reports by the path of their cluster. Both happen in the transaction that applies
 * the report.
 */

import { parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { UpsyncedAttributes } from '../../core/entries/up-attributes.ts';
import type { AppliedChange, Content, Producer, Table } from '../../core/feed/feed.ts';
import { hashBytes } from '../../core/object/hash.ts';
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { type Replicas, withoutReplicas } from '../replicas/replicas.ts';

export interface UpsyncedPorts {
  readonly outbox: Producer;
  reportedOf(child: string): Table | undefined;
  /** Absent: no relay has replicas. */
  readonly replicas?: Replicas;
  /** Returns whether the source is a space of this node. Reports for such a source end here. */
  isOwn(source: string): boolean;
}

const nul = Buffer.of(0);

/** Runs in the transaction that applies a report of the child. */
export function passUpsynced(
  t: Transaction,
  ports: UpsyncedPorts,
  child: string,
  changes: readonly AppliedChange[],
): void {
  for (const { key, keyHash, originRevision, after } of changes) {
    const entry = parseEntryKey(key);
    if (entry?.type !== 'upsynced') continue;
    const indexKey = rowKey(entry.path, keyHash);
    if (after) t.put(indexKey, new Uint8Array(0));
    else if (reportersOf(ports, child).every((reporter) => !ports.reportedOf(reporter)?.get(t, keyHash)?.content))
      t.remove(indexKey);
    if (!ports.isOwn(entry.source)) passOn(t, ports, child, keyHash, originRevision);
  }
}

/**
 * Runs when this node starts or stops counting the child, whose path is `path`. Decides again, for each object that was created at or below the child,
 * whether its report goes on.
 */
export function recountUpsynced(t: Transaction, ports: UpsyncedPorts, child: string, path: string): void {
  for (const indexKey of rowsBelow(t, path)) {
    const keyHash = indexKey.subarray(indexKey.length - hashBytes);
    const row = ports.reportedOf(child)?.get(t, keyHash);
    const content = row?.content && ports.reportedOf(child)?.content(t, row.content);
    const entry = content && parseEntryKey(content.key);
    if (entry?.type === 'upsynced' && !ports.isOwn(entry.source)) passOn(t, ports, child, keyHash, row!.originRevision);
  }
}

/**
 * Several replicas may have reported the same object, because the cluster's agent went from one replica to another. Passes on the report of a replica that this
 * node counts.
 */
function passOn(
  t: Transaction,
  ports: UpsyncedPorts,
  child: string,
  keyHash: Uint8Array,
  originRevision: number,
): void {
  const { outbox, replicas = withoutReplicas } = ports;
  const newest = Math.max(originRevision, outbox.get(t, keyHash)?.originRevision ?? 0);
  for (const reporter of reportersOf(ports, child)) {
    const table = ports.reportedOf(reporter);
    const row = replicas.standing(reporter).counts ? table?.get(t, keyHash) : undefined;
    if (!table || !row?.content || !mayGoOn(table.content(t, row.content))) continue;
    outbox.putReference(t, keyHash, row.content, newest);
    return;
  }
  outbox.remove(t, keyHash, newest);
}

/** Returns the children that may have reported the same objects: the child itself first, then the other replicas of its group. */
function reportersOf({ replicas = withoutReplicas }: UpsyncedPorts, child: string): string[] {
  return [...new Set([child, ...replicas.members(child)])];
}

/** Runs when the child at `path` has left for good. Removes all reports from the child and from the nodes below it. */
export function dropUpsynced(t: Transaction, outbox: Producer, path: string): void {
  for (const indexKey of rowsBelow(t, path)) {
    const keyHash = indexKey.subarray(indexKey.length - hashBytes);
    outbox.remove(t, keyHash, outbox.get(t, keyHash)?.originRevision ?? 0);
    t.remove(indexKey);
  }
}

/** Returns the index keys of the reports from the node at the path and from all nodes below it. */
function rowsBelow(reader: Reader, path: string): Uint8Array[] {
  const prefixes = [concat(prefixOf('upsynced'), text(path), nul), concat(prefixOf('upsynced'), text(`${path}:`))];
  return prefixes.flatMap((prefix) => [...reader.scan(prefixRange(prefix))].map(([indexKey]) => indexKey));
}

/** Returns the key hashes of the reports about objects that were created at the cluster at `path`. */
export function* upsyncedOf(reader: Reader, path: string): Generator<Uint8Array> {
  const prefix = concat(prefixOf('upsynced'), text(path), nul);
  for (const [key] of reader.scan(prefixRange(prefix))) yield key.subarray(prefix.length);
}

function mayGoOn(content: Content): boolean {
  return (JSON.parse(asText(content.attributes)) as UpsyncedAttributes).returnTo === 'Center';
}

function rowKey(path: string, keyHash: Uint8Array): Uint8Array {
  return concat(prefixOf('upsynced'), text(path), nul, keyHash);
}
