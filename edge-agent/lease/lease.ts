/**
 * Of several agents with one identity, one is active, and the others stand by. A Lease (coordination.k8s.io/v1) of their cluster defines which one. Its
 * record changes only by a write over the version that was read, so if two agents want it, one of them gets it.
 */

/** The Lease as it was read. */
export interface LeaseRecord {
  /** `metadata.resourceVersion`: grows with every write, whoever writes. */
  readonly version: string;
  /** `spec.holderIdentity`. Empty: the holder has released the Lease, or nobody has held it. */
  readonly holder: string;
  /** The time within which the holder promises to renew the Lease. */
  readonly durationMs: number;
  /** `spec.leaseTransitions`: how often the holder has changed. */
  readonly transitions: number;
  readonly handover: LeaseHandover;
}

/** The values that active agents leave to their successors. */
export interface LeaseHandover {
  /** The path of the agent to which the Lease belongs: `eu:rivoli`. */
  readonly path?: string;
  /** The id of the store that knows what was applied last. An agent with another store has to catch up first. */
  readonly store?: string;
  /** The boot counter of the agent that dialled the parent last. */
  readonly bootCounter?: number;
  /** The boot nonce that a parent welcomed last. Without it, the parent would take the successor for a copy. */
  readonly attachedNonce?: string;
}

/** The content to write over `over`. If `over` is undefined, the Lease is created. */
export interface LeaseWrite {
  readonly over: LeaseRecord | undefined;
  readonly holder: string;
  readonly durationMs: number;
  readonly transitions: number;
  readonly handover: LeaseHandover;
}

export interface LeasePort {
  /** Undefined: there is no Lease. */
  read(): Promise<LeaseRecord | undefined>;
  /** The record as written, or 'refused' if the record has changed. Throws if the result is not known. */
  write(write: LeaseWrite): Promise<LeaseRecord | 'refused'>;
}
