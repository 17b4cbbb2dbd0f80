/**
 * One of several agents with one identity is active, the others stand by: who, says a Lease (coordination.k8s.io/v1) of their cluster. Its record is changed
 * only by a write over the version that was read, so that of two who want it one gets it.
 */

/** The Lease as it was read. */
export interface LeaseRecord {
  /** `metadata.resourceVersion`: grows with every write, whoever it is by. */
  readonly version: string;
  /** `spec.holderIdentity`; empty: released by who had it, or never held. */
  readonly holder: string;
  /** What the holder promises to renew within. */
  readonly durationMs: number;
  /** `spec.leaseTransitions`: how often it has had another holder. */
  readonly transitions: number;
  readonly words: LeaseHandover;
}

/** What those who were active leave to those who follow. */
export interface LeaseHandover {
  /** Whose it is: `eu:rivoli`. */
  readonly path?: string;
  /** Id of the store that is up to date with what was applied last; another one has to catch up first. */
  readonly store?: string;
  /** Of the one that dialled the parent last. */
  readonly bootCounter?: number;
  /** The boot nonce that a parent welcomed last: without it the parent would take its successor for a copy. */
  readonly attachedNonce?: string;
}

/** What is to stand in it instead of `over`; absent: it is made. */
export interface LeaseWrite {
  readonly over: LeaseRecord | undefined;
  readonly holder: string;
  readonly durationMs: number;
  readonly transitions: number;
  readonly words: LeaseHandover;
}

export interface LeasePort {
  /** Undefined: there is none. */
  read(): Promise<LeaseRecord | undefined>;
  /** The record as written, or 'refused' if it is not what it was. Throws when that is not known. */
  write(write: LeaseWrite): Promise<LeaseRecord | 'refused'>;
}
