/** The entry with the revoked users and nodes, as a node has it from its parent. */
import type { Revoked } from '../access/revocations.ts';
import type { Table } from '../feed/feed.ts';
import { hash128 } from '../object/hash.ts';
import type { Reader } from '../store/store.ts';
import type { RevokedAttributes } from './down-attributes.ts';
import { attributesOf, entryKey } from './entry-keys.ts';

/** `table`: the entries from the parent. */
export function revokedAbove(reader: Reader, table: Table): Revoked {
  const row = table.get(reader, hash128(entryKey.revoked()));
  const content = row?.content && table.content(reader, row.content);
  const { users = {}, nodes = {} } = content ? attributesOf<Partial<RevokedAttributes>>(content) : {};
  return { users, nodes };
}
