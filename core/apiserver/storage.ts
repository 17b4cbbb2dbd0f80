/**
 * Where the objects of one space lie, as the API server sees it. Implementations: `storage/embedded.ts` (the node's own
 * store) and `storage/view.ts` (read-only: mailboxes, what comes from a parent). Objects are canonical bytes without
 * resourceVersion (see object/canonical.ts); lists and watches pass them on without parsing.
 *
 * Revisions are integers from one counter of the space; the revision of an object is its resourceVersion.
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
  /** For DELETED: the last state, at the revision of the deletion. */
  readonly object: StoredObject;
  /** The state before, so that a watch with a selector can tell "left the selection" from "never was in it". */
  readonly before?: StoredObject;
}

export interface ScanOptions {
  readonly namespace?: string;
  /** Begin behind this object (exclusive). */
  readonly after?: { readonly namespace: string; readonly name: string };
  /** Return no more than this many. */
  readonly limit?: number;
}

export interface SpaceStorage {
  readonly readOnly: boolean;
  /** The newest revision. */
  revision(): number;
  get(key: ObjectKey): StoredObject | undefined;
  /** In order of namespace, then name, as one snapshot. */
  scan(resource: GroupResource, options?: ScanOptions): StoredObject[];
  /** The same, object by object, without holding all of them; ends when `see` says that it has seen enough (false). Nothing is written meanwhile. */
  visit(resource: GroupResource, options: ScanOptions, see: (object: StoredObject) => boolean): void;
  /** Every resource of which there is at least one object. */
  resources(): GroupResource[];
  /**
   * One transaction. Throws MethodNotAllowed when readOnly. Events reach subscribers after the commit, in order of revision.
   * Durable only after `flushed()`.
   */
  write<T>(fn: (writer: SpaceWriter) => T): T;
  flushed(): Promise<void>;
  /** Events with revision > since; 'expired' when they are not kept any more (the caller answers 410). */
  eventsSince(since: number): StorageEvent[] | 'expired';
  /** Called synchronously after each commit. Returns the function that ends it. */
  subscribe(listener: (events: readonly StorageEvent[]) => void): () => void;
}

export interface SpaceWriter {
  get(key: ObjectKey): StoredObject | undefined;
  /** Returns the stored object with its new revision. */
  put(key: ObjectKey, body: Uint8Array): StoredObject;
  remove(key: ObjectKey): StoredObject | undefined;
}

/** Sees each change of an embedded space inside its transaction: what it writes commits with the change. */
export type WriteHook = (t: Transaction, event: StorageEvent) => void;
