/** The entry with the revoked users and nodes, as a node has it from its parent. */

import type { Revoked } from '../access/revocations.ts';
import { entryContent } from '../feed/entry-content.ts';
import type { Table } from '../feed/feed.ts';
import type { Reader } from '../store/store.ts';
import type { RevokedAttributes } from './down-attributes.ts';
import { attributesOf, entryKey } from './entry-keys.ts';

/** `table`: the entries from the parent. */
export function revokedAbove(reader: Reader, table: Table): Revoked {
  const content = entryContent(reader, table, entryKey.revoked());
  const { users = {}, nodes = {} } = content ? attributesOf<Partial<RevokedAttributes>>(content) : {};
  return { users, nodes };
}
