/** Which entries may go ahead of one whose large content is still on its way in pieces. */
import { parseEntryKey } from './entry-keys.ts';

/** Without these on a cluster, others can't be applied: nothing overtakes them. */
const awaited: ReadonlySet<string> = new Set(['namespaces', 'customresourcedefinitions']);

/**
 * Objects overtake objects, and reported states reported states: each stands for itself. All else keeps its place, since it says something of what
 * came before: a target that it is complete, a partial that it is counted.
 */
export function mayOvertake(key: string, owedKey: string): boolean {
  const entry = parseEntryKey(key);
  const owed = parseEntryKey(owedKey);
  if (!entry || !owed || entry.type !== owed.type) return false;
  if (entry.type === 'state' || entry.type === 'associated') return true;
  return entry.type === 'object' && owed.type === 'object' && !awaited.has(owed.object.resource);
}
