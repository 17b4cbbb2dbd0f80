/** The question and the answer of a write in the separate thread (body-thread.ts). */
import type { ObjectKey } from '../../object/key.ts';
import type { FilledAs } from '../space.ts';
import type { StoredObject } from '../storage.ts';

/** A write of one object, with everything that the thread has to know about it. */
export interface ThreadWrite {
  readonly method: 'POST' | 'PUT' | 'PATCH';
  /** The parameters of the URL, without `dryRun`. */
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** The key in the URL. A POST has the name in its body. */
  readonly key: ObjectKey;
  readonly version: string;
  readonly subresource: string;
  /** How the space fills in fields. Undefined: not at all. */
  readonly fills: FilledAs | undefined;
  /** The object that is stored now. Absent: there is none. */
  readonly live?: StoredObject | undefined;
  /** The CustomResourceDefinition of the kind. Absent: the kind is built-in. */
  readonly definition?: StoredObject | undefined;
}

/**
 * The answer to the client, and the bytes to store under the key. Without `stored`, the write changes nothing, and `body` is the body of the answer.
 * `elsewhere`: the update removes the last finalizer of a deleted object, and with it the object. This happens in the thread of the space.
 */
export type ThreadWritten =
  | 'elsewhere'
  | {
      readonly status: number;
      readonly headers: Readonly<Record<string, string | string[]>>;
      readonly body: Uint8Array;
      readonly stored?: { readonly key: ObjectKey; readonly bytes: Uint8Array };
    };
