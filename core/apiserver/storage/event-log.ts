/**
 * The newest events of a space, in memory: for watches that begin in the past, for lists at an older revision, and for those who listen.
 * One log for every kind of storage.
 */
import { formatGroupResource, type GroupResource, type ObjectKey } from '../../object/key.ts';
import { describeError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { lasting } from '../../store/bytes.ts';
import type { ScanOptions, StorageEvent, StoredObject } from '../storage.ts';

/** A client that reconnects within a minute finds its place while a space changes less than 160 times a second. */
const eventsMax = 10_000;
/** 10,000 events of 3 KB: what one space may hold in memory for its watchers. */
const eventBytesMax = 32 * 1024 * 1024;

export type EventListener = (events: readonly StorageEvent[]) => void;

export class EventLog {
  readonly #logger: Logger;
  /** Oldest first; those before `#first` are dropped, and cut off when they are the greater part. */
  #events: StorageEvent[] = [];
  #first = 0;
  #bytes = 0;
  /** Every event behind it is kept. */
  #since: number;
  #revision: number;
  readonly #listeners = new Set<{ readonly listener: EventListener }>();
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

  /** Events of one commit, in order of revision. Keeps them and tells the listeners. */
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

  /** The revisions up to here are given to nobody. */
  skipTo(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
  }

  eventsSince(since: number): StorageEvent[] | 'expired' {
    if (since < this.#since) return 'expired';
    let index = this.#events.length;
    while (index > this.#first && this.#events[index - 1]!.object.revision > since) index--;
    return this.#events.slice(index);
  }

  subscribe(listener: EventListener): () => void {
    const entry = { listener };
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  listeners(): number {
    return this.#listeners.size;
  }

  /** A listener that writes causes events too: they are delivered behind these, so that everyone sees one order. */
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

  /** The write has happened and the others wait for it: a broken listener is not their affair. */
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
      this.#logger.error(fields, `a listener to the events of a space failed: ${describeError(error)}`);
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

/** Does a key belong to what `scan` of the resource gives? */
export function isSelected(key: ObjectKey, resource: GroupResource, options: ScanOptions): boolean {
  if (key.group !== resource.group || key.resource !== resource.resource) return false;
  if (options.namespace !== undefined && key.namespace !== options.namespace) return false;
  return !options.after || compareKeys(key, options.after) > 0;
}

type NamespacedName = Pick<ObjectKey, 'namespace' | 'name'>;

export function compareKeys(a: NamespacedName, b: NamespacedName): number {
  return Buffer.compare(Buffer.from(orderOf(a)), Buffer.from(orderOf(b)));
}

/** NUL sorts before every byte of a name: namespace by namespace. */
export function orderOf({ namespace, name }: NamespacedName): string {
  return `${namespace}\0${name}`;
}

/** `orderOf`, to be kept: it does not hold the texts that the parts of the key were cut from, which are five times as long. */
export function placeText(place: NamespacedName): string {
  return Buffer.from(orderOf(place)).toString();
}

/** The place that `orderOf` gave this text of. */
export function namespacedNameOf(order: string): NamespacedName {
  const [namespace, name] = order.split('\0');
  return { namespace: namespace!, name: name! };
}

/** Otherwise the bound of bytes would be none: what a body is cut from stays with it, and may be much more than the body. */
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
