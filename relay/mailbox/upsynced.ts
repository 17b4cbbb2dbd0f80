/**
 * Objects born at the edge as they pass a node: handed on towards the node that has the source, if their rules ask for it, and found again
 * by the path of their cluster. Both in the transaction that brings them.
 */
import type { AppliedChange, Content, Producer, Table } from '../../core/feed/feed.ts';
import { hashBytes } from '../../core/object/hash.ts';
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { parseEntryKey, type UpsyncedAttributes } from '../../core/wire/entries.ts';

export interface UpsyncedPorts {
  readonly outbox: Producer;
  reportedOf(child: string): Table | undefined;
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
    else t.remove(at);
    const before = ports.outbox.get(t, keyHash);
    const newest = Math.max(originRevision, before?.originRevision ?? 0);
    const row = ports.reportedOf(child)?.get(t, keyHash);
    if (after && row?.content && goesOn(after) && !ports.isOwn(entry.source)) {
      ports.outbox.putReference(t, keyHash, row.content, newest);
    } else {
      ports.outbox.remove(t, keyHash, newest);
    }
  }
}

/** A child has left for good: what came from it or from below goes with it. */
export function dropUpsynced(t: Transaction, outbox: Producer, path: string): void {
  for (const prefix of [
    concat(prefixOf('upsynced'), text(path), nul),
    concat(prefixOf('upsynced'), text(`${path}:`)),
  ]) {
    for (const [at] of [...t.scan(prefixRange(prefix))]) {
      const keyHash = at.subarray(at.length - hashBytes);
      outbox.remove(t, keyHash, outbox.get(t, keyHash)?.originRevision ?? 0);
      t.remove(at);
    }
  }
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
