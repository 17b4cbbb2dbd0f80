/**
 * The lines of events. All watches that show an event in the same way send the same bytes, so the line is made once, for the first of them. The lines of an event
 * are kept as long as somebody holds the event: the storage while it delivers the event.
 */
import type { Kind } from '../space.ts';
import type { StorageEvent } from '../storage.ts';

/** How a watch shows an event. */
interface ShownEvent {
  readonly kind: Kind;
  /** The type of the event, the version, and the form. */
  readonly shownAs: string;
}

interface Line extends ShownEvent {
  readonly bytes: Buffer;
}

export class EventLines {
  readonly #lines = new WeakMap<StorageEvent, Line[]>();

  of(event: StorageEvent, { kind, shownAs }: ShownEvent, make: () => Buffer): Buffer {
    const lines = this.#lines.get(event) ?? [];
    const made = lines.find((line) => line.kind === kind && line.shownAs === shownAs);
    if (made) return made.bytes;
    const bytes = make();
    lines.push({ kind, shownAs, bytes });
    this.#lines.set(event, lines);
    return bytes;
  }
}
