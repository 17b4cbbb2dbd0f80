/**
 * A view that somebody looks at: what it showed, by key, so that watches see what changes. One that nobody watches or has asked for in a while is closed when the
 * next change would cost work; who asks again has a new one, and who would go on with a watch of before is told to list again.
 */
import type { Space } from '../../core/apiserver/space.ts';
import type { ViewSource, ViewStorage } from '../../core/apiserver/storage/view.ts';
import { formatKey, type ObjectKey, parseKey } from '../../core/object/key.ts';
import { equalBytes } from '../../core/store/bytes.ts';

/** As long as a watch that broke off may be gone and go on where it was: what an API server keeps its history for. */
const idleMs = 5 * 60_000;

export class OpenView<Contents extends ViewSource = ViewSource> {
  readonly space: Space;
  readonly contents: Contents;
  readonly #storage: ViewStorage;
  /** Of the space itself; more than these are watches. */
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

  /** This object may have changed. */
  tell(key: ObjectKey): void {
    const id = formatKey(key);
    const before = this.#shown.get(id);
    const after = this.contents.get(key);
    if (after) this.#shown.set(id, after);
    else this.#shown.delete(id);
    this.#storage.changed(key, before, after);
  }

  /** Anything may have changed. */
  compare(): void {
    const now = this.#listed();
    for (const id of new Set([...this.#shown.keys(), ...now.keys()])) {
      const before = this.#shown.get(id);
      const after = now.get(id);
      if (before && after && equalBytes(before, after)) continue;
      this.#storage.changed(parseKey(id), before, after);
    }
    this.#shown = now;
  }

  #listed(): Map<string, Uint8Array> {
    return new Map([...this.contents.list()].map(({ key, body }) => [formatKey(key), body]));
  }
}
