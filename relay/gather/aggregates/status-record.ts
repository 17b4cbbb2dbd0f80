/**
 * The durable record of the statuses that this node has written into objects of its own spaces. So the node can take a status back after a restart, and also
 * from objects that no placement selects any more.
 */
import { formatKey, type ObjectKey, parseKey } from '../../../core/object/key.ts';
import { asText, concat, prefixRange, text } from '../../../core/store/bytes.ts';
import { prefixOf } from '../../../core/store/keyspace.ts';
import type { Store } from '../../../core/store/store.ts';

export interface WrittenStatus {
  /** The names of the ReplicaSets beside a Deployment (relay/spaces/shown-replica-set.ts), the present one last. */
  readonly replicaSets?: readonly string[];
}

const nul = '\0';

export class StatusRecord {
  readonly #store: Store;
  readonly #written = new Map<string, WrittenStatus>();

  constructor(store: Store) {
    this.#store = store;
    const prefix = prefixOf('reportedStatus');
    store.read((reader) => {
      for (const [key, value] of reader.scan(prefixRange(prefix))) {
        this.#written.set(asText(key.subarray(prefix.length)), JSON.parse(asText(value)) as WrittenStatus);
      }
    });
  }

  *objects(): Generator<{ source: string; object: ObjectKey }> {
    for (const key of this.#written.keys()) {
      const [source = '', object = ''] = key.split(nul);
      yield { source, object: parseKey(object) };
    }
  }

  get(source: string, object: ObjectKey): WrittenStatus | undefined {
    return this.#written.get(keyOf(source, object));
  }

  /** Writes only a record that differs. */
  set(source: string, object: ObjectKey, written: WrittenStatus): void {
    const key = keyOf(source, object);
    const before = this.#written.get(key);
    if (before && before.replicaSets?.join() === written.replicaSets?.join()) return;
    this.#store.write((t) => t.put(concat(prefixOf('reportedStatus'), text(key)), text(JSON.stringify(written))));
    this.#written.set(key, written);
  }

  delete(source: string, object: ObjectKey): void {
    const key = keyOf(source, object);
    if (!this.#written.has(key)) return;
    this.#store.write((t) => t.remove(concat(prefixOf('reportedStatus'), text(key))));
    this.#written.delete(key);
  }
}

function keyOf(source: string, object: ObjectKey): string {
  return `${source}${nul}${formatKey(object)}`;
}
