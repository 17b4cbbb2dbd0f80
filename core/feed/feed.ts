/**
 * The one replication primitive: a feed is a durable keyed log between one producer and one consumer. Key -> latest
 * value, a strictly increasing revision, tombstones kept until acknowledged. docs/protocol.md says why each rule is there.
 *
 * Everything here is synchronous and works on a transaction that the caller holds: the caller decides what else commits with it,
 * and sends only after the store has flushed. Tables (`table.ts`) are the rows beneath producers, consumers and the
 * scheduler's sources alike.
 */
import type { Reader, Transaction } from '../store/store.ts';

/** Of a key: a namespace, a name, a group and a resource are at most some 800 bytes; the store takes keys of less than 2 KiB. */
export const keyBytesMax = 1_500;

/** What an entry carries. The feed never looks into either part. */
export interface Content {
  readonly key: string;
  /** Small facts for the nodes on the way (JSON text as bytes; at most 64 KiB): see docs/protocol.md, "Entries". */
  readonly attributes: Uint8Array;
  /** Canonical bytes of an object, or empty. */
  readonly body: Uint8Array;
}

/** A content as a row names it: stored once per node under its hash, with a count of the rows that name it. */
export interface ContentReference {
  readonly hash: Uint8Array;
}

/** The latest value of one key in one table. */
export interface FeedRow {
  readonly keyHash: Uint8Array;
  readonly revision: number;
  /** The revision of the write at the origin that made this value: an older one never replaces a newer one. */
  readonly originRevision: number;
  /** Absent: a tombstone. */
  readonly content?: ContentReference;
  /** Of a consumer: a reconciliation found that the producer lacks it, and it stays until it is released; see deletions.ts. */
  readonly held?: true;
  /** Of a consumer: it is not what its key says; see quarantine.ts. */
  readonly poisoned?: true;
}

/**
 * Rows by key hash, contents shared between all tables of a store. One table is the state of one feed's end, or a
 * source of the scheduler. All revisions of one table come from one counter.
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

/** What a consumer knows of its producer; committed together with the entries that it covers. */
export interface ResumeTuple {
  /** 16 random bytes, hex, made anew whenever the producer's database is new or lost. Empty: never attached. */
  readonly epoch: string;
  /** bootNonce of the incarnation that announced `seenHead`. */
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
  /** Hash of the content that came in pieces before (pieces.ts). */
  readonly pieces?: Uint8Array;
}

/** What an entry costs on the wire besides its content. */
const entryOverheadBytes = 64;

/** What an entry counts for in limits and credits, on both sides. */
export function entryBytes({ content }: { readonly content?: Content }): number {
  return entryOverheadBytes + (content ? content.key.length + content.attributes.length + content.body.length : 0);
}

/** The same of all in a message. */
export function bytesOfEntries(entries: readonly { readonly content?: Content }[]): number {
  return entries.reduce((sum, entry) => sum + entryBytes(entry), 0);
}

export interface Batch {
  readonly entries: readonly WireEntry[];
  /** The consumer's cursor after this batch; batches of one session are contiguous: `from` is the cursor before. */
  readonly from: number;
  readonly to: number;
  /** Head of the producer when the batch was made, durable or not: the revisions that may have superseded what the batch leaves out. */
  readonly head: number;
  readonly epoch: string;
  readonly incarnation: string;
  /** Its entries overtake one whose content still comes in pieces: `from` is behind that one, and the cursor stays where it is. */
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
  /** Of what is of a space: the origin revision of a row or tombstone; undefined if there is none, or it claims what no space can have given. */
  newest(row: FeedRow | undefined): number | undefined;
  /**
   * Sets the key's value. Nothing happens (returns false) when the key has this content already or when its
   * `originRevision` is newer. The second form shares a content that another table of this store holds.
   */
  put(t: Transaction, content: Content, originRevision: number): boolean;
  putReference(t: Transaction, keyHash: Uint8Array, reference: ContentReference, originRevision: number): boolean;
  /** Leaves a tombstone until it is acknowledged; false if the key is not there. */
  remove(t: Transaction, keyHash: Uint8Array, originRevision: number): boolean;
  /** Whether a consumer may go on from its cursor; anything else is reconciled. The rule is the page's, word by word. */
  resumable(reader: Reader, tuple: ResumeTuple): boolean;
  /**
   * Entries with revision > after and <= durableHead, in order of revision, at least one if there is any; undefined if `after` is the durable
   * head. The batch that has the last of them reaches to the durable head; it is empty if all up to there was purged or superseded. One entry
   * larger than maxBytes travels alone.
   */
  batch(reader: Reader, after: number, durableHead: number, limits: BatchLimits): Batch | undefined;
  /** The consumer has flushed everything up to `cursor`: tombstones up to there go, and the purge floor rises. */
  acknowledge(t: Transaction, cursor: number): void;
  /** Entries not acknowledged yet, 1,000 at most, and their bytes: of more than 64 entries reckoned from some of them. */
  backlog(reader: Reader): { entries: number; bytes: number; oldestRevision?: number };
}

// ---------------------------------------------------------------------------------------------------- consumer

/** What a batch or a reconciliation did to one key. Keys whose value stayed the same are not told. */
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
   * Applies a batch: rows, cursor and seenHead in the caller's transaction. A batch that does not begin at the cursor is
   * refused with code Protocol; one that lies wholly at or before it is ignored (a duplicate). An entry with an older
   * originRevision than the row's leaves the row as it is, where the feed is of spaces.
   */
  apply(t: Transaction, batch: Batch): AppliedChange[];
  /**
   * Applies the entries of a batch that overtakes others. The cursor stays, so a session that breaks gets them again; seenHead rises, so that the
   * feed is not resumed at a producer that has lost them.
   */
  applyAhead(t: Transaction, batch: Batch): AppliedChange[];
}

// ---------------------------------------------------------------------------------------------------- reconcile

/** The keys whose hashes begin with these digits. */
export interface PrefixSummary {
  /** Hexadecimal digits, one in a byte; none: all keys. */
  readonly prefix: Uint8Array;
  /** 8 bytes; empty: whoever asks has no row there. */
  readonly fingerprint: Uint8Array;
}

export interface ReconcileRequest {
  /** Names one reconciliation; a reply with another number is dropped. */
  readonly round: number;
  /** Random, made for one reconciliation: nobody who made a content knew what its fingerprint would be. Empty in a request without prefixes. */
  readonly seed: Uint8Array;
  readonly prefixes: readonly PrefixSummary[];
  /** Keys whose contents the consumer wants, from lists it got. */
  readonly wanted: readonly Uint8Array[];
}

/** A row that the producer has, as a list names it. */
export interface Listed {
  readonly keyHash: Uint8Array;
  readonly originRevision: number;
  /** It has the same content. */
  isLike(row: FeedRow): boolean;
}

export interface PrefixItem {
  readonly keyHash: Uint8Array;
  /** Of the row alone: 8 bytes. */
  readonly fingerprint: Uint8Array;
  readonly originRevision: number;
}

export type PrefixAnswer =
  | { readonly kind: 'same' }
  /** The fingerprints of the prefix with each of the 16 digits behind it, in order. */
  | { readonly kind: 'split'; readonly parts: readonly Uint8Array[] }
  | { readonly kind: 'list'; readonly items: readonly PrefixItem[] };

export interface ReconcileReply {
  readonly round: number;
  /** One for each prefix of the request, in their order. */
  readonly answers: readonly PrefixAnswer[];
  readonly entries: readonly WireEntry[];
  /** Durable head before the first answer of this round was made: the consumer's cursor when it is done. */
  readonly head: number;
  /** Empty, like the incarnation, behind the first round: that of the first. */
  readonly epoch: string;
  readonly incarnation: string;
}
