/** The entry with the authorities of nodes, as a node has it from its parent. */
import { entryContent } from '../feed/entry-content.ts';
import type { Table } from '../feed/feed.ts';
import type { Reader } from '../store/store.ts';
import type { AuthoritiesAttributes } from './down-attributes.ts';
import { attributesOf, entryKey } from './entry-keys.ts';

/** `table`: the entries from the parent. Undefined: the parent has handed none down. */
export function authoritiesAbove(reader: Reader, table: Table): AuthoritiesAttributes | undefined {
  const content = entryContent(reader, table, entryKey.authorities());
  return content ? attributesOf<AuthoritiesAttributes>(content) : undefined;
}
