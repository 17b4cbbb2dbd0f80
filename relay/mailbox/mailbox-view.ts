/** A mailbox as a read-only space: the child's desired objects, each with the status that was last reported, as if it were a cluster. */
import type { Content, Table } from '../../core/feed/feed.ts';
import { hash128 } from '../../core/object/hash.ts';
import { formatKey, type ObjectKey } from '../../core/object/key.ts';
import type { Reader, Store } from '../../core/store/store.ts';
import { objectKey, parseEntryKey, splitPlacementId, stateKey } from '../../core/wire/entries.ts';
import { shownBody } from './bodies.ts';
import type { Mailbox } from './mailboxes.ts';

export interface ShownObject {
  readonly key: ObjectKey;
  readonly body: Uint8Array;
}

export class MailboxContents {
  readonly #store: Store;
  readonly #mailbox: Mailbox;

  constructor(store: Store, mailbox: Mailbox) {
    this.#store = store;
    this.#mailbox = mailbox;
  }

  list(): ShownObject[] {
    return this.#store.read((reader) => {
      const shown = new Map<string, ShownObject>();
      for (const row of this.#mailbox.producer.rows(reader)) {
        if (!row.content) continue;
        const content = this.#mailbox.producer.content(reader, row.content);
        const entry = parseEntryKey(content.key);
        if (entry?.type !== 'object' || shown.has(formatKey(entry.object))) continue;
        shown.set(formatKey(entry.object), {
          key: entry.object,
          body: this.#body(reader, content, entry.source, entry.object),
        });
      }
      return [...shown.values()];
    });
  }

  /** The object of that name, whatever its source; with several, the first that `list` shows. */
  get(key: ObjectKey): Uint8Array | undefined {
    const sources = this.#sources();
    return this.#store.read((reader) => {
      for (const source of sources) {
        const row = this.#mailbox.producer.get(reader, hash128(objectKey(source, key)));
        if (row?.content) return this.#body(reader, this.#mailbox.producer.content(reader, row.content), source, key);
      }
      return undefined;
    });
  }

  /** The sources that have a placement here: those of the target rows. */
  #sources(): string[] {
    return this.#store.read((reader) => {
      const found = new Set<string>();
      for (const row of this.#mailbox.producer.rows(reader)) {
        const entry = row.content && parseEntryKey(this.#mailbox.producer.content(reader, row.content).key);
        if (entry?.type === 'target') found.add(splitPlacementId(entry.id).source);
      }
      return [...found].sort();
    });
  }

  #body(reader: Reader, content: Content, source: string, key: ObjectKey): Uint8Array {
    return shownBody(content, statusIn(reader, this.#mailbox.reported, source, key));
  }
}

/** The status that an agent reported of an object; undefined when there is none. */
export function statusIn(reader: Reader, reported: Table, source: string, key: ObjectKey): Uint8Array | undefined {
  const row = reported.get(reader, hash128(stateKey(source, key)));
  return row?.content && reported.content(reader, row.content).body;
}
