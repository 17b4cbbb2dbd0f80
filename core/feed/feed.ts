/**
 * The one replication primitive. A feed is a durable keyed log between one producer and one consumer: the latest value of each key, strictly increasing
 * revisions, and tombstones that stay until they are acknowledged. docs/protocol.md gives the reason for each rule.
 *
 * All functions are synchronous and work in the caller's transaction. The caller decides what else is part of this transaction, and sends only after the
 * store has flushed. Tables (`table.ts`) are the rows of producers, of consumers, and of the scheduler's sources.
 */
import type { Reader, Transaction } from '../store/store.ts';

/** Limit for a key. A namespace, a name, a group and a resource have at most about 800 bytes together. The store accepts keys of less than 2 KiB. */
export const keyBytesMax = 1_500;

/** The content of an entry. The feed never parses attributes or body. */
export interface Content {
  readonly key: string;
  /** Facts that nodes need without the body: JSON text as bytes, at most 64 KiB. See docs/protocol.md, "Entries". */
  readonly attributes: Uint8Array;
  /** Canonical bytes of an object, or empty. */
  readonly body: Uint8Array;
}

/** The hash with which a row names its content. Each node stores a content once, under its hash, with a count of the rows that name it. */
export interface ContentReference {
  readonly hash: Uint8Array;
}

/** The latest value of one key in one table. */
export interface FeedRow {
  readonly keyHash: Uint8Array;
  readonly revision: number;
  /** The revision of the write at the origin that made this value. In general, a value with a lower origin revision never replaces one with a higher. */
  readonly originRevision: number;
  /** Absent: a tombstone. */
  readonly content?: ContentReference;
  /** At a consumer: a reconciliation found that the producer lacks the row, and the row stays until a person approves its deletion; see deletions.ts. */
  readonly held?: true;
  /** At a consumer: the row is quarantined, because it does not have the form that its key requires; see quarantine.ts. */
  readonly poisoned?: true;
}

/**
 * Rows by key hash. All tables of a store share the contents. A table is the state of one end of a feed, or a source of the scheduler. All revisions of a
 * table come from one counter.
 */
export interface Table {
  readonly name: string;
  get(reader: Reader, keyHash: Uint8Array): FeedRow | undefined;
  content(reader: Reader, reference: ContentReference): Content;
  /** Live rows in order of key hash. */
  rows(reader: Reader): Iterable<FeedRow>;
}

// ---------------------------------------------------------------------------------------------------- producer

export interface Incarnation {
  /** The boot nonce of this start of the process: 16 bytes, hex (core/session/node-identity.ts). */
  readonly bootNonce: string;
  readonly startRevision: number;
}

/** A consumer's place in its feed, and the identity of the producer of this feed. Committed together with the entries up to this place. */
export interface ResumeTuple {
  /** 16 random bytes, in hex. A producer with a new or emptied database makes a new epoch. Empty: the consumer has never attached. */
  readonly epoch: string;
  /** The boot nonce of the incarnation that announced `seenHead`. */
  readonly incarnation: string;
  readonly cursor: number;
  /** The head that the producer announced with the last batch. */
  readonly seenHead: number;
}

export interface WireEntry {
  readonly keyHash: Uint8Array;
  readonly revision: number;
  readonly originRevision: number;
  /** Absent: a tombstone, or a content that was sent in pieces. */
  readonly content?: Content;
  /** Hash of the content, if the content was sent in pieces before (pieces.ts). */
  readonly pieces?: Uint8Array;
}

/** Bytes of an entry on the wire besides its content. */
const entryOverheadBytes = 64;

/** The size of an entry for limits and credits, on both sides. */
export function entryBytes({ content }: { readonly content?: Content }): number {
  return entryOverheadBytes + (content ? content.key.length + content.attributes.length + content.body.length : 0);
}

/** The sum of `entryBytes` over all entries of a message. */
export function bytesOfEntries(entries: readonly { readonly content?: Content }[]): number {
  return entries.reduce((sum, entry) => sum + entryBytes(entry), 0);
}

export interface Batch {
  readonly entries: readonly WireEntry[];
  /** `to` is the consumer's cursor after this batch, `from` the cursor before. The batches of one session are contiguous. */
  readonly from: number;
  readonly to: number;
  /** Head of the producer when the batch was made, durable or not. The batch leaves out revisions that newer ones, up to this head, have superseded. */
  readonly head: number;
  readonly epoch: string;
  readonly incarnation: string;
  /** True: the batch overtakes an entry whose content is still sent in pieces. `from` is after that entry's revision, and the cursor does not move. */
  readonly ahead?: boolean;
}

export interface BatchLimits {
  readonly maxBytes: number;
  readonly maxEntries: number;
}

export interface Producer extends Table {
  readonly epoch: string;
  readonly incarnation: string;
  /** The newest revision written, durable or not. */
  head(reader: Reader): number;
  purgeRevision(reader: Reader): number;
  acknowledged(reader: Reader): number;
  /** For rows of spaces: the origin revision of a row or tombstone. Undefined if there is no row, or if no space can have reached this revision yet. */
  newest(row: FeedRow | undefined): number | undefined;
  /**
   * Sets the value of a key. Does nothing and returns false in two cases: the row has this content and this origin revision already, or the row's origin
   * revision is newer than `originRevision`. `putReference` does the same with a content that another table of this store already has.
   */
  put(t: Transaction, content: Content, originRevision: number): boolean;
  putReference(t: Transaction, keyHash: Uint8Array, reference: ContentReference, originRevision: number): boolean;
  /** Removes the key, and leaves a tombstone until the consumer acknowledges it. Returns false if there is no live row, or if the row is newer. */
  remove(t: Transaction, keyHash: Uint8Array, originRevision: number): boolean;
  /** Whether a consumer may resume from its cursor. If not, the feed is reconciled. docs/protocol.md describes the same rule. */
  resumable(reader: Reader, tuple: ResumeTuple): boolean;
  /**
   * Returns entries with `after` < revision <= `durableHead`, in the order of their revisions, and at least one entry if there is any. Undefined if the
   * consumer has everything up to the durable head. The `to` of the last batch is the durable head. This batch is empty if all revisions after `after` were
   * purged or superseded. An entry larger than maxBytes is alone in its batch.
   */
  batch(reader: Reader, after: number, durableHead: number, limits: BatchLimits): Batch | undefined;
  /** Records that the consumer has flushed everything up to `cursor`. Removes the tombstones up to `cursor`, and raises the purge revision. */
  acknowledge(t: Transaction, cursor: number): void;
  /** The number of entries that are not acknowledged yet (at most 1,000 are counted), and their bytes. For more than 64 entries, the bytes are an estimate. */
  backlog(reader: Reader): { entries: number; bytes: number; oldestRevision?: number };
}

// ---------------------------------------------------------------------------------------------------- consumer

/** One key that a batch or a reconciliation has changed. If the value of a key stayed the same, there is no AppliedChange. */
export interface AppliedChange {
  readonly keyHash: Uint8Array;
  readonly key: string;
  readonly originRevision: number;
  readonly before?: Content;
  readonly after?: Content;
}

export interface Consumer extends Table {
  resume(reader: Reader): ResumeTuple;
  /**
   * Applies a batch in the caller's transaction: rows, cursor and seenHead. Throws Protocol if the batch does not begin at the cursor. Ignores a duplicate: a
   * batch that ends at or before the cursor. In a feed of spaces, an entry does not change a row with a higher origin revision.
   */
  apply(t: Transaction, batch: Batch): AppliedChange[];
  /**
   * Applies the entries of a batch that overtakes a large entry. The cursor does not move, so the producer sends these entries again after a broken session.
   * seenHead rises. So if the producer loses these entries, the consumer may not resume there and has to reconcile.
   */
  applyAhead(t: Transaction, batch: Batch): AppliedChange[];
}

// ---------------------------------------------------------------------------------------------------- reconcile

/** A prefix of key hashes, with the fingerprint of the rows under this prefix. */
export interface PrefixSummary {
  /** Hexadecimal digits, one in a byte. Empty: all keys. */
  readonly prefix: Uint8Array;
  /** 8 bytes. Empty: the consumer, which asks, has no row under this prefix. */
  readonly fingerprint: Uint8Array;
}

export interface ReconcileRequest {
  /** The number of the round. A reply with another number is refused. */
  readonly round: number;
  /** Random, made for one reconciliation. So nobody can make contents whose fingerprints are known before. Empty in a request without prefixes. */
  readonly seed: Uint8Array;
  readonly prefixes: readonly PrefixSummary[];
  /** Keys from received lists whose contents the consumer needs. */
  readonly wanted: readonly Uint8Array[];
}

/** A row of the producer, as one item of a list describes it. */
export interface Listed {
  readonly keyHash: Uint8Array;
  readonly originRevision: number;
  /** Whether this row of the consumer has the same content as the listed row. */
  isLike(row: FeedRow): boolean;
}

export interface PrefixItem {
  readonly keyHash: Uint8Array;
  /** The fingerprint of this row alone: 8 bytes. */
  readonly fingerprint: Uint8Array;
  readonly originRevision: number;
}

export type PrefixAnswer =
  | { readonly kind: 'same' }
  /** The fingerprints of the 16 prefixes that are one digit longer, in the order of this digit. */
  | { readonly kind: 'split'; readonly parts: readonly Uint8Array[] }
  | { readonly kind: 'list'; readonly items: readonly PrefixItem[] };

export interface ReconcileReply {
  readonly round: number;
  /** One answer for each prefix of the request, in the order of the request. */
  readonly answers: readonly PrefixAnswer[];
  readonly entries: readonly WireEntry[];
  /** The durable head, read before the answers of this round were made. The head of the first round becomes the consumer's cursor at the end. */
  readonly head: number;
  /** Only the first round has an epoch and an incarnation. In later rounds both are empty, and the values of the first round apply. */
  readonly epoch: string;
  readonly incarnation: string;
}
