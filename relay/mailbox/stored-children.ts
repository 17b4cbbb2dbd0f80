/** The children that have a mailbox, in the store. A start reads them before it opens the tables. */
import type { ChildRole } from '../../core/entries/entry-kind.ts';
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';

export function storedChildren(reader: Reader): { name: string; role: ChildRole }[] {
  const prefix = prefixOf('child');
  return [...reader.scan(prefixRange(prefix))].map(([key, value]) => ({
    name: asText(key.subarray(prefix.length)),
    role: (JSON.parse(asText(value)) as { role: ChildRole }).role,
  }));
}

export function storeChild(t: Transaction, name: string, role: ChildRole): void {
  t.put(concat(prefixOf('child'), text(name)), text(JSON.stringify({ role })));
}

export function forgetChild(t: Transaction, name: string): void {
  t.remove(concat(prefixOf('child'), text(name)));
}
