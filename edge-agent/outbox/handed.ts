/**
 * Reports to every parent which releases were handed to the agent. The report is written in the transaction that stores the parent's entry. So every later
 * parent receives the report.
 */

import { entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { AppliedChange, Producer } from '../../core/feed/feed.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { Transaction } from '../../core/store/store.ts';

export function reportHandedReleases(t: Transaction, outbox: Producer, changes: readonly AppliedChange[]): void {
  for (const { key, after } of changes) {
    const entry = parseEntryKey(key);
    if (entry?.type !== 'handed') continue;
    const of = entryKey.has(entry.id);
    if (after) outbox.put(t, { ...after, key: of }, 0);
    else outbox.remove(t, hash128(of), 0);
  }
}
