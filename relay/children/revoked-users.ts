/** Brings the revocations of users down the tree: those of nodes above, and those of this node, in one entry for each child. */
import type { Revocations, RevokedUsers } from '../../core/access/revocations.ts';
import type { RevokedUsersAttributes } from '../../core/entries/down-attributes.ts';
import { entryKey } from '../../core/entries/entry-keys.ts';
import type { Producer } from '../../core/feed/feed.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { text } from '../../core/store/bytes.ts';
import type { Transaction } from '../../core/store/store.ts';

/** The attributes of the entry. All children of a node get the same object of users until a revocation changes, so one encoding serves all of them. */
const encoded = new WeakMap<RevokedUsers, Uint8Array>();

function attributesOf(users: RevokedUsers): Uint8Array {
  const known = encoded.get(users);
  if (known) return known;
  const attributes = text(stableStringify({ users } satisfies RevokedUsersAttributes));
  encoded.set(users, attributes);
  return attributes;
}

/** A tree without revocations has no such entry. After the last revocation is deleted, the entry goes. */
export function sendRevokedUsers(t: Transaction, mailbox: Producer, revocations: Pick<Revocations, 'all'>): void {
  const users = revocations.all();
  const key = entryKey.revoked();
  if (Object.keys(users).length === 0) return void mailbox.remove(t, hash128(key), 0);
  mailbox.put(t, { key, attributes: attributesOf(users), body: new Uint8Array(0) }, 0);
}
