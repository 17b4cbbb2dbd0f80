/**
 * The objects of a space at one revision, read little by little while the space goes on. The store keeps no read transaction open for it: as long as one is
 * open, LMDB uses no page again that is freed, and a client that reads slowly would make the file grow. Instead the snapshot keeps of each object that
 * changes meanwhile the state before, and all else is read as it is.
 */
import type { GroupResource, ObjectKey } from '../../object/key.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { ScanOptions, SpaceStorage, StorageEvent, StoredObject } from '../storage.ts';
import { compareKeys, isSelected, orderOf, ownBody } from './event-log.ts';

/** Bytes of former states that a snapshot may keep: an eighth of the bound of the space's event log, which holds mostly the same bodies. */
export const keptBytesMax = 4 * 1024 * 1024;

/** The API server's own words. */
const notKept =
  'The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter.';

export class Snapshot implements Disposable {
  readonly revision: number;
  readonly #storage: SpaceStorage;
  readonly #resource: GroupResource;
  /** The former states of objects that changed after the revision, by `orderOf`. Undefined: the object did not exist. */
  readonly #before = new Map<string, StoredObject | undefined>();
  readonly #unsubscribe: () => void;
  #keptBytes = 0;

  /** Throws Expired when the events since `revision` are not kept any more. Whoever opens it disposes of it. */
  constructor(storage: SpaceStorage, resource: GroupResource, revision = storage.revision()) {
    this.#storage = storage;
    this.#resource = resource;
    this.revision = revision;
    const since = storage.eventsSince(revision);
    if (since === 'expired') throw new BanyanError('Expired', notKept);
    // These are in the log, which has its own bound.
    for (const event of since) this.#keep(event);
    this.#unsubscribe = storage.subscribe((events) => {
      for (const event of events) if (!this.#isLost()) this.#keptBytes += this.#keep(event);
    });
  }

  [Symbol.dispose](): void {
    this.#unsubscribe();
    this.#before.clear();
  }

  /** Shows what is selected in order of namespace, then name, until `see` says that it has seen enough (false). */
  visit(options: Omit<ScanOptions, 'limit'>, see: (object: StoredObject) => boolean): void {
    const changed = [...this.#before.values()]
      .filter((object) => object !== undefined)
      .filter(({ key }) => isSelected(key, this.#resource, options))
      .sort((a, b) => compareKeys(a.key, b.key));
    let goesOn = true;
    this.#storage.visit(this.#resource, options, (object) => {
      while (goesOn && changed[0] && compareKeys(changed[0].key, object.key) < 0) goesOn = see(changed.shift()!);
      if (goesOn && !this.#before.has(orderOf(object.key))) goesOn = see(object);
      return goesOn;
    });
    while (goesOn && changed[0]) goesOn = see(changed.shift()!);
  }

  /** Throws Expired when too much has changed since the snapshot was opened. */
  get(key: ObjectKey): StoredObject | undefined {
    if (this.#isLost()) {
      const message = `more than ${keptBytesMax} bytes have changed since revision ${this.revision}: list again, in chunks or faster`;
      throw new BanyanError('Expired', message);
    }
    const id = orderOf(key);
    return this.#before.has(id) ? this.#before.get(id) : this.#storage.get(key);
  }

  #isLost(): boolean {
    return this.#keptBytes > keptBytesMax;
  }

  /** Returns how many bytes it takes. */
  #keep({ object: { key }, before }: StorageEvent): number {
    const id = orderOf(key);
    const { group, resource } = this.#resource;
    if (key.resource !== resource || key.group !== group || this.#before.has(id)) return 0;
    this.#before.set(id, before && ownBody(before));
    return id.length + (before?.body.length ?? 0);
  }
}
