/**
 * A view that a client uses. It keeps the objects that it has shown, by key, so that watches see changes. Requests read what the view has shown, after the view
 * has reported all differences to its watchers: a client that lists and then watches misses nothing, also when the node announces a change later. If no client has watched or asked for a view in the
 * last minutes, the next change that would cost work closes the view. A client that asks again gets a new view; a client that wants to continue a watch of the
 * closed view has to list again.
 */
import type { Space } from '../../core/apiserver/space.ts';
import type { ViewSource, ViewStorage } from '../../core/apiserver/storage/view.ts';
import { formatKey, type ObjectKey } from '../../core/object/key.ts';

/** A client may continue a watch that was interrupted for this long: an API server keeps its history for the same time. */
const idleMs = 5 * 60_000;

interface ShownBody {
  readonly key: ObjectKey;
  readonly body: Uint8Array;
}

export class OpenView<Contents extends ViewSource = ViewSource> implements ViewSource {
  readonly space: Space;
  readonly contents: Contents;
  readonly #storage: ViewStorage;
  /** The number of listeners of the space itself. Any further listeners are watches. */
  readonly #ownListeners: number;
  #shown: Map<string, ShownBody>;
  #askedAtMs = 0;

  constructor(space: Space, storage: ViewStorage, contents: Contents) {
    this.space = space;
    this.contents = contents;
    this.#storage = storage;
    this.#ownListeners = storage.listeners();
    this.#shown = this.#listed();
  }

  get askedAtMs(): number {
    return this.#askedAtMs;
  }

  asked(nowMs: number): void {
    this.#askedAtMs = nowMs;
  }

  isIdle(nowMs: number): boolean {
    return !this.isWatched() && nowMs - this.#askedAtMs > idleMs;
  }

  isEmpty(): boolean {
    return this.#shown.size === 0;
  }

  isWatched(): boolean {
    return this.#storage.listeners() > this.#ownListeners;
  }

  /** Ends the watches. Call it when the space that the view shows was removed. */
  end(): void {
    this.#storage.remove();
  }

  list(): Iterable<ShownBody> {
    this.compare();
    return this.#shown.values();
  }

  get(key: ObjectKey): Uint8Array | undefined {
    return this.refresh(key);
  }

  /** Call it when this object may have changed. Returns the object. */
  refresh(key: ObjectKey): Uint8Array | undefined {
    const id = formatKey(key);
    const before = this.#shown.get(id)?.body;
    const after = this.contents.get(key);
    if (after) this.#shown.set(id, { key, body: after });
    else this.#shown.delete(id);
    this.#storage.changed(key, before, after);
    return after;
  }

  /** Call it when any object may have changed. */
  compare(): void {
    const before = this.#shown;
    const after = this.#listed();
    this.#shown = after;
    for (const [id, { key, body }] of before) this.#storage.changed(key, body, after.get(id)?.body);
    for (const [id, { key, body }] of after) if (!before.has(id)) this.#storage.changed(key, undefined, body);
  }

  #listed(): Map<string, ShownBody> {
    return new Map(Array.from(this.contents.list(), ({ key, body }) => [formatKey(key), { key, body }]));
  }
}
