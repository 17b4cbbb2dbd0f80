/**
 * Keeps the newest events of a space in memory: for watches that begin at an earlier revision, for lists of an earlier revision, and for listeners. Every
 * storage uses it.
 */
import { formatGroupResource, type GroupResource, type ObjectKey } from '../../object/key.ts';
import { describeError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { lasting } from '../../store/bytes.ts';
import type { ScanOptions, StorageEvent, StoredObject } from '../storage.ts';

/** With fewer than 160 changes a second, a client that reconnects within a minute can resume its watch. */
const eventsMax = 10_000;
/** 10,000 events of 3 KB. One space may use this much memory for its watchers. */
const eventBytesMax = 32 * 1024 * 1024;

export type EventListener = (events: readonly StorageEvent[]) => void;

export class EventLog {
  readonly #logger: Logger;
  /** The oldest event first. Events before index `#first` are dropped. When they are more than half of the array, the array is cut. */
  #events: StorageEvent[] = [];
  #first = 0;
  #bytes = 0;
  /** The log contains all events after this revision. */
  #since: number;
  #revision: number;
  readonly #listeners = new Set<{ readonly listener: EventListener; readonly removed: (() => void) | undefined }>();
  #undelivered: (readonly StorageEvent[])[] = [];
  #delivering = false;

  constructor(revision: number, logger: Logger) {
    this.#since = revision;
    this.#revision = revision;
    this.#logger = logger;
  }

  revision(): number {
    return this.#revision;
  }

  /** Adds the events of one commit, in the order of their revisions, and calls the listeners. */
  publish(events: readonly StorageEvent[]): void {
    for (const event of events) {
      this.#events.push(inOwnMemory(event));
      this.#bytes += bytesOf(event);
      this.#revision = event.object.revision;
    }
    this.#trim();
    this.#undelivered.push(events);
    if (!this.#delivering) this.#deliver();
  }

  /** Skips the revisions up to this one: no object will get them. */
  skipTo(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
  }

  eventsSince(since: number): StorageEvent[] | 'expired' {
    if (since < this.#since) return 'expired';
    let index = this.#events.length;
    while (index > this.#first && this.#events[index - 1]!.object.revision > since) index--;
    return this.#events.slice(index);
  }

  /** `removed`: see `SpaceStorage.subscribe`. */
  subscribe(listener: EventListener, removed?: () => void): () => void {
    const entry = { listener, removed };
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  /** Called when the space is removed for good. */
  remove(): void {
    for (const { removed } of [...this.#listeners]) removed?.();
  }

  listeners(): number {
    return this.#listeners.size;
  }

  /**
   * Calls the listeners. A listener may write, which makes new events. The new events are delivered after the present ones, so that all listeners get
   * events in the same order.
   */
  #deliver(): void {
    this.#delivering = true;
    try {
      for (let events = this.#undelivered.shift(); events; events = this.#undelivered.shift()) {
        for (const entry of [...this.#listeners]) {
          if (this.#listeners.has(entry)) this.#call(entry.listener, events);
        }
      }
    } finally {
      this.#delivering = false;
    }
  }

  /** Calls one listener. Only logs its error: the write has already happened, and the other listeners must get its events. */
  #call(listener: EventListener, events: readonly StorageEvent[]): void {
    try {
      listener(events);
    } catch (error) {
      const [first] = events;
      const fields = {
        resource: first && formatGroupResource(first.object.key),
        revision: first?.object.revision,
        error,
      };
      this.#logger.error(
        fields,
        `a part of this node missed changes in a space, because it failed: ${describeError(error)}`,
      );
    }
  }

  #trim(): void {
    while (this.#events.length - this.#first > eventsMax || this.#bytes > eventBytesMax) {
      const dropped = this.#events[this.#first++]!;
      this.#bytes -= bytesOf(dropped);
      this.#since = dropped.object.revision;
    }
    if (this.#first * 2 > this.#events.length) {
      this.#events = this.#events.slice(this.#first);
      this.#first = 0;
    }
  }
}

/** True if `scan` of the resource with these options returns this key. */
export function isSelected(key: ObjectKey, resource: GroupResource, options: ScanOptions): boolean {
  if (key.group !== resource.group || key.resource !== resource.resource) return false;
  if (options.namespace !== undefined && key.namespace !== options.namespace) return false;
  return !options.after || compareKeys(key, options.after) > 0;
}

type NamespacedName = Pick<ObjectKey, 'namespace' | 'name'>;

export function compareKeys(a: NamespacedName, b: NamespacedName): number {
  return Buffer.compare(Buffer.from(orderOf(a)), Buffer.from(orderOf(b)));
}

/** A text that sorts by namespace, then by name, because NUL is lower than every byte of a name. */
export function orderOf({ namespace, name }: NamespacedName): string {
  return `${namespace}\0${name}`;
}

/**
 * Copies the bodies into their own memory. Without the copy, the whole buffer from which a body was cut would stay in memory, and `eventBytesMax` would not
 * bound the memory.
 */
function inOwnMemory(event: StorageEvent): StorageEvent {
  const { object, before } = event;
  return { ...event, object: ownBody(object), ...(before && { before: ownBody(before) }) };
}

export function ownBody(object: StoredObject): StoredObject {
  const { body } = object;
  return body.buffer.byteLength > 2 * body.length ? { ...object, body: lasting(body) } : object;
}

function bytesOf({ object, before }: StorageEvent): number {
  return object.body.length + (before?.body.length ?? 0);
}
