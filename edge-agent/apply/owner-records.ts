/**
 * The agent's own record of each object that it has applied to the cluster. It is written before the first apply, so that a
 * crash between the two leaves a record without an object, never an object that nobody would remove.
 */

import type { PropagationPolicy } from '../../core/entries/down-attributes.ts';
import type { PlacementId } from '../../core/entries/placement-id.ts';
import { SharedValues } from '../../core/object/shared-values.ts';
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Store } from '../../core/store/store.ts';

export interface OwnerRecord {
  readonly source: string;
  /** Of the delivered body that the cluster has accepted; empty until it has accepted one. */
  readonly bodyHash: string;
  /** Of the object on the cluster; empty until it has accepted one. */
  readonly uid: string;
  /** The path by which it was signed (mark.ts) when it was sent last; absent: it was not sent by this store. */
  readonly agent?: string;
  /** See projection.ts. */
  readonly fingerprint: string;
  /** It did not exist before: a Namespace goes only if it came with us. */
  readonly created: boolean;
  /** Of the origin's object whose body was accepted last. */
  readonly generation?: number;
  /** Those that it was last applied for: who is told of when it is wanted no more and not gone yet. */
  readonly placements?: readonly PlacementId[];
  /** How it is removed when nothing says so any more; absent: Background. */
  readonly deletion?: PropagationPolicy;
}

export class OwnerRecords {
  readonly #store: Store;
  readonly #records = new Map<string, OwnerRecord>();
  readonly #shared = new SharedValues();

  constructor(store: Store) {
    this.#store = store;
    const prefix = prefixOf('ownerRecord');
    store.read((reader) => {
      for (const [key, value] of reader.scan(prefixRange(prefix))) {
        this.#keep(asText(key.subarray(prefix.length)), asText(value));
      }
    });
  }

  get(key: string): OwnerRecord | undefined {
    return this.#records.get(key);
  }

  keys(): IterableIterator<string> {
    return this.#records.keys();
  }

  /** Durable after the store's next flush. */
  set(key: string, record: OwnerRecord): void {
    const row = JSON.stringify(record);
    this.#store.write((t) => t.put(rowKey(key), text(row)));
    this.#keep(key, row);
  }

  delete(key: string): void {
    this.#store.write((t) => t.remove(rowKey(key)));
    this.#records.delete(key);
  }

  /** Of the row, with what all records say alike in one copy. */
  #keep(key: string, row: string): void {
    const record = JSON.parse(row) as { -readonly [name in keyof OwnerRecord]: OwnerRecord[name] };
    record.source = this.#shared.of(record.source);
    if (record.agent !== undefined) record.agent = this.#shared.of(record.agent);
    if (record.placements) record.placements = this.#shared.of(record.placements);
    this.#records.set(key, record);
  }
}

function rowKey(key: string): Uint8Array {
  return concat(prefixOf('ownerRecord'), text(key));
}
