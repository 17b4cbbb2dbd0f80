/** The rows that one source above sends into this subtree, as a read-only space: its placements, each with the summary of this subtree, and their objects. */

import { placementResource } from '../../core/apiserver/kinds/edge-placement.ts';
import { entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import { placementId, splitPlacementId } from '../../core/entries/placement-id.ts';
import { entryContent } from '../../core/feed/entry-content.ts';
import type { Table } from '../../core/feed/feed.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import type { Reader, Store } from '../../core/store/store.ts';
import { sliceResource } from '../gather/status/slice-contents.ts';
import { summaryResource } from '../gather/summaries/summary-object.ts';
import { shownBody } from './bodies.ts';
import type { ShownObject } from './mailbox-view.ts';

/** Objects of one kind that this node makes for a source above, about its own subtree: StatusSummaries or SinglePlacementSlices. */
export interface MadeObjects {
  shown(source: string): Iterable<ShownObject>;
  shownOne(source: string, name: string): Uint8Array | undefined;
}

/** Statuses about this node's subtree, as JSON. Undefined: there is none. */
export interface UpstreamStatuses {
  placement(reader: Reader, name: string): Uint8Array | undefined;
  object(key: ObjectKey): Uint8Array | undefined;
}

export class UpstreamContents {
  readonly #store: Store;
  readonly #table: Table;
  readonly #source: string;
  readonly #statuses: UpstreamStatuses;
  readonly #summaries: MadeObjects;
  readonly #slices: MadeObjects;

  constructor(
    store: Store,
    table: Table,
    source: string,
    statuses: UpstreamStatuses,
    made: { summaries: MadeObjects; slices: MadeObjects },
  ) {
    this.#store = store;
    this.#table = table;
    this.#source = source;
    this.#statuses = statuses;
    this.#summaries = made.summaries;
    this.#slices = made.slices;
  }

  list(): ShownObject[] {
    return this.#store.read((reader) => {
      const shown: ShownObject[] = [];
      for (const row of this.#table.rows(reader)) {
        const content = row.content && this.#table.content(reader, row.content);
        const key = content && this.keyOf(content.key);
        if (key) shown.push({ key, body: this.#body(reader, content, key) });
      }
      return [...shown, ...this.#summaries.shown(this.#source), ...this.#slices.shown(this.#source)];
    });
  }

  get(key: ObjectKey): Uint8Array | undefined {
    if (isSummary(key)) return this.#summaries.shownOne(this.#source, key.name);
    if (isSlice(key)) return this.#slices.shownOne(this.#source, key.name);
    const rowKey = isPlacement(key)
      ? entryKey.placement(placementId(this.#source, key.name))
      : entryKey.object(this.#source, key);
    return this.#store.read((reader) => {
      const content = entryContent(reader, this.#table, rowKey);
      return content && this.#body(reader, content, key);
    });
  }

  /** Returns the key of the object that this space shows for an entry. Undefined for entries of other sources and other types. */
  keyOf(rowKey: string): ObjectKey | undefined {
    const entry = parseEntryKey(rowKey);
    if (entry?.type === 'object' && entry.source === this.#source) return entry.object;
    if (entry?.type !== 'placement') return undefined;
    const { source, name } = splitPlacementId(entry.id);
    return source === this.#source ? { ...placementResource, namespace: '', name } : undefined;
  }

  #body(reader: Reader, content: Parameters<typeof shownBody>[0], key: ObjectKey): Uint8Array {
    const { placement, object } = this.#statuses;
    return shownBody(content, isPlacement(key) ? placement(reader, key.name) : object(key));
  }
}

function isSummary(key: ObjectKey): boolean {
  return key.group === summaryResource.group && key.resource === summaryResource.resource;
}

function isSlice(key: ObjectKey): boolean {
  return key.group === sliceResource.group && key.resource === sliceResource.resource;
}

function isPlacement(key: ObjectKey): boolean {
  return key.group === placementResource.group && key.resource === placementResource.resource;
}
