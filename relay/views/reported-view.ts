/**
 * A read-only space for one cluster at or below this node: the objects that were created at the cluster and whose reports reached this node. The path of the
 * cluster is the name of the space.
 */

import { entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { Content, Table } from '../../core/feed/feed.ts';
import { hash128 } from '../../core/object/hash.ts';
import { formatKey, type ObjectKey } from '../../core/object/key.ts';
import type { Reader, Store } from '../../core/store/store.ts';
import { upsyncedOf } from '../gather/upsynced.ts';
import type { ShownObject } from './mailbox-view.ts';
import type { ReportedKinds } from './view-kinds.ts';

export class ReportedContents {
  readonly #store: Store;
  readonly #path: string;
  /** Returns the reports that count of the child at or above the cluster, and of the child's replicas. */
  readonly #tables: () => Iterable<Table>;
  readonly #kinds: ReportedKinds;
  /** All sources that this view has seen. */
  readonly #sources = new Set<string>();

  constructor(store: Store, path: string, tables: () => Iterable<Table>, kinds: ReportedKinds) {
    this.#store = store;
    this.#path = path;
    this.#tables = tables;
    this.#kinds = kinds;
  }

  list(): ShownObject[] {
    return this.#store.read((reader) => {
      const shown = new Map<string, ShownObject & { source: string }>();
      for (const keyHash of upsyncedOf(reader, this.#path)) {
        const content = this.#content(reader, keyHash);
        const entry = content && parseEntryKey(content.key);
        if (!content || entry?.type !== 'upsynced') continue;
        this.#sources.add(entry.source);
        const id = formatKey(entry.object);
        const shownBefore = shown.get(id);
        // If two sources have reports of one object, the list shows the object once, always from the first source by name.
        if (shownBefore && shownBefore.source < entry.source) continue;
        shown.set(id, { key: entry.object, source: entry.source, body: this.#learnKind(entry.object, content) });
      }
      return [...shown.values()].map(({ key, body }) => ({ key, body }));
    });
  }

  get(key: ObjectKey): Uint8Array | undefined {
    return this.#store.read((reader) => {
      for (const source of [...this.#sources].sort()) {
        const content = this.#content(reader, hash128(entryKey.upsynced(source, this.#path, key)));
        if (content) return this.#learnKind(key, content);
      }
      return undefined;
    });
  }

  /** Call it when a row of this source has arrived: after that, `get` also looks for objects of the source. */
  note(source: string): void {
    this.#sources.add(source);
  }

  #content(reader: Reader, keyHash: Uint8Array): Content | undefined {
    for (const table of this.#tables()) {
      const row = table.get(reader, keyHash);
      if (row?.content) return table.content(reader, row.content);
    }
    return undefined;
  }

  #learnKind(key: ObjectKey, content: Content): Uint8Array {
    this.#kinds.learn(key, content);
    return content.body;
  }
}
