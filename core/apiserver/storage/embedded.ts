/**
 * A space in the node's own store. Each object is one row, so a list reads one range. Each space has one counter of revisions.
 *
 * No revision is used twice, even if a crash loses the newest writes. The record of the space contains a ceiling, which is always well above the counter.
 * If a space was not closed, it continues at its ceiling at the next start. Its watches then begin again, as after every start.
 */
import type { GroupResource, ObjectKey } from '../../object/key.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { asBuffer, asText, concat, prefixRange, readU48, text, u32, u48, u48Bytes } from '../../store/bytes.ts';
import { prefixOf } from '../../store/keyspace.ts';
import { ifRoom } from '../../store/room.ts';
import type { KeyRange, Reader, Store, Transaction } from '../../store/store.ts';
import type { ScanOptions, SpaceStorage, SpaceWriter, StorageEvent, StoredObject, WriteHook } from '../storage.ts';
import { type EventListener, EventLog } from './event-log.ts';
import { noteStart, type RevisionGap, readRevisionGaps } from './history.ts';
import { ObjectCounts } from './object-counts.ts';

export interface EmbeddedStorageOptions {
  readonly store: Store;
  /** The name of the space within this store. */
  readonly name: string;
  readonly logger: Logger;
  readonly hook?: WriteHook;
  readonly readOnly?: boolean;
  /**
   * Only for a space whose objects go to other nodes: the lowest revision at which the space begins (history.ts). Absent: the space continues at its last
   * revision.
   */
  readonly startsAt?: number;
}

interface SpaceState {
  readonly id: number;
  readonly revision: number;
  /** All revisions up to this one may have been used. Absent if the space was closed properly. */
  readonly ceiling?: number;
}

/** More than the number of writes between two flushes, because a crash may lose all of them. A flush happens within seconds. */
const ceilingStep = 100_000;

export class EmbeddedStorage implements SpaceStorage {
  readonly readOnly: boolean;
  readonly #store: Store;
  readonly #name: string;
  readonly #hook: WriteHook | undefined;
  readonly #stateKey: Uint8Array;
  readonly #prefix: Uint8Array;
  readonly #log: EventLog;
  readonly #counts = new ObjectCounts();
  /** The events of transactions that are running now. */
  readonly #pending = new WeakMap<Transaction, StorageEvent[]>();

  /** Opens the space. Creates it if it does not exist, unless readOnly. The caller must flush the store before the node serves the space. */
  constructor({ store, name, logger, hook, readOnly = false, startsAt = 0 }: EmbeddedStorageOptions) {
    this.readOnly = readOnly;
    this.#store = store;
    this.#name = name;
    this.#hook = hook;
    this.#stateKey = concat(prefixOf('spaceState'), text(name));
    const state = readOnly ? store.read((reader) => this.#state(reader)) : store.write((t) => this.#open(t, startsAt));
    this.#prefix = concat(prefixOf('spaceObject'), u32(state.id));
    this.#log = new EventLog(state.revision, logger);
  }

  revision(): number {
    return this.#log.revision();
  }

  get(key: ObjectKey): StoredObject | undefined {
    return this.#store.read((reader) => this.#get(reader, key));
  }

  scan(resource: GroupResource, options: ScanOptions = {}): StoredObject[] {
    const found: StoredObject[] = [];
    this.visit(resource, options, (object) => found.push(object) > 0);
    return found;
  }

  visit(resource: GroupResource, options: ScanOptions, see: (object: StoredObject) => boolean): void {
    const range = this.#rangeOf(resource, options);
    this.#store.read((reader) => {
      for (const [key, row] of reader.scan(range)) if (!see(new ScannedObject(row, () => this.#keyOf(key)))) return;
    });
  }

  count(resource: GroupResource, options: Omit<ScanOptions, 'limit'> = {}): number {
    const range = this.#rangeOf(resource, options);
    const counted = () => this.#store.read((reader) => reader.countKeys(range));
    return options.after ? counted() : this.#counts.of(resource, options.namespace, counted);
  }

  pageEnd(
    resource: GroupResource,
    { limit, ...options }: ScanOptions & { readonly limit: number },
  ): ObjectKey | undefined {
    const range = { ...this.#rangeOf(resource, options), offset: limit - 1, limit: 2 };
    return this.#store.read((reader) => {
      const [last, next] = [...reader.scan(range)];
      return last && next && this.#keyOf(last[0]);
    });
  }

  resources(): GroupResource[] {
    return this.#store.read((reader) => {
      const found: GroupResource[] = [];
      const { to } = prefixRange(this.#prefix);
      let from = this.#prefix;
      for (let next = firstIn(reader, from, to); next; next = firstIn(reader, from, to)) {
        const { group, resource } = this.#keyOf(next);
        found.push({ group, resource });
        from = prefixRange(this.#resourcePrefix({ group, resource })).to;
      }
      return found;
    });
  }

  write<T>(fn: (writer: SpaceWriter) => T): T {
    return this.#store.write((t) => this.writeIn(t, fn));
  }

  /**
   * Writes as part of a transaction of the node's store. So several spaces, or a space and the node's own rows, can change in one transaction. The events
   * are published after the commit.
   */
  writeIn<T>(t: Transaction, fn: (writer: SpaceWriter) => T): T {
    if (this.readOnly) {
      throw new BanyanError('MethodNotAllowed', `the space ${this.#name} is read-only`);
    }
    return fn({
      get: (key) => this.#get(t, key),
      put: (key, body) => this.#put(t, key, body),
      remove: (key) => this.#remove(t, key),
    });
  }

  flushed(): Promise<void> {
    return this.#store.flushed();
  }

  skipRevision(): void {
    this.#store.write((t) => {
      const revision = this.#nextRevision(t);
      t.afterCommit(() => this.#log.skipTo(revision));
    });
  }

  eventsSince(since: number): StorageEvent[] | 'expired' {
    return this.#log.eventsSince(since);
  }

  subscribe(listener: EventListener, removed?: () => void): () => void {
    return this.#log.subscribe(listener, removed);
  }

  /** Called when the space is removed for good, after `close`. */
  remove(): void {
    this.#log.remove();
  }

  /** The revision gaps: revisions that this space does not know, but that other nodes may have received. */
  gaps(): readonly RevisionGap[] {
    return this.#store.read((reader) => readRevisionGaps(reader, this.#name));
  }

  /** Makes the space continue after this revision, because another node has received this revision from a lost store incarnation of the space. */
  raise(t: Transaction, revision: number): void {
    const { id, revision: had } = this.#state(t);
    if (revision <= had) return;
    noteStart(t, this.#name, had, revision);
    this.#putState(t, { id, revision, ceiling: revision + ceilingStep });
    t.afterCommit(() => this.#log.skipTo(revision));
  }

  /** Removes some of the objects without events, when nobody uses the space any more. Returns true if more are left. The revision stays. */
  clear(t: Transaction, rowsMax: number): boolean {
    let left = rowsMax;
    for (const [key] of t.scan(prefixRange(this.#prefix))) {
      if (left-- === 0) return true;
      t.remove(key);
    }
    return false;
  }

  /** Closes the space. There must be no writes after this. The next start continues with the next revision, so that watches can resume. */
  close(): void {
    // If the disk is full, this record is not written. The next start then continues at the ceiling, as after a kill.
    ifRoom(() =>
      this.#store.write((t) => {
        const { id, revision } = this.#state(t);
        this.#putState(t, { id, revision });
      }),
    );
  }

  #open(t: Transaction, startsAt: number): SpaceState {
    const found = t.get(this.#stateKey);
    const last: SpaceState = found ? JSON.parse(asText(found)) : { id: nextSpaceId(t), revision: 0 };
    const revision = Math.max(last.ceiling ?? last.revision, startsAt);
    if (startsAt > 0) noteStart(t, this.#name, last.revision, revision);
    const state = { id: last.id, revision, ceiling: revision + ceilingStep };
    this.#putState(t, state);
    return state;
  }

  #put(t: Transaction, key: ObjectKey, body: Uint8Array): StoredObject {
    const before = this.#get(t, key);
    const revision = this.#nextRevision(t);
    const row = concat(u48(revision), body);
    // Uses the body in the copied row: events keep the body, and the caller may change its own bytes.
    const object = { key, revision, body: row.subarray(u48Bytes) };
    t.put(this.#objectKey(key), row);
    this.#record(t, before ? { type: 'MODIFIED', object, before } : { type: 'ADDED', object });
    return object;
  }

  #remove(t: Transaction, key: ObjectKey): StoredObject | undefined {
    const before = this.#get(t, key);
    if (!before) return undefined;
    t.remove(this.#objectKey(key));
    this.#record(t, { type: 'DELETED', object: { ...before, revision: this.#nextRevision(t) }, before });
    return before;
  }

  /**
   * Records each change at once. If a caller catches an error in the middle of a write and still commits, the events of all changes until then are
   * complete.
   */
  #record(t: Transaction, event: StorageEvent): void {
    const pending = this.#pending.get(t);
    if (pending) {
      pending.push(event);
    } else {
      const events = [event];
      this.#pending.set(t, events);
      t.afterCommit(() => {
        this.#counts.changed(events);
        this.#log.publish(events);
      });
    }
    this.#hook?.(t, event);
  }

  #nextRevision(t: Transaction): number {
    const { id, revision: last, ceiling = last } = this.#state(t);
    const revision = last + 1;
    this.#putState(t, {
      id,
      revision,
      ceiling: revision + ceilingStep / 2 > ceiling ? revision + ceilingStep : ceiling,
    });
    return revision;
  }

  #state(reader: Reader): SpaceState {
    const found = reader.get(this.#stateKey);
    if (!found) throw new BanyanError('NotFound', `the store has no space ${this.#name}`);
    return JSON.parse(asText(found));
  }

  #putState(t: Transaction, state: SpaceState): void {
    t.put(this.#stateKey, text(JSON.stringify(state)));
  }

  #get(reader: Reader, key: ObjectKey): StoredObject | undefined {
    const row = reader.get(this.#objectKey(key));
    return row && { key, revision: readU48(row), body: row.subarray(u48Bytes) };
  }

  #objectKey(key: ObjectKey): Uint8Array {
    return concat(this.#prefix, joined(key.group, key.resource, key.namespace, key.name));
  }

  #keyOf(storeKey: Uint8Array): ObjectKey {
    const [group, resource, namespace, name] = asBuffer(storeKey).toString('utf8', this.#prefix.length).split('\0');
    return { group: group!, resource: resource!, namespace: namespace!, name: name! };
  }

  #resourcePrefix({ group, resource }: GroupResource): Uint8Array {
    return concat(this.#prefix, joined(group, resource, ''));
  }

  #rangeOf(of: GroupResource, { namespace, after, limit }: ScanOptions): KeyRange {
    const prefix = this.#resourcePrefix(of);
    const range = prefixRange(namespace === undefined ? prefix : concat(prefix, joined(namespace, '')));
    const start = after && concat(prefix, joined(after.namespace, after.name), Buffer.of(0));
    const from = start && Buffer.compare(start, range.from) > 0 ? start : range.from;
    return { from, to: range.to, ...(limit === undefined ? {} : { limit }) };
  }
}

/** An object of a scan. A list asks for few keys, so the key is read from its row when somebody asks. */
class ScannedObject implements StoredObject {
  readonly revision: number;
  readonly body: Uint8Array;
  readonly #readKey: () => ObjectKey;
  #key: ObjectKey | undefined;

  constructor(row: Uint8Array, readKey: () => ObjectKey) {
    this.revision = readU48(row);
    this.body = row.subarray(u48Bytes);
    this.#readKey = readKey;
  }

  get key(): ObjectKey {
    this.#key ??= this.#readKey();
    return this.#key;
  }
}

/** Joins the parts of a key with NUL, which is lower than every character of a name. */
function joined(...parts: string[]): Uint8Array {
  if (parts.some((part) => part.includes('\0'))) {
    throw new BanyanError('BadRequest', `the name ${JSON.stringify(parts.at(-1))} contains a NUL character`);
  }
  return text(parts.join('\0'));
}

function firstIn(reader: Reader, from: Uint8Array, to: Uint8Array): Uint8Array | undefined {
  for (const [key] of reader.scan({ from, to, limit: 1 })) return key;
  return undefined;
}

/** An id that is higher than the ids of all existing spaces. */
function nextSpaceId(reader: Reader): number {
  let max = 0;
  for (const [, state] of reader.scan(prefixRange(prefixOf('spaceState')))) {
    max = Math.max(max, JSON.parse(asText(state)).id);
  }
  return max + 1;
}
