/** Decides which work a change of a source's rows causes. */

import type { RefsAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, type EntryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import { placementId } from '../../core/entries/placement-id.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import type { Transaction } from '../../core/store/store.ts';
import { forgetSelected, storePlacement, storeSelected } from '../placements/placements.ts';
import { noteDigest } from '../promoted/digest.ts';
import { noteHeld } from '../promoted/held-back.ts';
import { noteHeldCustomizer } from '../promoted/held-customizers.ts';
import { markDirty } from '../work/dirty.ts';
import { objectRowTopic } from '../work/topics.ts';
import { noteInventoryRow } from './inventory-below.ts';

/** Marks the work that a change of a source's row causes. Runs in the transaction of the change. */
export function noteSourceChange(t: Transaction, change: AppliedChange): void {
  const entry = parseEntryKey(change.key);
  if (entry?.type === 'placement') {
    if (change.after) storePlacement(t, entry.id);
    markDirty(t, 'placement', entry.id, [], change.originRevision);
  } else if (entry?.type === 'rules') {
    markDirty(t, 'placement', entry.id, [], change.originRevision);
  } else if (entry?.type === 'target') {
    markDirty(t, 'target', entry.id);
  } else if (entry?.type === 'grant') {
    markDirty(t, 'move', entry.id);
  } else if (entry?.type === 'inventory') {
    noteInventoryRow(t, change);
  } else if (isDownRow(entry)) {
    const before = change.before ? attributesOf<RefsAttributes>(change.before).refs : [];
    const after = change.after ? attributesOf<RefsAttributes>(change.after).refs : [];
    for (const name of after) {
      if (!before.includes(name)) storeSelected(t, placementId(entry.source, name), change.keyHash);
    }
    for (const name of before) {
      if (!after.includes(name)) forgetSelected(t, placementId(entry.source, name), change.keyHash);
    }
    if (entry.type === 'object') t.announce(objectRowTopic, change.key);
    markDirty(t, entry.type === 'object' ? 'row' : 'auxiliary', change.key, before, change.originRevision);
    noteHeld(t, change);
    noteHeldCustomizer(t, change);
    const ids = (names: readonly string[]) => names.map((name) => placementId(entry.source, name));
    noteDigest(t, change, ids(before), ids(after));
  }
}

const downRows = ['object', 'auxiliary', 'promoted', 'promotedCustomizer', 'release'] as const;

/** Rows that go to each child that has one of the placements in their `refs`. */
function isDownRow(entry: EntryKey | undefined): entry is EntryKey & { readonly type: (typeof downRows)[number] } {
  return downRows.some((type) => type === entry?.type);
}
