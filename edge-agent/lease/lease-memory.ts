/** The id of an agent's store, and whether an agent with this store was active by a Lease. Needed because several stores may belong to one identity. */
import type { Random } from '../../core/runtime/random.ts';
import { asText, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Store } from '../../core/store/store.ts';

export interface LeaseMemory {
  /** The id of the store. The store gets it once. */
  readonly store: string;
  /** True: an agent that was active by a Lease has used this store. */
  readonly leased: boolean;
}

/** Reads the values, and makes them in a new store. They are durable after the store's next flush. */
export function openLeaseMemory(store: Store, random: Random): LeaseMemory {
  return store.write((t) => {
    const bytes = t.get(prefixOf('leaseMemory'));
    if (bytes) return JSON.parse(asText(bytes)) as LeaseMemory;
    const made = { store: Buffer.from(random.bytes(8)).toString('hex'), leased: false };
    t.put(prefixOf('leaseMemory'), text(JSON.stringify(made)));
    return made;
  });
}

export function noteInLeaseMemory(store: Store, random: Random, note: Partial<LeaseMemory>): void {
  const before = openLeaseMemory(store, random);
  store.write((t) => t.put(prefixOf('leaseMemory'), text(JSON.stringify({ ...before, ...note }))));
}
