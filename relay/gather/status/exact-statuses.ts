/**
 * Exact state for a placement that matches one destination in all and asks for it: each node on the way whose own total is one hands
 * the objects' statuses up, the origin writes them into the objects, and a view of the placement's source shows them. Decided locally at every
 * level, so a second destination anywhere takes it back above. A destination that is not connected keeps what it said last: the placement
 * says that it is stale.
 *
 * Which objects have such a status by this node's doing is kept in the store, so that it is taken back also after a restart, and from objects
 * that the placement selects no more.
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
  /** Placements that are single now or were when last written, with the keys of the objects that have a status by it. */
  readonly #told = new Map<PlacementId, ReadonlySet<string>>();
  /** Those of them that are single now, with what was true of them when all of their objects were written last. */
  readonly #single = new Map<PlacementId, string>();

  constructor(ports: ExactStatusesPorts) {
    this.#ports = ports;
    const prefix = prefixOf('exact');
    ports.store.read((reader) => {
      for (const [key, value] of reader.scan(prefixRange(prefix))) {
        this.#told.set(asText(key.subarray(prefix.length)), new Set(JSON.parse(asText(value)) as string[]));
      }
    });
  }

  /** Those with objects that have a status by this node's doing; also such as went without a word, as the process ended. */
  placements(): Iterable<PlacementId> {
    return this.#told.keys();
  }

  /** Brings the statuses to what they are now; `placement` is absent when it is gone. */
  write(id: PlacementId, placement: Placement | undefined, expected: number): void {
    const single = placement?.target?.singleton === true && expected === 1 ? placement : undefined;
    if (!single && !this.#told.has(id) && !this.#single.has(id)) return;
    const now = single && this.#writtenFor(single);
    const was = this.#single.get(id);
    if (single && was === now) return;
    this.#noteSingle(id, now);
    try {
      this.#writeAll(id, single);
    } catch (error) {
      // What could not be written is written when it is told again.
      this.#noteSingle(id, was);
      throw error;
    }
  }

  #noteSingle(id: PlacementId, writtenFor: string | undefined): void {
    if (writtenFor === undefined) this.#single.delete(id);
    else this.#single.set(id, writtenFor);
  }

  #writeAll(id: PlacementId, single: Placement | undefined): void {
    const { store } = this.#ports;
    const before = this.#told.get(id) ?? new Set<string>();
    const now = single ? store.read((reader) => objectsWithStatus(reader, this.#ports, single)) : [];
    const objects = new Map([...before].map((key) => [key, parseKey(key)]));
    for (const object of now) objects.set(formatKey(object), object);
    const { source } = splitPlacementId(id);
    const own = this.#ports.ownSpace(source);
    if (own) {
      this.#writeOwn(own, id, before, objects);
      return;
    }
    this.#keepOf(id, objects.keys(), new Set(this.#handOn(id, single, objects)));
    this.#announce(source, [...objects.values()]);
  }

  /** What the destination says of these objects has changed, or is about other ones than before: work that grows with them alone. */
  objectsChanged(id: PlacementId, changed: readonly ObjectKey[]): void {
    const placement = this.#ports.placements.get(id);
    if (!placement || !this.#single.has(id)) return;
    const { source, name } = splitPlacementId(id);
    const selected = this.#ports.store.read((reader) =>
      changed.filter((object) => mayHaveStatus(object) && this.#refs(reader, source, object).includes(name)),
    );
    const objects = new Map(selected.map((object) => [formatKey(object), object]));
    const before = this.#told.get(id) ?? new Set<string>();
    const own = this.#ports.ownSpace(source);
    if (own) {
      this.#writeOwn(own, id, before, objects);
      return;
    }
    this.#keepOf(id, objects.keys(), new Set(this.#handOn(id, placement, objects)));
    this.#announce(source, selected);
  }

  #announce(source: string, objects: readonly ObjectKey[]): void {
    this.#ports.store.announce(shownTopic, ...objects.map((key) => ({ source, key })));
  }

  /** While this is the same, and the placement single, what is to be told changes with what the destination says of an object and with nothing else. */
  #writtenFor({ id, children, target }: Placement): string {
    const child = [...children].find((name) => this.#ports.expected(id, name) === 1);
    return JSON.stringify([child, target?.target, target?.generation]);
  }

  /** Of an object of any source; undefined while it is not exact. Of several placements that could tell it, the first by name does. */
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

  /** The placements that ask for exact state and have the object. */
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
    // On record before it is written: what is written is to be taken back whatever happens in between.
    this.#keepOf(id, statuses.keys(), statuses);
    for (const [key, object] of objects) {
      const status = statuses.get(key);
      if (!status && !before.has(key)) continue;
      const current = space.get(object);
      if (current) updateStatus(space, current, status && (JSON.parse(asText(status)) as object), log);
    }
    if (this.#single.has(id)) this.#keepOf(id, objects.keys(), statuses);
    else this.#keep(id, []);
  }

  #handOn(id: PlacementId, single: Placement | undefined, objects: ReadonlyMap<string, ObjectKey>): string[] {
    const { store, outbox } = this.#ports;
    const told: string[] = [];
    store.write((t) => {
      for (const [formatted, object] of objects) {
        const status = single && singletonStatus(t, this.#ports, single, object);
        const key = entryKey.status(id, object);
        const attributes = text(stableStringify({ target: single?.target?.target ?? 0 }));
        if (status) {
          outbox.put(t, { key, attributes, body: status }, 0);
          told.push(formatted);
        } else {
          outbox.remove(t, hash128(key), 0);
        }
      }
    });
    return told;
  }

  /** Of these objects those that are told; work that grows with all of them only when one came or went. */
  #keepOf(id: PlacementId, of: Iterable<string>, told: { has(key: string): boolean }): void {
    const before = this.#told.get(id) ?? new Set<string>();
    const changed = [...of].filter((key) => before.has(key) !== told.has(key));
    if (changed.length === 0) return;
    const now = new Set(before);
    for (const key of changed) {
      if (told.has(key)) now.add(key);
      else now.delete(key);
    }
    this.#keep(id, [...now]);
  }

  #keep(id: PlacementId, keys: readonly string[]): void {
    if (keys.length === 0 && !this.#told.has(id)) return;
    const at = concat(prefixOf('exact'), text(id));
    this.#ports.store.write((t) => {
      if (keys.length > 0) t.put(at, text(JSON.stringify(keys)));
      else t.remove(at);
    });
    if (keys.length > 0) this.#told.set(id, new Set(keys));
    else this.#told.delete(id);
  }

  #refs(reader: Reader, source: string, object: ObjectKey): readonly string[] {
    const table = this.#ports.tableOf(source);
    const row = table?.get(reader, hash128(entryKey.object(source, object)));
    return row?.content && table ? attributesOf<RefsAttributes>(table.content(reader, row.content)).refs : [];
  }
}
