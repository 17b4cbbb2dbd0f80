/**
 * Objects born at the edge as they pass a node: handed on towards the node that has the source, if their rules ask for it, and found again
 * by the path of their cluster. Both in the transaction that brings them.
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
  /** A space of this node: its objects have arrived. */
  isOwn(source: string): boolean;
}

const nul = Buffer.of(0);

/** In the transaction that applies what a child said. */
export function passUpsynced(
  t: Transaction,
  ports: UpsyncedPorts,
  child: string,
  changes: readonly AppliedChange[],
): void {
  for (const { key, keyHash, originRevision, after } of changes) {
    const entry = parseEntryKey(key);
    if (entry?.type !== 'upsynced') continue;
    const at = rowKey(entry.path, keyHash);
    if (after) t.put(at, new Uint8Array(0));
    else if (holdersOf(ports, child).every((holder) => !ports.reportedOf(holder)?.get(t, keyHash)?.content))
      t.remove(at);
    if (!ports.isOwn(entry.source)) handOn(t, ports, child, keyHash, originRevision);
  }
}

/** What the child tells counts from now on, or does no more: the same for all that is here of it and from below it. */
export function recountUpsynced(t: Transaction, ports: UpsyncedPorts, child: string, path: string): void {
  for (const at of rowsBelow(t, path)) {
    const keyHash = at.subarray(at.length - hashBytes);
    const row = ports.reportedOf(child)?.get(t, keyHash);
    const content = row?.content && ports.reportedOf(child)?.content(t, row.content);
    const entry = content && parseEntryKey(content.key);
    if (entry?.type === 'upsynced' && !ports.isOwn(entry.source)) handOn(t, ports, child, keyHash, row!.originRevision);
  }
}

/** Siblings may both have told of it, one before the child went to the other: that of one that counts goes on. */
function handOn(
  t: Transaction,
  ports: UpsyncedPorts,
  child: string,
  keyHash: Uint8Array,
  originRevision: number,
): void {
  const { outbox, replicas = withoutReplicas } = ports;
  const newest = Math.max(originRevision, outbox.get(t, keyHash)?.originRevision ?? 0);
  for (const holder of holdersOf(ports, child)) {
    const table = ports.reportedOf(holder);
    const row = replicas.standing(holder).counts ? table?.get(t, keyHash) : undefined;
    if (!table || !row?.content || !goesOn(table.content(t, row.content))) continue;
    outbox.putReference(t, keyHash, row.content, newest);
    return;
  }
  outbox.remove(t, keyHash, newest);
}

/** The child itself first. */
function holdersOf({ replicas = withoutReplicas }: UpsyncedPorts, child: string): string[] {
  return [...new Set([child, ...replicas.members(child)])];
}

/** A child has left for good: what came from it or from below goes with it. */
export function dropUpsynced(t: Transaction, outbox: Producer, path: string): void {
  for (const at of rowsBelow(t, path)) {
    const keyHash = at.subarray(at.length - hashBytes);
    outbox.remove(t, keyHash, outbox.get(t, keyHash)?.originRevision ?? 0);
    t.remove(at);
  }
}

/** Of the node at the path, and of those below it. */
function rowsBelow(reader: Reader, path: string): Uint8Array[] {
  const prefixes = [concat(prefixOf('upsynced'), text(path), nul), concat(prefixOf('upsynced'), text(`${path}:`))];
  return prefixes.flatMap((prefix) => [...reader.scan(prefixRange(prefix))].map(([at]) => at));
}

/** Key hashes of what is here of one cluster. */
export function* upsyncedOf(reader: Reader, path: string): Generator<Uint8Array> {
  const prefix = concat(prefixOf('upsynced'), text(path), nul);
  for (const [key] of reader.scan(prefixRange(prefix))) yield key.subarray(prefix.length);
}

function goesOn(content: Content): boolean {
  return (JSON.parse(asText(content.attributes)) as UpsyncedAttributes).returnTo === 'Center';
}

function rowKey(path: string, keyHash: Uint8Array): Uint8Array {
  return concat(prefixOf('upsynced'), text(path), nul, keyHash);
}
