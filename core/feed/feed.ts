/**
 * The one replication primitive. A feed is a durable keyed log between one producer and one consumer: the latest value of each key, strictly increasing
 * revisions, and tombstones that stay until they are acknowledged. docs/protocol.md gives the reason for each rule.
 *
 * Everything here is synchronous and works in the caller's transaction. The caller decides what else commits with it, and sends only after the store has
 * flushed. Tables (`table.ts`) are the rows of producers, of consumers, and of the scheduler's sources.
 */
import type { Reader, Transaction } from '../store/store.ts';

/** Bound for a key. A namespace, a name, a group and a resource have at most some 800 bytes; the store takes keys of less than 2 KiB. */
export const keyBytesMax = 1_500;

/** The content of an entry. The feed never looks into attributes or body. */
export interface Content {
  readonly key: string;
  /** Small facts for the nodes on the way (JSON text as bytes; at most 64 KiB): see docs/protocol.md, "Entries". */
  readonly attributes: Uint8Array;
  /** Canonical bytes of an object, or empty. */
  readonly body: Uint8Array;
}

/** The name by which a row refers to a content. Each node stores a content once, under its hash, with a count of the rows that name it. */
export interface ContentReference {
  readonly hash: Uint8Array;
}

/** The latest value of one key in one table. */
export interface FeedRow {
  readonly keyHash: Uint8Array;
  readonly revision: number;
  /** The revision of the write at the origin that made this value. A value with a lower origin revision never replaces a value with a higher one. */
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

/** A consumer's place in its feed, and the identity of the producer to which the place belongs. Committed together with the entries that it covers. */
export interface ResumeTuple {
  /** 16 random bytes, in hex. The producer gets new ones whenever its database is new or lost. Empty: the consumer has never attached. */
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
  /** Absent: a tombstone, or a content that came in pieces. */
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

/** The same for all entries of a message. */
export function bytesOfEntries(entries: readonly { readonly content?: Content }[]): number {
  return entries.reduce((sum, entry) => sum + entryBytes(entry), 0);
}

export interface Batch {
  readonly entries: readonly WireEntry[];
  /** `to` is the consumer's cursor after this batch, `from` the cursor before. The batches of one session are contiguous. */
  readonly from: number;
  readonly to: number;
  /** Head of the producer when the batch was made, durable or not. Revisions up to this head may have superseded revisions that the batch leaves out. */
  readonly head: number;
  readonly epoch: string;
  readonly incarnation: string;
  /** The entries of this batch overtake an entry whose content is still sent in pieces: `from` is after that entry's revision, and the cursor does not move. */
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
  /** For rows of spaces: the origin revision of a row or tombstone. Undefined if there is no row, or if no space can have given this revision. */
  newest(row: FeedRow | undefined): number | undefined;
  /**
   * Sets the key's value. Does nothing and returns false if the key already has this content, or if its origin revision is newer than `originRevision`. The
   * second form shares a content that another table of this store has.
   */
  put(t: Transaction, content: Content, originRevision: number): boolean;
  putReference(t: Transaction, keyHash: Uint8Array, reference: ContentReference, originRevision: number): boolean;
  /** Removes the key, and leaves a tombstone until the consumer acknowledges it. False if the key is not there. */
  remove(t: Transaction, keyHash: Uint8Array, originRevision: number): boolean;
  /** Whether a consumer may resume from its cursor. If not, the feed is reconciled. docs/protocol.md has exactly this rule. */
  resumable(reader: Reader, tuple: ResumeTuple): boolean;
  /**
   * Entries with `after` < revision <= `durableHead`, in order of revision, at least one if there is any. Undefined if `after` is the durable head. The batch
   * with the last entries reaches to the durable head; it is empty if all revisions up to there were purged or superseded. An entry larger than maxBytes
   * travels alone.
   */
  batch(reader: Reader, after: number, durableHead: number, limits: BatchLimits): Batch | undefined;
  /** The consumer has flushed everything up to `cursor`: removes the tombstones up to there, and raises the purge floor. */
  acknowledge(t: Transaction, cursor: number): void;
  /** The entries that are not acknowledged yet, counted up to 1,000, and their bytes. The bytes of more than 64 entries are estimated from a sample. */
  backlog(reader: Reader): { entries: number; bytes: number; oldestRevision?: number };
}

// ---------------------------------------------------------------------------------------------------- consumer

/** The change of one key by a batch or a reconciliation. Keys whose value stayed the same are left out. */
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
   * Applies a batch: rows, cursor and seenHead, in the caller's transaction. Throws Protocol if the batch does not begin at the cursor. Ignores a batch that
   * lies wholly at or before the cursor (a duplicate). In a feed of spaces, an entry with a lower origin revision than the row's does not change the row.
   */
  apply(t: Transaction, batch: Batch): AppliedChange[];
  /**
   * Applies the entries of a batch that overtakes others. The cursor does not move, so after a broken session these entries are sent again. seenHead rises,
   * so that the consumer does not resume at a producer that has lost these entries.
   */
  applyAhead(t: Transaction, batch: Batch): AppliedChange[];
}

// ---------------------------------------------------------------------------------------------------- reconcile

/** The keys whose hashes begin with these digits. */
export interface PrefixSummary {
  /** Hexadecimal digits, one in a byte. Empty: all keys. */
  readonly prefix: Uint8Array;
  /** 8 bytes. Empty: the side that asks has no row there. */
  readonly fingerprint: Uint8Array;
}

export interface ReconcileRequest {
  /** Names one round. A reply with another number is refused. */
  readonly round: number;
  /** Random, made for one reconciliation, so that nobody who made a content could know its fingerprint before. Empty in a request without prefixes. */
  readonly seed: Uint8Array;
  readonly prefixes: readonly PrefixSummary[];
  /** Keys whose contents the consumer wants, from lists that it received. */
  readonly wanted: readonly Uint8Array[];
}

/** A row that the producer has, as a list names it. */
export interface Listed {
  readonly keyHash: Uint8Array;
  readonly originRevision: number;
  /** The row has the same content as this one. */
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
  /** The fingerprints of the 16 longer prefixes, with one digit added each, in order. */
  | { readonly kind: 'split'; readonly parts: readonly Uint8Array[] }
  | { readonly kind: 'list'; readonly items: readonly PrefixItem[] };

export interface ReconcileReply {
  readonly round: number;
  /** One for each prefix of the request, in their order. */
  readonly answers: readonly PrefixAnswer[];
  readonly entries: readonly WireEntry[];
  /** The durable head before the first answer of this round was made. The consumer's cursor when the reconciliation is done. */
  readonly head: number;
  /** Empty, like the incarnation, after the first round: the values of the first round apply. */
  readonly epoch: string;
  readonly incarnation: string;
}
