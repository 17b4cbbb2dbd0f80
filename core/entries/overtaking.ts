/** Which entries may go ahead of one whose large content is still on its way in pieces. */
import { parseEntryKey } from './entry-keys.ts';
import { kindOf } from './entry-lookup.ts';

/** Without these on a cluster, others can't be applied: nothing overtakes them. */
const awaited: ReadonlySet<string> = new Set(['namespaces', 'customresourcedefinitions']);

/**
 * Entries of kinds that stand for themselves overtake others of their kind. All other entries keep their place, since they say something of what came before:
 * a target that it is complete, a partial that it is counted.
 */
export function mayOvertake(key: string, owedKey: string): boolean {
  const entry = parseEntryKey(key);
  const owed = parseEntryKey(owedKey);
  if (!entry || !owed || entry.type !== owed.type || kindOf(entry.type).overtakes !== true) return false;
  return !(owed.type === 'object' && awaited.has(owed.object.resource));
}
