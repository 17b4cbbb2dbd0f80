/**
 * Exact status: if a placement asks for it and matches exactly one destination in all, people see the `.status` that this destination reports for each
 * object. Each node on the way whose own total is one destination passes the statuses on to its parent. The origin writes them into its objects, and a
 * view of the placement's source shows them at the other nodes. Each level decides for itself. So a second destination anywhere takes the exact
 * statuses back at the levels above. If the destination is not connected, its last reported statuses stay, and the status of the placement shows the
 * destination as stale.
 *
 * The store keeps a record of the objects that have an exact status because of this node. So the node can take the status back also after a restart,
 * and also from objects that the placement no longer selects.
 */

import type { Space } from '../../../core/apiserver/space.ts';
import type { RefsAttributes } from '../../../core/entries/down-attributes.ts';
import { attributesOf, entryKey } from '../../../core/entries/entry-keys.ts';
import { type PlacementId, placementId, splitPlacementId } from '../../../core/entries/placement-id.ts';
import type { Producer } from '../../../core/feed/feed.ts';
import { stableStringify } from '../../../core/object/canonical.ts';
import { hash128 } from '../../../core/object/hash.ts';
import { formatKey, type ObjectKey, parseKey } from '../../../core/object/key.ts';
import type { Logger } from '../../../core/runtime/logger.ts';
import { asText, concat, prefixRange, text } from '../../../core/store/bytes.ts';
import { prefixOf } from '../../../core/store/keyspace.ts';
import type { Reader, Store } from '../../../core/store/store.ts';
import type { Placement } from '../../placements/placement.ts';
import type { Placements } from '../../placements/placements.ts';
import { shownTopic } from '../../work/topics.ts';
import { mayHaveStatus, objectsWithStatus, type SingletonPorts, singletonStatus } from './singleton.ts';
import { updateStatus } from './update-status.ts';

export interface ExactStatusesPorts extends SingletonPorts {
  readonly store: Store;
  readonly log: Logger;
  readonly outbox: Producer;
  readonly placements: Placements;
  ownSpace(source: string): Space | undefined;
}

export class ExactStatuses {
  readonly #ports: ExactStatusesPorts;
  /** Keyed by placement: the keys of the objects that have an exact status because of this placement, as the store has them. */
  readonly #recorded = new Map<PlacementId, ReadonlySet<string>>();
  /** Placements that match one destination now, each with the text of `#writtenFor`: the child and target for which all of their objects were last written. */
  readonly #single = new Map<PlacementId, string>();

  constructor(ports: ExactStatusesPorts) {
    this.#ports = ports;
    const prefix = prefixOf('exact');
    ports.store.read((reader) => {
      for (const [key, value] of reader.scan(prefixRange(prefix))) {
        this.#recorded.set(asText(key.subarray(prefix.length)), new Set(JSON.parse(asText(value)) as string[]));
      }
    });
  }

  /**
   * Returns the placements whose objects have an exact status because of this node. A removed placement is among them if the process ended before the statuses
   * were taken back.
   */
  placements(): Iterable<PlacementId> {
    return this.#recorded.keys();
  }

  /**
   * Writes the exact statuses of the placement's objects, or takes them back. `placement` is absent when the placement was removed; `expected` is the number of
   * its destinations at and below this node.
   */
  write(id: PlacementId, placement: Placement | undefined, expected: number): void {
    const single = placement?.target?.singleton === true && expected === 1 ? placement : undefined;
    if (!single && !this.#recorded.has(id) && !this.#single.has(id)) return;
    const after = single && this.#writtenFor(single);
    const before = this.#single.get(id);
    if (single && before === after) return;
    this.#noteSingle(id, after);
    try {
      this.#writeAll(id, single);
    } catch (error) {
      // With the previous note, the next call sees a difference and writes again.
      this.#noteSingle(id, before);
      throw error;
    }
  }

  #noteSingle(id: PlacementId, writtenFor: string | undefined): void {
    if (writtenFor === undefined) this.#single.delete(id);
    else this.#single.set(id, writtenFor);
  }

  #writeAll(id: PlacementId, single: Placement | undefined): void {
    const { store } = this.#ports;
    const before = this.#recorded.get(id) ?? new Set<string>();
    const selected = single ? store.read((reader) => objectsWithStatus(reader, this.#ports, single)) : [];
    const objects = new Map([...before].map((key) => [key, parseKey(key)]));
    for (const object of selected) objects.set(formatKey(object), object);
    const { source } = splitPlacementId(id);
    const own = this.#ports.ownSpace(source);
    if (own) {
      this.#writeOwn(own, id, before, objects);
      return;
    }
    this.#recordOf(id, objects.keys(), new Set(this.#passOn(id, single, objects)));
    this.#announce(source, [...objects.values()]);
  }

  /** Writes the statuses of these objects again. Call it when the reports about them have changed. The work grows only with the number of these objects. */
  objectsChanged(id: PlacementId, changed: readonly ObjectKey[]): void {
    const placement = this.#ports.placements.get(id);
    if (!placement || !this.#single.has(id)) return;
    const { source, name } = splitPlacementId(id);
    const selected = this.#ports.store.read((reader) =>
      changed.filter((object) => mayHaveStatus(object) && this.#refs(reader, source, object).includes(name)),
    );
    const objects = new Map(selected.map((object) => [formatKey(object), object]));
    const before = this.#recorded.get(id) ?? new Set<string>();
    const own = this.#ports.ownSpace(source);
    if (own) {
      this.#writeOwn(own, id, before, objects);
      return;
    }
    this.#recordOf(id, objects.keys(), new Set(this.#passOn(id, placement, objects)));
    this.#announce(source, selected);
  }

  #announce(source: string, objects: readonly ObjectKey[]): void {
    this.#ports.store.announce(
      shownTopic,
      objects.map((key) => ({ source, key })),
    );
  }

  /**
   * Names the child on the way to the destination, and the target. While this text stays the same and the placement has one destination, an exact status
   * changes only when the report about its object changes (`objectsChanged`).
   */
  #writtenFor({ id, children, target }: Placement): string {
    const child = [...children].find((name) => this.#ports.expected(id, name) === 1);
    return JSON.stringify([child, target?.target, target?.generation]);
  }

  /**
   * Returns the exact status of an object of any source; undefined while there is none. If several placements could give a status, the first one by name gives
   * it.
   */
  statusOf(reader: Reader, source: string, object: ObjectKey): Uint8Array | undefined {
    if (this.#single.size === 0) return undefined;
    for (const name of this.#refs(reader, source, object)) {
      const id = placementId(source, name);
      const placement = this.#single.has(id) ? this.#ports.placements.get(id) : undefined;
      const status = placement && singletonStatus(reader, this.#ports, placement, object);
      if (status) return status;
    }
    return undefined;
  }

  /** Returns the placements that ask for exact status and select the object. */
  askingFor(reader: Reader, source: string, object: ObjectKey): PlacementId[] {
    const { singletons } = this.#ports.placements;
    if (singletons.size === 0) return [];
    return this.#refs(reader, source, object)
      .map((name) => placementId(source, name))
      .filter((id) => singletons.has(id));
  }

  #writeOwn(space: Space, id: PlacementId, before: ReadonlySet<string>, objects: ReadonlyMap<string, ObjectKey>): void {
    const { store, log } = this.#ports;
    const { source } = splitPlacementId(id);
    const statuses = new Map<string, Uint8Array>();
    store.read((reader) => {
      for (const [key, object] of objects) {
        const status = this.statusOf(reader, source, object);
        if (status) statuses.set(key, status);
      }
    });
    // The record is written before the statuses. So if the process ends in between, the node can still take back every status that it has written.
    this.#recordOf(id, statuses.keys(), statuses);
    for (const [key, object] of objects) {
      const status = statuses.get(key);
      if (!status && !before.has(key)) continue;
      const current = space.get(object);
      if (current) updateStatus(space, current, status && (JSON.parse(asText(status)) as object), log);
    }
    if (this.#single.has(id)) this.#recordOf(id, objects.keys(), statuses);
    else this.#record(id, []);
  }

  #passOn(id: PlacementId, single: Placement | undefined, objects: ReadonlyMap<string, ObjectKey>): string[] {
    const { store, outbox } = this.#ports;
    const passedOn: string[] = [];
    store.write((t) => {
      for (const [formatted, object] of objects) {
        const status = single && singletonStatus(t, this.#ports, single, object);
        const key = entryKey.status(id, object);
        const attributes = text(stableStringify({ target: single?.target?.target ?? 0 }));
        if (status) {
          outbox.put(t, { key, attributes, body: status }, 0);
          passedOn.push(formatted);
        } else {
          outbox.remove(t, hash128(key), 0);
        }
      }
    });
    return passedOn;
  }

  /** Records which of these objects have an exact status. Writes the whole record only if an object has gained or lost its status. */
  #recordOf(id: PlacementId, objects: Iterable<string>, withStatus: { has(key: string): boolean }): void {
    const before = this.#recorded.get(id) ?? new Set<string>();
    const changed = [...objects].filter((key) => before.has(key) !== withStatus.has(key));
    if (changed.length === 0) return;
    const recorded = new Set(before);
    for (const key of changed) {
      if (withStatus.has(key)) recorded.add(key);
      else recorded.delete(key);
    }
    this.#record(id, [...recorded]);
  }

  #record(id: PlacementId, keys: readonly string[]): void {
    if (keys.length === 0 && !this.#recorded.has(id)) return;
    const storeKey = concat(prefixOf('exact'), text(id));
    this.#ports.store.write((t) => {
      if (keys.length > 0) t.put(storeKey, text(JSON.stringify(keys)));
      else t.remove(storeKey);
    });
    if (keys.length > 0) this.#recorded.set(id, new Set(keys));
    else this.#recorded.delete(id);
  }

  #refs(reader: Reader, source: string, object: ObjectKey): readonly string[] {
    const table = this.#ports.tableOf(source);
    const row = table?.get(reader, hash128(entryKey.object(source, object)));
    return row?.content && table ? attributesOf<RefsAttributes>(table.content(reader, row.content)).refs : [];
  }
}
