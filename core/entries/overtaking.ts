/** Which entries may overtake an entry whose large content is still on its way in pieces. */
import { parseEntryKey } from './entry-keys.ts';
import { kindOf } from './entry-lookup.ts';

/** No entry may overtake objects of these kinds: the cluster needs them before it accepts other objects. */
const awaited: ReadonlySet<string> = new Set(['namespaces', 'customresourcedefinitions']);

/**
 * Whether the entry of `key` may go ahead of the entry of `owedKey`. Only entries that mean the same without earlier entries may do this, and only ahead of
 * their own kind. All other entries say something about earlier entries, so they must stay behind them: a target says that all objects of the placement
 * were sent; a partial says that a state was counted.
 */
export function mayOvertake(key: string, owedKey: string): boolean {
  const entry = parseEntryKey(key);
  const owed = parseEntryKey(owedKey);
  if (!entry || !owed || entry.type !== owed.type || kindOf(entry.type).overtakes !== true) return false;
  return !(owed.type === 'object' && awaited.has(owed.object.resource));
}
