/**
 * Finds the objects of a mailbox that have changed since the last call of `take`. The work grows with the number of changed rows, not with the number of all
 * rows.
 */

import { parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { Content, FeedRow } from '../../core/feed/feed.ts';
import type { FeedProducer } from '../../core/feed/producer.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import { hex } from '../../core/store/bytes.ts';
import type { Reader } from '../../core/store/store.ts';

export interface ChangedObject {
  readonly source: string;
  readonly key: ObjectKey;
}

export class MailboxChanges {
  readonly #producer: FeedProducer;
  #head = 0;
  /** Keyed by the hash of the row's key, in hex: a tombstone has only this hash. */
  readonly #objects = new Map<string, ChangedObject>();

  /** Finds changes that are written after this call. */
  constructor(reader: Reader, producer: FeedProducer) {
    this.#producer = producer;
    this.take(reader);
  }

  /** The objects that were in the mailbox at the last call of `take`. */
  objects(): Iterable<ChangedObject> {
    return this.#objects.values();
  }

  isOf(producer: FeedProducer): boolean {
    return this.#producer === producer;
  }

  /**
   * Returns the objects that have changed since the last call. Call it after each commit: a tombstone is removed when it is acknowledged, and then its change
   * can't be found.
   */
  take(reader: Reader): ChangedObject[] {
    const changed: ChangedObject[] = [];
    for (const row of this.#producer.since(reader, this.#head)) {
      const object = this.#objectOf(reader, row);
      if (object) changed.push(object);
    }
    this.#head = this.#producer.head(reader);
    return changed;
  }

  #objectOf(reader: Reader, row: FeedRow): ChangedObject | undefined {
    const hexKey = hex(row.keyHash);
    const objectBefore = this.#objects.get(hexKey);
    if (!row.content) {
      this.#objects.delete(hexKey);
      return objectBefore;
    }
    const object = objectBefore ?? objectIn(this.#producer.content(reader, row.content));
    if (object) this.#objects.set(hexKey, object);
    return object;
  }
}

function objectIn({ key }: Content): ChangedObject | undefined {
  const entry = parseEntryKey(key);
  return entry?.type === 'object' ? { source: entry.source, key: entry.object } : undefined;
}
