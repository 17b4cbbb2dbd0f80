/**
 * The index of the copies of one source at one agent: keys and facets, without bodies. Lists read a page of it without reading the other objects, and watches
 * learn from it how a changed copy was before. Each change of a row costs the work for one copy.
 */
import { parseEntryKey } from '../../core/entries/entry-keys.ts';
import { formatKey, type GroupResource, type ObjectKey } from '../../core/object/key.ts';
import { compareText } from '../../core/object/text-order.ts';
import type { Reader } from '../../core/store/store.ts';
import type { Mailbox } from '../mailbox/mailboxes.ts';
import { MailboxChanges } from '../views/mailbox-changes.ts';
import type { ReportedKinds } from '../views/view-kinds.ts';
import { type CopyRows, type Facet, facetOf, readCopy } from './copy.ts';

export interface Copy {
  readonly key: ObjectKey;
  readonly version: string;
  readonly facet: Facet;
}

export interface AgentCopiesPorts {
  readonly source: string;
  /** The path of the agent. */
  readonly path: string;
  readonly mailbox: Mailbox;
  /** Learns the kinds of associated and upsynced objects. */
  readonly kinds: ReportedKinds;
  /** The JSON paths that field selectors of the kind may use. */
  selectable(of: GroupResource): readonly string[];
}

/** A copy before and after a change. Absent: there was, or is, no copy. */
export interface CopyChange {
  readonly before?: Copy;
  readonly after?: Copy;
}

export class AgentCopies {
  readonly path: string;
  readonly mailbox: Mailbox;
  /** The revision of the log at which this index was complete. Undefined: it is being made. */
  openedAt: number | undefined;
  readonly #ports: AgentCopiesPorts;
  readonly #changes: MailboxChanges;
  readonly #copies = new Map<string, Copy>();
  /** Keyed by group and resource: the copies of this kind, sorted by namespace and name. Made when a list needs them. */
  readonly #sorted = new Map<string, readonly Copy[]>();
  /** The keys that the index has still to read. */
  readonly #unread: ObjectKey[] = [];

  /** Collects the keys. The caller then calls `readSome` until the index is complete, and `refresh` for changes that happen meanwhile. */
  constructor(reader: Reader, ports: AgentCopiesPorts) {
    const { source, mailbox, path } = ports;
    this.#ports = ports;
    this.path = path;
    this.mailbox = mailbox;
    this.#changes = new MailboxChanges(reader, mailbox.producer);
    for (const object of this.#changes.objects()) if (object.source === source) this.#unread.push(object.key);
    for (const row of mailbox.reported.rows(reader)) {
      if (!row.content) continue;
      const entry = parseEntryKey(mailbox.reported.content(reader, row.content).key);
      const isWhole = entry?.type === 'associated' || entry?.type === 'upsynced';
      if (isWhole && entry.source === source) this.#unread.push(entry.object);
    }
  }

  /** Reads this number of copies. Returns true if the index has all of them. */
  readSome(reader: Reader, count: number): boolean {
    for (const key of this.#unread.splice(-count)) this.refresh(reader, key);
    return this.#unread.length === 0;
  }

  get(id: string): Copy | undefined {
    return this.#copies.get(id);
  }

  ids(): Iterable<string> {
    return this.#copies.keys();
  }

  /** The copies of one kind, sorted by namespace and name. */
  ofKind({ group, resource }: GroupResource): readonly Copy[] {
    const name = `${group}/${resource}`;
    const known = this.#sorted.get(name);
    if (known) return known;
    const copies = [...this.#copies.values()].filter(({ key }) => key.group === group && key.resource === resource);
    copies.sort((a, b) => comparePlaces(a.key, b.key));
    this.#sorted.set(name, copies);
    return copies;
  }

  /** Reads the rows of one copy again. Undefined: nothing has changed. */
  refresh(reader: Reader, key: ObjectKey): CopyChange | undefined {
    const id = formatKey(key);
    const before = this.#copies.get(id);
    const rows = readCopy(reader, this.mailbox, this.#ports, key);
    if (rows?.version === before?.version) return undefined;
    const after = rows && this.#copyOf(rows);
    if (after) this.#copies.set(id, after);
    else this.#copies.delete(id);
    this.#sorted.delete(`${key.group}/${key.resource}`);
    return { ...(before ? { before } : {}), ...(after ? { after } : {}) };
  }

  /** The keys of this source whose rows in the mailbox have changed since the last call. Call it after each commit that wrote rows of the mailbox. */
  changedInMailbox(reader: Reader): ObjectKey[] {
    return this.#changes
      .take(reader)
      .filter(({ source }) => source === this.#ports.source)
      .map(({ key }) => key);
  }

  #copyOf(rows: CopyRows): Copy {
    const { kinds, path, selectable } = this.#ports;
    if (rows.from !== 'placed') kinds.learn(rows.key, rows.content);
    return { key: rows.key, version: rows.version, facet: facetOf(rows, path, selectable(rows.key)) };
  }
}

export function comparePlaces(
  a: { readonly namespace: string; readonly name: string },
  b: { readonly namespace: string; readonly name: string },
): number {
  return compareText(a.namespace, b.namespace) || compareText(a.name, b.name);
}
