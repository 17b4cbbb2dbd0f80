/**
 * The agent's own record of each object that it has applied to the cluster. The record is written before the first apply. A crash between the two leaves a
 * record without an object. An object without a record, which nobody would remove, can't arise.
 */

import type { PropagationPolicy } from '../../core/entries/down-attributes.ts';
import type { PlacementId } from '../../core/entries/placement-id.ts';
import { SharedValues } from '../../core/object/shared-values.ts';
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Store } from '../../core/store/store.ts';
import { isCustom, isDefinitionKey } from './order.ts';

export interface OwnerRecord {
  readonly source: string;
  /** The hash of the delivered body that the cluster accepted last. Empty until the cluster has accepted a body. */
  readonly bodyHash: string;
  /** The uid of the object on the cluster. Empty until the cluster has accepted a body. */
  readonly uid: string;
  /** The agent's path in the signature of the last write (mark.ts). Absent: this store has not written the object. */
  readonly agent?: string;
  /** See projection.ts. */
  readonly fingerprint: string;
  /** Whether the agent created the object. The agent removes a container, such as a Namespace, only if the agent created it. */
  readonly created: boolean;
  /** The generation of the origin's object whose body was accepted last. */
  readonly generation?: number;
  /** The placements for which the object was last applied. Their reports name the object while it is unwanted and still there. */
  readonly placements?: readonly PlacementId[];
  /**
   * For a definition: placements that do not bring it any more, and whose other objects may still be on the cluster (removal-order.ts). Written in the order
   * in which the placements left. A record without the field keeps the list of the record before.
   */
  readonly formerPlacements?: readonly PlacementId[];
  /** How to remove the object when no placement defines a way any more. Absent: Background. */
  readonly deletion?: PropagationPolicy;
}

/** The names under which objects are removed together: the placements of the record. A record of another store may name none; then the source. */
export function groupsOf({ placements = [], source }: OwnerRecord): readonly string[] {
  return placements.length > 0 ? placements : [source];
}

export class OwnerRecords {
  readonly #store: Store;
  readonly #records = new Map<string, OwnerRecord>();
  /** How many definitions and custom objects each group has. */
  readonly #customKinds = new Map<string, number>();
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

  /** Writes the record. It is durable after the store's next flush. */
  set(key: string, record: OwnerRecord): void {
    const formerPlacements = record.formerPlacements ?? this.#records.get(key)?.formerPlacements;
    const row = JSON.stringify({ ...record, formerPlacements });
    this.#store.write((t) => t.put(rowKey(key), text(row)));
    this.#keep(key, row);
  }

  delete(key: string): void {
    this.#store.write((t) => t.remove(rowKey(key)));
    this.#count(key, this.#records.get(key), -1);
    this.#records.delete(key);
  }

  /** Whether the group has definitions or custom objects on record. */
  hasCustomKinds(group: string): boolean {
    return this.#customKinds.has(group);
  }

  #count(key: string, record: OwnerRecord | undefined, change: number): void {
    if (!record || !(isCustom(key) || isDefinitionKey(key))) return;
    for (const group of [...groupsOf(record), ...(record.formerPlacements ?? [])]) {
      const count = (this.#customKinds.get(group) ?? 0) + change;
      if (count === 0) this.#customKinds.delete(group);
      else this.#customKinds.set(group, count);
    }
  }

  /** Keeps the record of the row in memory. Records share one copy of values that many of them have. */
  #keep(key: string, row: string): void {
    const record = JSON.parse(row) as { -readonly [name in keyof OwnerRecord]: OwnerRecord[name] };
    record.source = this.#shared.of(record.source);
    if (record.agent !== undefined) record.agent = this.#shared.of(record.agent);
    if (record.placements) record.placements = this.#shared.of(record.placements);
    this.#count(key, this.#records.get(key), -1);
    this.#records.set(key, record);
    this.#count(key, record, 1);
  }
}

function rowKey(key: string): Uint8Array {
  return concat(prefixOf('ownerRecord'), text(key));
}
