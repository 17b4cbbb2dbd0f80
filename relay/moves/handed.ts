/**
 * Returns the target that this node sent an agent last for a placement. During a release, it may be older than the placement's present target. An older copy
 * counts as available too, if the mailbox has any object of the placement. An agent to which nothing was sent has no copy that could be available.
 */

import type { TargetAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { Producer } from '../../core/feed/feed.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { Reader } from '../../core/store/store.ts';
import type { Placement } from '../placements/placement.ts';
import { selectedObjects } from '../placements/placements.ts';

export function handedTarget(reader: Reader, mailbox: Producer, placement: Placement): TargetAttributes | undefined {
  const row = mailbox.get(reader, hash128(entryKey.target(placement.id)));
  if (!row?.content) return undefined;
  const target = attributesOf<TargetAttributes>(mailbox.content(reader, row.content));
  return target.target === placement.target?.target || hasObjects(reader, mailbox, placement) ? target : undefined;
}

/** Usually the first object is in the mailbox already. A Namespace does not count, because it runs nothing. */
function hasObjects(reader: Reader, mailbox: Producer, placement: Placement): boolean {
  for (const keyHash of selectedObjects(reader, placement.id)) {
    const row = mailbox.get(reader, keyHash);
    const entry = row?.content && parseEntryKey(mailbox.content(reader, row.content).key);
    if (entry?.type === 'object' && entry.object.resource !== 'namespaces') return true;
  }
  return false;
}
