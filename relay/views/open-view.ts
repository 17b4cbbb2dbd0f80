/**
 * A view that a client uses. It keeps the objects that it has shown, by key, so that watches see changes. If no client has watched or asked for a view in the
 * last minutes, the next change that would cost work closes the view. A client that asks again gets a new view; a client that wants to continue a watch of the
 * closed view has to list again.
 */
import type { Space } from '../../core/apiserver/space.ts';
import type { ViewSource, ViewStorage } from '../../core/apiserver/storage/view.ts';
import { formatKey, type ObjectKey, parseKey } from '../../core/object/key.ts';
import { equalBytes } from '../../core/store/bytes.ts';

/** A client may continue a watch that was interrupted for this long: an API server keeps its history for the same time. */
const idleMs = 5 * 60_000;

export class OpenView<Contents extends ViewSource = ViewSource> {
  readonly space: Space;
  readonly contents: Contents;
  readonly #storage: ViewStorage;
  /** The number of listeners of the space itself. Any further listeners are watches. */
  readonly #ownListeners: number;
  #shown: Map<string, Uint8Array>;
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

  /** Call it when this object may have changed. */
  refresh(key: ObjectKey): void {
    const id = formatKey(key);
    const before = this.#shown.get(id);
    const after = this.contents.get(key);
    if (after) this.#shown.set(id, after);
    else this.#shown.delete(id);
    this.#storage.changed(key, before, after);
  }

  /** Call it when any object may have changed. */
  compare(): void {
    const listed = this.#listed();
    for (const id of new Set([...this.#shown.keys(), ...listed.keys()])) {
      const before = this.#shown.get(id);
      const after = listed.get(id);
      if (before && after && equalBytes(before, after)) continue;
      this.#storage.changed(parseKey(id), before, after);
    }
    this.#shown = listed;
  }

  #listed(): Map<string, Uint8Array> {
    return new Map([...this.contents.list()].map(({ key, body }) => [formatKey(key), body]));
  }
}
