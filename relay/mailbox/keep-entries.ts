/**
 * Entries (`k/`) that make an agent keep its own form of an object. This node writes a keep entry when it can't make the object and has no earlier form of it.
 * Two cases: the agent is new, and has nothing to keep. Or this node has lost its store; then a reconciliation without the keep entry would delete the object
 * at the agent.
 */

import { keepObjectRule } from '../../core/entries/keep-object.ts';
import type { Producer } from '../../core/feed/feed.ts';
import { hash128 } from '../../core/object/hash.ts';
import { asText, concat, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import { removePrefix } from '../../core/store/remove-prefix.ts';
import type { Transaction } from '../../core/store/store.ts';

const nul = Buffer.of(0);
const empty = new Uint8Array(0);
/** Always 0: a keep entry has no content that could be older or newer. */
const originRevision = 0;

/** Writes the keep entry of an object. Returns false if the mailbox already has the object or the keep entry. `key` is the key of the object's entry. */
export function writeKeepEntry(t: Transaction, child: string, mailbox: Producer, key: string): boolean {
  const keyHash = hash128(key);
  const keepKey = keepObjectRule.keepEntryKeyOf(key);
  if (keepKey === undefined || mailbox.get(t, keyHash)?.content) return false;
  t.put(indexKey(child, keyHash), text(keepKey));
  return mailbox.put(t, { key: keepKey, attributes: text('{}'), body: empty }, originRevision);
}

/**
 * Removes the keep entry when no placement wants the object any more. Do not call it when this node was able to make the object after all: a large object may
 * arrive later than entries that were written after it, and the agent must not be without both in between. Beside the object, the keep entry has no effect.
 */
export function dropKeepEntry(t: Transaction, child: string, mailbox: Producer, keyHash: Uint8Array): boolean {
  const at = indexKey(child, keyHash);
  const keepKey = t.get(at);
  if (!keepKey) return false;
  t.remove(at);
  return mailbox.remove(t, hash128(asText(keepKey)), originRevision);
}

/** Call it when the child has left for good. */
export function forgetKeepEntries(t: Transaction, child: string): void {
  removePrefix(t, indexKey(child, empty));
}

function indexKey(child: string, keyHash: Uint8Array): Uint8Array {
  return concat(prefixOf('keepEntry'), text(child), nul, keyHash);
}
