/**
 * The keep entry: a last hop that can't make an object for an agent sends a `k/` entry in place of the object's entry. The agent then keeps its own form of
 * the object. An entry of the object itself would need a body, and a relay that has lost its store has none.
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
