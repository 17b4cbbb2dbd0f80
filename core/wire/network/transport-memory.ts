/** Stores the name of the transport that most recently reached the parent, in the node's store. */
import { asText, text } from '../../store/bytes.ts';
import { prefixOf } from '../../store/keyspace.ts';
import type { Store } from '../../store/store.ts';
import type { TransportMemory } from './auto-dialer.ts';

export function storedTransport(store: Store): TransportMemory {
  const key = prefixOf('transport');
  return {
    read() {
      const kept = store.read((reader) => reader.get(key));
      return kept && asText(kept);
    },
    keep(transport) {
      store.write((t) => t.put(key, text(transport)));
    },
  };
}
