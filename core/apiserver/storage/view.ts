/**
 * Shows other data as a read-only space: a mailbox, or the objects from the parent. Such data has no revisions, so the view makes them. They begin at the
 * time of the start in ms. With fewer than a thousand changes a second, they never overtake the clock, so a restart never goes back to lower revisions. An
 * object that has not changed since the start has the revision of the start.
 */
import { formatKey, type GroupResource, type ObjectKey } from '../../object/key.ts';
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { equalBytes } from '../../store/bytes.ts';
import type { ScanOptions, SpaceStorage, StorageEvent, StoredObject } from '../storage.ts';
import { compareKeys, type EventListener, EventLog, isSelected } from './event-log.ts';

/** The data that the view shows. The owner of the data must call `changed` of the view for each change, as soon as `list` and `get` return the new state. */
export interface ViewSource {
  list(): Iterable<{ readonly key: ObjectKey; readonly body: Uint8Array }>;
  get(key: ObjectKey): Uint8Array | undefined;
}

export class ViewStorage implements SpaceStorage {
  readonly readOnly = true;
  readonly #source: ViewSource;
  readonly #startRevision: number;
  readonly #log: EventLog;
  /** The revisions of existing objects that have changed since the start. */
  readonly #revisions = new Map<string, number>();

  constructor(source: ViewSource, clock: Clock, logger: Logger) {
    this.#source = source;
    this.#startRevision = clock.wallMs();
    this.#log = new EventLog(this.#startRevision, logger);
  }

  /** Reports a change. `before` is absent if the object did not exist; `after` is absent if it does not exist any more. Equal bodies are not a change. */
  changed(key: ObjectKey, before: Uint8Array | undefined, after: Uint8Array | undefined): void {
    if (before && after ? equalBytes(before, after) : before === after) return;
    const revision = this.#log.revision() + 1;
    const old = before && { key, revision: this.#revisionOf(key), body: before };
    if (after) {
      this.#revisions.set(formatKey(key), revision);
      const object = { key, revision, body: after };
      this.#log.publish([old ? { type: 'MODIFIED', object, before: old } : { type: 'ADDED', object }]);
    } else if (old) {
      this.#revisions.delete(formatKey(key));
      this.#log.publish([{ type: 'DELETED', object: { ...old, revision }, before: old }]);
    }
  }

  revision(): number {
    return this.#log.revision();
  }

  get(key: ObjectKey): StoredObject | undefined {
    const body = this.#source.get(key);
    return body && { key, revision: this.#revisionOf(key), body };
  }

  scan(resource: GroupResource, options: ScanOptions = {}): StoredObject[] {
    const selected: StoredObject[] = [];
    for (const { key, body } of this.#source.list()) {
      if (isSelected(key, resource, options)) selected.push({ key, revision: this.#revisionOf(key), body });
    }
    return selected.sort((a, b) => compareKeys(a.key, b.key)).slice(0, options.limit);
  }

  visit(resource: GroupResource, options: ScanOptions, see: (object: StoredObject) => boolean): void {
    for (const object of this.scan(resource, options)) if (!see(object)) return;
  }

  count(resource: GroupResource, options: Omit<ScanOptions, 'limit'> = {}): number {
    return this.scan(resource, options).length;
  }

  pageEnd(resource: GroupResource, options: ScanOptions & { readonly limit: number }): ObjectKey | undefined {
    const { limit, ...rest } = options;
    const found = this.scan(resource, rest);
    return found.length > limit ? found[limit - 1]!.key : undefined;
  }

  resources(): GroupResource[] {
    const found = new Map<string, GroupResource>();
    for (const { key } of this.#source.list()) {
      found.set(`${key.group}/${key.resource}`, { group: key.group, resource: key.resource });
    }
    return [...found.values()].sort((a, b) => compareKeys(placeOf(a), placeOf(b)));
  }

  write(): never {
    throw new BanyanError(
      'MethodNotAllowed',
      'this space only shows objects of another space; write to the space that they come from',
    );
  }

  /** Resolves at once, because a view shows only durable data. */
  flushed(): Promise<void> {
    return Promise.resolve();
  }

  eventsSince(since: number): StorageEvent[] | 'expired' {
    return this.#log.eventsSince(since);
  }

  subscribe(listener: EventListener, removed?: () => void): () => void {
    return this.#log.subscribe(listener, removed);
  }

  /** Ends all watches. Call it when there is nothing more to show, for good. */
  remove(): void {
    this.#log.remove();
  }

  /** Number of subscribed listeners. */
  listeners(): number {
    return this.#log.listeners();
  }

  #revisionOf(key: ObjectKey): number {
    return this.#revisions.get(formatKey(key)) ?? this.#startRevision;
  }
}

function placeOf({ group, resource }: GroupResource): { namespace: string; name: string } {
  return { namespace: group, name: resource };
}
