/** The question and the answer of a write in the separate thread (body-thread.ts). */
import type { ObjectKey } from '../../object/key.ts';
import type { NamedKind, SpaceFacts, UserInfo } from '../space.ts';
import type { StoredObject } from '../storage.ts';

/** A write of one object, with everything that the thread has to know about it. */
export interface ThreadWrite {
  readonly method: 'POST' | 'PUT' | 'PATCH';
  /** The parameters of the URL, without `dryRun`. */
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Absent: the node itself writes. */
  readonly user?: UserInfo | undefined;
  /** The key in the URL. A POST has the name in its body. */
  readonly key: ObjectKey;
  readonly version: string;
  readonly subresource: string;
  readonly facts: SpaceFacts;
  /** The names of the kinds that definitions in the space define. Placements name them. */
  readonly customKinds: readonly NamedKind[];
  /** The object that is stored now. Absent: there is none. */
  readonly live?: StoredObject | undefined;
  /** The CustomResourceDefinition of the kind. Absent: every space of this type has the kind. */
  readonly definition?: StoredObject | undefined;
}

/**
 * The answer to the client, and what to store. Without `stored`, the write changes nothing, and `body` is the body of the answer.
 * `elsewhere`: a check has to read other objects. Then the write happens in the thread of the space.
 */
export type ThreadWritten =
  | 'elsewhere'
  | {
      readonly status: number;
      readonly headers: Readonly<Record<string, string | string[]>>;
      readonly body: Uint8Array;
      readonly stored?: ThreadStored;
    };

export interface ThreadStored {
  readonly key: ObjectKey;
  /** Undefined: the object is removed, because the update removes the last finalizer of a deleted object. */
  readonly bytes: Uint8Array | undefined;
  /** Canonical bytes of the object in the answer. Absent: they are `bytes`. */
  readonly shown?: Uint8Array;
}
