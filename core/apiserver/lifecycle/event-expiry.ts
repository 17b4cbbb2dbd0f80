/**
 * Deletes old Events. As in Kubernetes, an Event lives for one hour after its last write. The times come from the Events themselves, so a restart does not
 * prolong them. Without a bound, a controller that writes an Event for each of its attempts would fill the disk of the node.
 */
import { parseBody } from '../../object/canonical.ts';
import { formatKey, type GroupResource, parseKey } from '../../object/key.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { ifRoom, roomAgainMs } from '../../store/room.ts';
import type { Space } from '../space.ts';
import { scanPages } from '../storage/scan-pages.ts';
import type { StoredObject } from '../storage.ts';

export interface EventExpiryOptions {
  readonly space: Space;
  readonly clock: Clock;
}

const events: GroupResource = { group: '', resource: 'events' };
/** The default of `--event-ttl` of the Kubernetes API server. */
export const eventTtlMs = 3_600_000;
/** Limit for the Events of a space: some 5 MB in the store. The oldest ones are deleted first. */
export const eventsMax = 5_000;
/** Shortest time between two turns, so that Events that were written together are deleted together. */
const turnEveryMs = 10_000;
/** Limit for the deletions of one turn, which takes some milliseconds. */
const perTurnMax = 200;

export class EventExpiry {
  readonly #space: Space;
  readonly #clock: Clock;
  /** When each Event was last written, by the wall clock. The oldest is the first. */
  readonly #writtenAtMs = new Map<string, number>();
  readonly #unsubscribe: () => void;
  #timer: Timer | undefined;
  /** True: the timer runs because there are too many Events. */
  #isSoon = false;

  /** Reads all Events of the space once. After that, follows the events of the storage. */
  constructor({ space, clock }: EventExpiryOptions) {
    this.#space = space;
    this.#clock = clock;
    const nowMs = clock.wallMs();
    const found = Array.from(
      scanPages(space.storage, events),
      (stored) => [formatKey(stored.key), lastWrite(stored)] as const,
    );
    for (const [key, atMs] of found.sort(([, a], [, b]) => a - b)) this.#writtenAtMs.set(key, Math.min(atMs, nowMs));
    this.#unsubscribe = space.storage.subscribe((changes) => {
      for (const { type, object } of changes) {
        const { group, resource } = object.key;
        if (group !== events.group || resource !== events.resource) continue;
        const key = formatKey(object.key);
        // A written Event becomes the newest one.
        this.#writtenAtMs.delete(key);
        if (type !== 'DELETED') this.#writtenAtMs.set(key, clock.wallMs());
      }
      this.#arm();
    });
    this.#arm();
  }

  close(): void {
    this.#unsubscribe();
    this.#timer?.stop();
  }

  #arm(): void {
    const isOverfull = this.#writtenAtMs.size > eventsMax;
    const [first] = this.#writtenAtMs.values();
    if (first === undefined || (this.#timer && (this.#isSoon || !isOverfull))) return;
    this.#timer?.stop();
    this.#isSoon = isOverfull;
    this.#wait(isOverfull ? turnEveryMs : Math.max(turnEveryMs, first + eventTtlMs - this.#clock.wallMs()));
  }

  #wait(ms: number): void {
    this.#timer = this.#clock.after(ms, () => {
      this.#timer = undefined;
      this.#turn();
    });
  }

  #turn(): void {
    const nowMs = this.#clock.wallMs();
    let left = perTurnMax;
    for (const [key, atMs] of this.#writtenAtMs) {
      if (atMs + eventTtlMs > nowMs && this.#writtenAtMs.size <= eventsMax) break;
      if (left-- === 0) break;
      if (ifRoom(() => this.#remove(key))) continue;
      return this.#wait(roomAgainMs);
    }
    this.#arm();
  }

  #remove(key: string): void {
    this.#space.storage.write((writer) => writer.remove(parseKey(key)));
    this.#writtenAtMs.delete(key);
  }
}

interface EventTimes {
  readonly series?: { readonly lastObservedTime?: string };
  readonly lastTimestamp?: string;
  readonly eventTime?: string;
}

/** The newest time in the Event. Without a valid time, the Event counts as old. */
function lastWrite({ body }: StoredObject): number {
  const event = parseBody(body);
  const { series, lastTimestamp, eventTime } = event as EventTimes;
  const times = [series?.lastObservedTime, lastTimestamp, eventTime, event.metadata.creationTimestamp];
  return Math.max(0, ...times.map((time) => Date.parse(time ?? '')).filter((ms) => !Number.isNaN(ms)));
}
