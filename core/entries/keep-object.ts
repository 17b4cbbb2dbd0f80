/**
 * How a last hop that can't make an object for an agent says that the agent is to keep what it has of it: by a `k/` entry in the place of the object's.
 * An entry of the object itself would have to have a body, and a relay that has lost its store has none.
 */
import type { KeepRule } from '../feed/consumer.ts';
import { entryKey, parseEntryKey } from './entry-keys.ts';

export const keepObjectRule: KeepRule = {
  keepEntryKeyOf(key) {
    const entry = parseEntryKey(key);
    return entry?.type === 'object' ? entryKey.keep(entry.source, entry.object) : undefined;
  },
  keptBy(key) {
    const entry = parseEntryKey(key);
    return entry?.type === 'keep' ? entryKey.object(entry.source, entry.object) : undefined;
  },
};
