/**
 * If several agents have one identity, one of them is active, and the others stand by. A Lease (coordination.k8s.io/v1) of their cluster decides which agent
 * is active. The record of the Lease changes only by a write over the version that was read. So if two agents write, only one of them succeeds.
 */

/** The annotation of a Lease with `LeaseRecord.installedFor`. */
export const installedForAnnotation = 'banyan.io/installed-for';

/** The Lease as it was read. */
export interface LeaseRecord {
  /** `metadata.resourceVersion`: it grows with every write, whoever writes. */
  readonly version: string;
  /** `spec.holderIdentity`. Empty: the holder has released the Lease, or nobody has held it. */
  readonly holder: string;
  /** The time within which the holder promises to renew the Lease. */
  readonly durationMs: number;
  /** `spec.leaseTransitions`: the number of times that the holder has changed. */
  readonly transitions: number;
  readonly handover: LeaseHandover;
  /** The path of the agent for which the Lease was installed. Agents do not write it. Another path than that of `handover`: the agent has moved. */
  readonly installedFor?: string;
}

/** The values that active agents leave to their successors. */
export interface LeaseHandover {
  /** The path of the agent to which the Lease belongs: `eu:rivoli`. */
  readonly path?: string;
  /** The paths that this agent had before, the last one first, separated by commas. Its objects on the cluster may have these paths in their signatures. */
  readonly formerPaths?: string;
  /** The id of the store that knows the objects of the last applies. An agent with another store has to catch up first. */
  readonly store?: string;
  /** The boot counter of the agent that last dialled the parent. */
  readonly bootCounter?: number;
  /** The boot nonce that a parent welcomed last. Without it, the parent would treat the successor as a copy. */
  readonly attachedNonce?: string;
}

/** A write over the record `over`. If `over` is undefined, the write creates the Lease. */
export interface LeaseWrite {
  readonly over: LeaseRecord | undefined;
  readonly holder: string;
  readonly durationMs: number;
  readonly transitions: number;
  readonly handover: LeaseHandover;
}

export interface LeasePort {
  /** Reads the Lease. Undefined: the Lease does not exist. */
  read(): Promise<LeaseRecord | undefined>;
  /** Returns the record as written, or 'refused' if the record has changed meanwhile. Throws if the result is not known. */
  write(write: LeaseWrite): Promise<LeaseRecord | 'refused'>;
}

/** Number of former paths that a Lease names. Objects that were applied before earlier moves, and never since, are rare. */
const formerPathsMax = 8;

export function formerPathsIn({ formerPaths = '' }: LeaseHandover): readonly string[] {
  return formerPaths.split(',').filter((path) => path !== '');
}

/** The values for an agent with this path that takes the Lease. If the Lease had another path, this is a former path of the agent. */
export function handoverTo(handover: LeaseHandover, path: string): LeaseHandover {
  const before = handover.path;
  if (before === undefined || before === path) return { ...handover, path };
  const former = [before, ...formerPathsIn(handover).filter((one) => one !== before && one !== path)];
  return { ...handover, path, formerPaths: former.slice(0, formerPathsMax).join(',') };
}
