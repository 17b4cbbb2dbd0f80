/**
 * The keep entry. If a last hop cannot make an object for an agent, it sends a `k/` entry in place of the object's entry. The agent then leaves the object as
 * it is. The last hop cannot send the object's own entry: that needs a body, and a relay that has lost its store has no earlier body.
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
