/** The entries with revoked users and nodes, as a node has them from its parent and from replicas below. */

import type { Revoked } from '../access/revocations.ts';
import { entryContent } from '../feed/entry-content.ts';
import type { Table } from '../feed/feed.ts';
import type { Reader } from '../store/store.ts';
import type { RevokedAttributes } from './down-attributes.ts';
import { attributesOf, entryKey } from './entry-keys.ts';

/** `table`: the entries from the parent. */
export function revokedAbove(reader: Reader, table: Table): Revoked {
  return revokedIn(reader, table, entryKey.revoked());
}

/** The users and nodes that a replica directly below has revoked itself. `table`: its reports. */
export function revokedByReplica(reader: Reader, table: Table): Revoked {
  return revokedIn(reader, table, entryKey.ownRevoked());
}

function revokedIn(reader: Reader, table: Table, key: string): Revoked {
  const content = entryContent(reader, table, key);
  const { users = {}, nodes = {} } = content ? attributesOf<Partial<RevokedAttributes>>(content) : {};
  return { users, nodes };
}
