/**
 * A node that has moved to another place in the tree, with its store. The path is in the reports of the node: the new parent would take reports with the former
 * path for reports about another subtree, and would end the session.
 */
import { parseEntryKey } from '../entries/entry-keys.ts';
import type { Producer } from '../feed/feed.ts';
import { isAtOrBelow } from '../identity/node-path.ts';
import { asText, text } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Transaction } from '../store/store.ts';

/** Call it at each start, before the first session. Returns the path of the last start, if it was another one; then the outbox has no report with this path. */
export function leaveFormerPath(t: Transaction, path: string, outbox: Producer): string | undefined {
  const bytes = t.get(prefixOf('ownPath'));
  t.put(prefixOf('ownPath'), text(path));
  const former = bytes && asText(bytes);
  if (former === undefined || former === path) return undefined;
  for (const row of [...outbox.rows(t)]) {
    const entry = row.content && parseEntryKey(outbox.content(t, row.content).key);
    if (entry && 'path' in entry && !isAtOrBelow(entry.path, path)) outbox.remove(t, row.keyHash, row.originRevision);
  }
  return former;
}
