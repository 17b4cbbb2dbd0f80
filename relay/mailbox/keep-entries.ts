/**
 * Objects that can't be made for an agent, of which this node has no former form either: the agent is told to keep its own (`k/` entries). This is so for
 * an agent that is new, and has nothing to keep, and after this node has lost its store, when a reconciliation would take the object away.
 */

import { keepObjectRule } from '../../core/entries/keep-object.ts';
import type { Producer } from '../../core/feed/feed.ts';
import { hash128 } from '../../core/object/hash.ts';
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Transaction } from '../../core/store/store.ts';

const nul = Buffer.of(0);
const empty = new Uint8Array(0);
/** The entry says nothing that could be older or newer. */
const originRevision = 0;

/** False when the mailbox has the object, or says so already. `key` is of the object's entry. */
export function writeKeepEntry(t: Transaction, child: string, mailbox: Producer, key: string): boolean {
  const keyHash = hash128(key);
  const keeper = keepObjectRule.keepEntryKeyOf(key);
  if (keeper === undefined || mailbox.get(t, keyHash)?.content) return false;
  t.put(indexKey(child, keyHash), text(keeper));
  return mailbox.put(t, { key: keeper, attributes: text('{}'), body: empty }, originRevision);
}

/**
 * The object is not wanted any more. Not to be called when it could be made: a large content may arrive after what was written later, and the agent must not
 * be without the object in between; beside an object the entry does nothing.
 */
export function dropKeepEntry(t: Transaction, child: string, mailbox: Producer, keyHash: Uint8Array): boolean {
  const at = indexKey(child, keyHash);
  const keeper = t.get(at);
  if (!keeper) return false;
  t.remove(at);
  return mailbox.remove(t, hash128(asText(keeper)), originRevision);
}

/** The child has left for good. */
export function forgetKeepEntries(t: Transaction, child: string): void {
  for (const [key] of [...t.scan(prefixRange(indexKey(child, empty)))]) t.remove(key);
}

function indexKey(child: string, keyHash: Uint8Array): Uint8Array {
  return concat(prefixOf('keepEntry'), text(child), nul, keyHash);
}
