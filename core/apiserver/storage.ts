/**
 * The storage of one space's objects, as the API server sees it. Implementations: `storage/embedded.ts` (in the node's own store) and `storage/view.ts`
 * (read-only: mailboxes, and objects from a parent). Objects are canonical bytes without resourceVersion (see object/canonical.ts). Lists and watches pass
 * the bytes on without parsing.
 *
 * Revisions are integers from one counter of the space. The revision of an object is its resourceVersion.
 */
import type { GroupResource, ObjectKey } from '../object/key.ts';
import type { Transaction } from '../store/store.ts';

export interface StoredObject {
  readonly key: ObjectKey;
  readonly revision: number;
  readonly body: Uint8Array;
}

export interface StorageEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** For DELETED: the last state, with the revision of the deletion. */
  readonly object: StoredObject;
  /** The state before. With it, a watch with a selector knows whether the object was selected before. */
  readonly before?: StoredObject;
}

export interface ScanOptions {
  readonly namespace?: string;
  /** The scan begins after this object (exclusive). */
  readonly after?: { readonly namespace: string; readonly name: string };
  /** Maximal number of objects. */
  readonly limit?: number;
}

export interface SpaceStorage {
  readonly readOnly: boolean;
  /** The newest revision. */
  revision(): number;
  get(key: ObjectKey): StoredObject | undefined;
  /** One snapshot, in order of namespace, then name. */
  scan(resource: GroupResource, options?: ScanOptions): StoredObject[];
  /** Like `scan`, object by object, without holding all objects in memory. Ends when `see` returns false. `see` must not write. */
  visit(resource: GroupResource, options: ScanOptions, see: (object: StoredObject) => boolean): void;
  /** The resources with at least one object. */
  resources(): GroupResource[];
  /**
   * One transaction. Throws MethodNotAllowed if readOnly. Subscribers get the events after the commit, in order of revision. Durable only after
   * `flushed()`.
   */
  write<T>(fn: (writer: SpaceWriter) => T): T;
  flushed(): Promise<void>;
  /** Events with revision > since. Returns 'expired' if the storage has dropped some of them; then the caller answers 410. */
  eventsSince(since: number): StorageEvent[] | 'expired';
  /** Calls the listener synchronously after each commit. Returns the function that ends the subscription. */
  subscribe(listener: (events: readonly StorageEvent[]) => void): () => void;
}

export interface SpaceWriter {
  get(key: ObjectKey): StoredObject | undefined;
  /** Returns the stored object with its new revision. */
  put(key: ObjectKey, body: Uint8Array): StoredObject;
  remove(key: ObjectKey): StoredObject | undefined;
}

/** Called for each change of an embedded space, inside its transaction. The writes of the hook commit together with the change. */
export type WriteHook = (t: Transaction, event: StorageEvent) => void;
