/** Which entries may overtake an entry whose large content is still on its way in pieces. */
import { parseEntryKey } from './entry-keys.ts';
import { kindOf } from './entry-lookup.ts';

/** Other objects can't be applied before these are on the cluster, so nothing overtakes them. */
const awaited: ReadonlySet<string> = new Set(['namespaces', 'customresourcedefinitions']);

/**
 * Entries that are complete by themselves overtake others of their kind. All other entries keep their place, since they make a statement about earlier
 * entries: a target states that the placement's objects are complete, a partial that a state is counted.
 */
export function mayOvertake(key: string, owedKey: string): boolean {
  const entry = parseEntryKey(key);
  const owed = parseEntryKey(owedKey);
  if (!entry || !owed || entry.type !== owed.type || kindOf(entry.type).overtakes !== true) return false;
  return !(owed.type === 'object' && awaited.has(owed.object.resource));
}
