/**
 * The objects of a space at one revision, read in pieces while the space changes. The snapshot does not keep a read transaction of the store open: during a
 * read transaction, LMDB can't reuse freed pages, and a slow client would make the file grow. Instead, when an object changes, the snapshot keeps the old
 * state of the object. All other objects are read from the storage.
 */
import type { GroupResource, ObjectKey } from '../../object/key.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { ScanOptions, SpaceStorage, StorageEvent, StoredObject } from '../storage.ts';
import { compareKeys, isSelected, orderOf, ownBody } from './event-log.ts';

/** Bytes of old states that a snapshot may keep: an eighth of the bound of the space's event log. The event log mostly contains the same bodies. */
export const keptBytesMax = 4 * 1024 * 1024;

/** The message of the Kubernetes API server. */
const notKept =
  'The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter.';

export class Snapshot implements Disposable {
  readonly revision: number;
  readonly #storage: SpaceStorage;
  readonly #resource: GroupResource;
  /** The old states of objects that have changed after the revision, keyed by `orderOf`. Undefined if the object did not exist. */
  readonly #before = new Map<string, StoredObject | undefined>();
  readonly #unsubscribe: () => void;
  #keptBytes = 0;

  /** Throws Expired if the storage has already dropped events after `revision`. The caller must dispose of the snapshot. */
  constructor(storage: SpaceStorage, resource: GroupResource, revision = storage.revision()) {
    this.#storage = storage;
    this.#resource = resource;
    this.revision = revision;
    const since = storage.eventsSince(revision);
    if (since === 'expired') throw new BanyanError('Expired', notKept);
    // These old states are also in the event log, which has a bound of its own. So they do not count for the bound of the snapshot.
    for (const event of since) this.#keep(event);
    this.#unsubscribe = storage.subscribe((events) => {
      for (const event of events) if (!this.#isLost()) this.#keptBytes += this.#keep(event);
    });
  }

  [Symbol.dispose](): void {
    this.#unsubscribe();
    this.#before.clear();
  }

  /**
   * Calls `see` for the selected objects, sorted by namespace, then by name, until `see` returns false. A caller that goes on later passes the last object as
   * `after`. `limit`: a caller that needs no more objects than this; `see` may be called more often. Throws Expired if too many bytes have changed since the snapshot was opened.
   */
  visit({ limit, ...options }: ScanOptions, see: (object: StoredObject) => boolean): void {
    this.#checkKept();
    if (this.isUnchanged)
      return this.#storage.visit(this.#resource, { ...options, ...(limit === undefined ? {} : { limit }) }, see);
    const changed = [...this.#before.values()]
      .filter((object) => object !== undefined)
      .filter(({ key }) => isSelected(key, this.#resource, options))
      .sort((a, b) => compareKeys(a.key, b.key));
    let wantsMore = true;
    // The storage may have as many other objects as have changed.
    const most = limit === undefined ? {} : { limit: limit + this.#before.size };
    this.#storage.visit(this.#resource, { ...options, ...most }, (object) => {
      while (wantsMore && changed[0] && compareKeys(changed[0].key, object.key) < 0) wantsMore = see(changed.shift()!);
      if (wantsMore && !this.#before.has(orderOf(object.key))) wantsMore = see(object);
      return wantsMore;
    });
    while (wantsMore && changed[0]) wantsMore = see(changed.shift()!);
  }

  /** True: no object has changed since the revision of the snapshot. So the storage itself is in the state of the snapshot. */
  get isUnchanged(): boolean {
    return this.#before.size === 0;
  }

  /** The object at the revision of the snapshot. Throws Expired if too many bytes have changed since the snapshot was opened. */
  get(key: ObjectKey): StoredObject | undefined {
    this.#checkKept();
    const id = orderOf(key);
    return this.#before.has(id) ? this.#before.get(id) : this.#storage.get(key);
  }

  #checkKept(): void {
    if (!this.#isLost()) return;
    const message = `more than ${keptBytesMax} bytes have changed since revision ${this.revision}: list again, in chunks or faster`;
    throw new BanyanError('Expired', message);
  }

  #isLost(): boolean {
    return this.#keptBytes > keptBytesMax;
  }

  /** Keeps the old state of the event's object if the snapshot needs it. Returns the number of bytes that were added. */
  #keep({ object: { key }, before }: StorageEvent): number {
    const id = orderOf(key);
    const { group, resource } = this.#resource;
    if (key.resource !== resource || key.group !== group || this.#before.has(id)) return 0;
    this.#before.set(id, before && ownBody(before));
    return id.length + (before?.body.length ?? 0);
  }
}
