/**
 * A mailbox as a read-only space, as if the child were a cluster: the objects in the mailbox, each with the status that was last reported. For an agent, the
 * space also has the objects that the agent reported from its cluster.
 */

import { type EntryKey, entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { StateAttributes } from '../../core/entries/up-attributes.ts';
import { entryContent } from '../../core/feed/entry-content.ts';
import type { Content, Table } from '../../core/feed/feed.ts';
import { formatKey, type ObjectKey } from '../../core/object/key.ts';
import { asText } from '../../core/store/bytes.ts';
import type { Reader, Store } from '../../core/store/store.ts';
import type { Mailbox } from '../mailbox/mailboxes.ts';
import { shownBody } from './bodies.ts';
import { MailboxChanges } from './mailbox-changes.ts';
import type { ReportedKinds } from './view-kinds.ts';

export interface ShownObject {
  readonly key: ObjectKey;
  readonly body: Uint8Array;
}

export class MailboxContents {
  readonly #store: Store;
  /** Called each time, because a child that was removed from the inventory and added again has another mailbox. */
  readonly #mailbox: () => Mailbox | undefined;
  /** The path of the child. */
  readonly #path: string;
  readonly #kinds: ReportedKinds;
  /** All sources that this view has seen: at most the number of spaces on the way from the center. */
  readonly #sources = new Set<string>();
  #changes: MailboxChanges | undefined;

  constructor(store: Store, mailbox: () => Mailbox | undefined, path: string, kinds: ReportedKinds) {
    this.#store = store;
    this.#mailbox = mailbox;
    this.#path = path;
    this.#kinds = kinds;
    this.changed();
  }

  /**
   * Returns the objects of the mailbox. If several objects have one key, the list shows the first of these: an upsynced object, an object that was sent down,
   * an associated object.
   */
  list(): ShownObject[] {
    const mailbox = this.#mailbox();
    if (!mailbox) return [];
    return this.#store.read((reader) => {
      const { producer, reported } = mailbox;
      const shown = new Map<string, ShownObject>();
      const others: [ObjectKey, Content][] = [];
      const sent: SentObject[] = [];
      for (const { entry, content } of this.#reported(reader, mailbox)) {
        if (entry.type === 'upsynced') this.#show(shown, entry.object, content);
        else others.push([entry.object, content]);
      }
      for (const row of producer.rows(reader)) {
        if (!row.content) continue;
        const content = producer.content(reader, row.content);
        const entry = parseEntryKey(content.key);
        if (entry?.type !== 'object') continue;
        this.#sources.add(entry.source);
        sent.push({ source: entry.source, key: entry.object, content });
      }
      const loses = ({ source, key }: SentObject) => Number(isConflicted(reader, reported, source, key));
      for (const one of sent.sort((a, b) => loses(a) - loses(b) || (a.source < b.source ? -1 : 1))) {
        const id = formatKey(one.key);
        if (!shown.has(id)) {
          shown.set(id, { key: one.key, body: bodyOf(reader, reported, one) });
        }
      }
      for (const [key, content] of others) this.#show(shown, key, content);
      return [...shown.values()];
    });
  }

  /** Returns the object of that name from any source. If several sources have one, returns the object that `list` shows. */
  get(key: ObjectKey): Uint8Array | undefined {
    const mailbox = this.#mailbox();
    if (!mailbox) return undefined;
    return this.#store.read((reader) => {
      const sources = [...this.#sources].sort();
      const { reported, producer } = mailbox;
      for (const source of sources) {
        const upsynced = entryContent(reader, reported, entryKey.upsynced(source, this.#path, key));
        if (upsynced) return this.#learnKind(key, upsynced);
      }
      const winnersFirst = [
        ...sources.filter((source) => !isConflicted(reader, reported, source, key)),
        ...sources.filter((source) => isConflicted(reader, reported, source, key)),
      ];
      for (const source of winnersFirst) {
        const wanted = entryContent(reader, producer, entryKey.object(source, key));
        if (wanted) return bodyOf(reader, reported, { source, key, content: wanted });
      }
      for (const source of sources) {
        const associated = entryContent(reader, reported, entryKey.associated(source, key));
        if (associated) return this.#learnKind(key, associated);
      }
      return undefined;
    });
  }

  /** Returns the objects whose rows were written since the last call. Call it after each commit that wrote rows. Undefined: any object may have changed. */
  changed(): readonly ObjectKey[] | undefined {
    const producer = this.#mailbox()?.producer;
    return this.#store.read((reader) => {
      if (producer && this.#changes?.isOf(producer)) {
        const changed = this.#changes.take(reader);
        for (const { source } of changed) this.note(source);
        return changed.map(({ key }) => key);
      }
      this.#changes = producer && new MailboxChanges(reader, producer);
      return undefined;
    });
  }

  /** Call it when a row of this source has arrived: after that, `get` also looks for objects of the source. */
  note(source: string): void {
    this.#sources.add(source);
  }

  /** Returns the whole objects of the child's own cluster. A relay has none: the objects that it passes on are from other clusters. */
  *#reported(reader: Reader, { reported, role }: Mailbox): Generator<{ entry: WholeEntry; content: Content }> {
    if (role === 'relay') return;
    for (const row of reported.rows(reader)) {
      if (!row.content) continue;
      const content = reported.content(reader, row.content);
      const entry = parseEntryKey(content.key);
      if (entry?.type !== 'upsynced' && entry?.type !== 'associated') continue;
      this.#sources.add(entry.source);
      yield { entry, content };
    }
  }

  #show(shown: Map<string, ShownObject>, key: ObjectKey, content: Content): void {
    const id = formatKey(key);
    if (!shown.has(id)) shown.set(id, { key, body: this.#learnKind(key, content) });
  }

  #learnKind(key: ObjectKey, content: Content): Uint8Array {
    this.#kinds.learn(key, content);
    return content.body;
  }
}

interface SentObject {
  readonly source: string;
  readonly key: ObjectKey;
  readonly content: Content;
}

function bodyOf(reader: Reader, reported: Table, { source, key, content }: SentObject): Uint8Array {
  return shownBody(content, statusIn(reader, reported, source, key));
}

/** Returns whether the agent reports that the cluster has an object of another source in place of this one. */
function isConflicted(reader: Reader, reported: Table, source: string, key: ObjectKey): boolean {
  const state = entryContent(reader, reported, entryKey.state(source, key));
  return state !== undefined && (JSON.parse(asText(state.attributes)) as StateAttributes).reason === 'Conflicted';
}

type WholeEntry = Extract<EntryKey, { type: 'upsynced' | 'associated' }>;

/** Returns the status of an object as the agent reported it; undefined when there is none. */
export function statusIn(reader: Reader, reported: Table, source: string, key: ObjectKey): Uint8Array | undefined {
  return entryContent(reader, reported, entryKey.state(source, key))?.body;
}
