/** Removes a family of records. */
import { prefixRange } from './bytes.ts';
import type { Transaction } from './store.ts';

/** Removes all keys that begin with the prefix. Reads them all before the first removal, so call it only for records of a bounded number. */
export function removePrefix(t: Transaction, prefix: Uint8Array): void {
  for (const [key] of [...t.scan(prefixRange(prefix))]) t.remove(key);
}
