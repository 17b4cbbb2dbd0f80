/** The children that have a mailbox, in the store. A start reads them before it opens the tables. */
import type { ChildRole } from '../../core/entries/entry-kind.ts';
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';

interface StoredChild {
  readonly role: ChildRole;
  /** True: the child was removed for good, and the scheduler has not dropped its mailbox yet. */
  readonly leaving?: true;
}

export function storedChildren(reader: Reader): ({ name: string } & StoredChild)[] {
  const prefix = prefixOf('child');
  return [...reader.scan(prefixRange(prefix))].map(([key, value]) => ({
    name: asText(key.subarray(prefix.length)),
    ...(JSON.parse(asText(value)) as StoredChild),
  }));
}

export function storeChild(t: Transaction, name: string, child: StoredChild): void {
  t.put(concat(prefixOf('child'), text(name)), text(JSON.stringify(child)));
}

export function forgetChild(t: Transaction, name: string): void {
  t.remove(concat(prefixOf('child'), text(name)));
}
