/**
 * The storage of one space's objects, as the API server uses it. Implementations: `storage/embedded.ts` (in the node's own store) and `storage/view.ts`
 * (read-only: mailboxes, and objects from a parent). Objects are canonical bytes without resourceVersion (see object/canonical.ts). Lists and watches send
 * these bytes without parsing them.
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
  /** The new state. For DELETED: the last state, with the revision of the deletion. */
  readonly object: StoredObject;
  /** The state before the change. With it, a watch with a selector knows whether the object was selected before. */
  readonly before?: StoredObject;
}

export interface ScanOptions {
  readonly namespace?: string;
  /** The scan begins directly after this object. */
  readonly after?: { readonly namespace: string; readonly name: string };
  /** Maximal number of objects. */
  readonly limit?: number;
}

export interface SpaceStorage {
  readonly readOnly: boolean;
  /** The newest revision. */
  revision(): number;
  get(key: ObjectKey): StoredObject | undefined;
  /** Returns the objects from one snapshot, sorted by namespace, then by name. */
  scan(resource: GroupResource, options?: ScanOptions): StoredObject[];
  /** Calls `see` for each object, in the order of `scan`, without holding all objects in memory. Ends when `see` returns false. `see` must not write. */
  visit(resource: GroupResource, options: ScanOptions, see: (object: StoredObject) => boolean): void;
  /** Number of objects that `scan` returns without a limit. */
  count(resource: GroupResource, options?: Omit<ScanOptions, 'limit'>): number;
  /**
   * The key of the last of the `limit` objects that `scan` returns, if more objects follow. Undefined: no more objects follow. Reads no other object.
   */
  pageEnd(resource: GroupResource, options: ScanOptions & { readonly limit: number }): ObjectKey | undefined;
  /** The resources that have at least one object. */
  resources(): GroupResource[];
  /**
   * Runs one transaction. Throws MethodNotAllowed if the storage is readOnly. Subscribers get the events after the commit, in the order of their revisions.
   * The write is durable only after `flushed()`.
   */
  write<T>(fn: (writer: SpaceWriter) => T): T;
  flushed(): Promise<void>;
  /** Makes the revision grow without a change of any object. Absent: the storage is readOnly. */
  skipRevision?(): void;
  /** The events with revision > since. Returns 'expired' if the storage has already dropped some of them. The caller must then answer 410. */
  eventsSince(since: number): StorageEvent[] | 'expired';
  /**
   * Calls the listener synchronously after each commit. Calls `removed` if the space is removed for good: no further event will come. Returns the function that
   * ends the subscription.
   */
  subscribe(listener: (events: readonly StorageEvent[]) => void, removed?: () => void): () => void;
}

export interface SpaceWriter {
  get(key: ObjectKey): StoredObject | undefined;
  /** Returns the stored object with its new revision. */
  put(key: ObjectKey, body: Uint8Array): StoredObject;
  remove(key: ObjectKey): StoredObject | undefined;
}

/** Called for each change of an embedded space, in the transaction of the change. What the hook writes is committed together with the change. */
export type WriteHook = (t: Transaction, event: StorageEvent) => void;
