/**
 * The agent's own record of each object that it has applied to the cluster. The record is written before the first apply. A crash between the two leaves a
 * record without an object. An object without a record, which nobody would remove, can't arise.
 */

import type { PropagationPolicy } from '../../core/entries/down-attributes.ts';
import type { PlacementId } from '../../core/entries/placement-id.ts';
import { parseBody } from '../../core/object/canonical.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { SharedValues } from '../../core/object/shared-values.ts';
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Store, Transaction } from '../../core/store/store.ts';
import type { ObjectObservation } from '../observe/observer.ts';
import { isCustom, isDefinitionKey } from './order.ts';

export interface OwnerRecord {
  readonly source: string;
  /** The hash of the delivered body that the cluster accepted last. Empty until the cluster has accepted a body. */
  readonly bodyHash: string;
  /** The uid of the object on the cluster. Empty until the cluster has accepted a body. */
  readonly uid: string;
  /** The agent's path in the signature of the last write, with this store or another one (mark.ts). Absent: the agent has not written the object. */
  readonly agent?: string;
  /** See projection.ts. */
  readonly fingerprint: string;
  /** The fields that the fingerprint leaves out (ignored-fields.ts). Absent: none. */
  readonly ignored?: readonly string[];
  /** Whether the agent created the object. The agent removes only such an object. An object that was there before is given back to the cluster. */
  readonly created: boolean;
  /** The short uid of the origin's object whose body was accepted last (made-anew.ts). Absent: this store does not know it. */
  readonly origin?: string;
  /** The generation of the origin's object whose body was accepted last. */
  readonly generation?: number;
  /** Of an object that may end by itself (core/object/ended.ts): the hash of the `spec` that was accepted last. */
  readonly specHash?: string;
  /** The hash of the newest body for which the agent left the object as it was, because the object is only created (`createOnly`). */
  readonly leftFor?: string;
  /** The object has ended by itself. The store has its last observation. */
  readonly ended?: true;
  /** The object was there before the agent, and the store has the form in which the agent found it. */
  readonly hasFormerForm?: true;
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

  readonly #emptyChanged: () => void;

  /** `emptyChanged`: called when the first record was added, or the last one removed. */
  constructor(store: Store, emptyChanged: () => void = () => {}) {
    this.#store = store;
    this.#emptyChanged = emptyChanged;
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
    this.#write(key, record);
  }

  delete(key: string): void {
    const before = this.#records.get(key);
    this.#store.write((t) => {
      t.remove(rowKey(key));
      removeBeside(t, key, before);
    });
    this.#count(key, before, -1);
    if (this.#records.delete(key) && this.isEmpty) this.#emptyChanged();
  }

  /** Whether no object is on record. */
  get isEmpty(): boolean {
    return this.#records.size === 0;
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

  /** Writes the record of an object that the agent is about to take over, with the form in which the agent found the object: JSON of the object. */
  setFormerForm(key: string, record: OwnerRecord, form: Uint8Array): void {
    this.#write(key, { ...record, hasFormerForm: true }, (t) => t.put(besideKey('formerForm', key), form));
  }

  /** Returns the form in which the agent found the object. Undefined: the agent created the object, or another store of the agent found it. */
  formerFormOf(key: string): KubeObject | undefined {
    if (!this.#records.get(key)?.hasFormerForm) return undefined;
    const form = this.#store.read((reader) => reader.get(besideKey('formerForm', key)));
    return form && parseBody(form);
  }

  /** Notes the last observation of an object that has ended. */
  setEnded(key: string, record: OwnerRecord, { status, ...observation }: ObjectObservation): void {
    const row = JSON.stringify({ ...observation, status: asText(status) });
    this.#write(key, { ...record, ended: true }, (t) => t.put(besideKey('endedObject', key), text(row)));
  }

  /** Returns the last observation of an object that has ended. Undefined: the object on record has not ended. */
  endedOf(key: string): ObjectObservation | undefined {
    if (!this.#records.get(key)?.ended) return undefined;
    const row = this.#store.read((reader) => reader.get(besideKey('endedObject', key)));
    if (!row) return undefined;
    const { status, ...observation } = JSON.parse(asText(row)) as Omit<ObjectObservation, 'status'> & {
      status: string;
    };
    return { ...observation, status: text(status) };
  }

  /** Writes the record, and removes the rows beside the record that the record does not name any more. */
  #write(key: string, record: OwnerRecord, beside: (t: Transaction) => void = () => {}): void {
    const before = this.#records.get(key);
    const row = JSON.stringify({ ...record, formerPlacements: record.formerPlacements ?? before?.formerPlacements });
    this.#store.write((t) => {
      t.put(rowKey(key), text(row));
      removeBeside(t, key, before, record);
      beside(t);
    });
    const wasEmpty = this.isEmpty;
    this.#keep(key, row);
    if (wasEmpty) this.#emptyChanged();
  }

  /** Keeps the record of the row in memory. Records share one copy of values that many of them have. */
  #keep(key: string, row: string): void {
    const record = JSON.parse(row) as { -readonly [name in keyof OwnerRecord]: OwnerRecord[name] };
    record.source = this.#shared.of(record.source);
    if (record.agent !== undefined) record.agent = this.#shared.of(record.agent);
    if (record.placements) record.placements = this.#shared.of(record.placements);
    if (record.ignored) record.ignored = this.#shared.of(record.ignored);
    this.#count(key, this.#records.get(key), -1);
    this.#records.set(key, record);
    this.#count(key, record, 1);
  }
}

function removeBeside(t: Transaction, key: string, before: OwnerRecord | undefined, after?: OwnerRecord): void {
  if (before?.ended && !after?.ended) t.remove(besideKey('endedObject', key));
  if (before?.hasFormerForm && !after?.hasFormerForm) t.remove(besideKey('formerForm', key));
}

function besideKey(space: 'endedObject' | 'formerForm', key: string): Uint8Array {
  return concat(prefixOf(space), text(key));
}

function rowKey(key: string): Uint8Array {
  return concat(prefixOf('ownerRecord'), text(key));
}
