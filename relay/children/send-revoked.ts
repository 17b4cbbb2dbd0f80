/** Brings the revocations of users and nodes down the tree: those of nodes above, and those of this node, in one entry for each child. */
import type { Revocations, Revoked } from '../../core/access/revocations.ts';
import type { RevokedAttributes } from '../../core/entries/down-attributes.ts';
import { entryKey } from '../../core/entries/entry-keys.ts';
import type { Producer } from '../../core/feed/feed.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { text } from '../../core/store/bytes.ts';
import type { Transaction } from '../../core/store/store.ts';

/** The attributes of the entry. All children of a node get the same object until a revocation changes, so one encoding serves all of them. */
const encoded = new WeakMap<Revoked, Uint8Array>();

function attributesOf(revoked: Revoked): Uint8Array {
  const known = encoded.get(revoked);
  if (known) return known;
  const { users, nodes } = revoked;
  const attributes: RevokedAttributes = isEmpty(nodes) ? { users } : { users, nodes };
  const bytes = text(stableStringify(attributes));
  encoded.set(revoked, bytes);
  return bytes;
}

/** A tree without revocations has no such entry. After the last revocation is deleted, the entry goes. */
export function sendRevoked(t: Transaction, mailbox: Producer, revocations: Pick<Revocations, 'all'>): void {
  const revoked = revocations.all();
  const key = entryKey.revoked();
  if (isEmpty(revoked.users) && isEmpty(revoked.nodes)) return void mailbox.remove(t, hash128(key), 0);
  mailbox.put(t, { key, attributes: attributesOf(revoked), body: new Uint8Array(0) }, 0);
}

function isEmpty(record: Readonly<Record<string, number>>): boolean {
  return Object.keys(record).length === 0;
}
