/**
 * The port through which the other rooms of a node ask about replicas, and pass on changes. Replicas are relays that share a path. A child attaches to any of
 * them, and one of them counts the child in its reports. A node may be a replica itself, and its children may be replicas of each other.
 *
 * `withoutReplicas` is the ordinary case: each child belongs to this node alone.
 */
import type { AppliedChange } from '../../core/feed/feed.ts';
import type { AttachWatch } from '../../core/session/parent-ports.ts';
import type { Transaction } from '../../core/store/store.ts';

/** The state of a child, as far as replicas matter. */
export interface Standing {
  /** True: the reports of the child are part of the sums of this node. */
  readonly counts: boolean;
  /** True: the share of the child in sums stays as it was, for a bounded time. */
  readonly isFrozen: boolean;
  /** True: the child's feed is being reconciled, so its rows are of two histories. The child adds nothing to a sum that is computed again. */
  readonly isMixed: boolean;
  /**
   * True: a node below the child is going from one of the child's replicas to another. Perhaps no replica reports that node now. This ends in a bounded time.
   */
  readonly isChanging: boolean;
  /** True: another replica of this node has the child, or is about to get it. */
  readonly isElsewhere: boolean;
  /** True: the child was attached to this node or to a replica of this node. */
  readonly wasAttached: boolean;
}

export interface Replicas {
  /** True: this node is one of several replicas, or was one and its parent still knows the others. */
  readonly hasReplicas: boolean;
  /** For the sessions with children: shows which attachment of a child is the newest. */
  readonly attachWatch: AttachWatch;
  standing(child: string): Standing;
  /** Returns the children that share the name of this one, this one among them. The replica to which `below` is attached comes first. */
  members(child: string, below?: string): readonly string[];
  /** Runs in the transaction that applies changes of the feed from a child, or from the parent; also without changes, when only the cursor moves. */
  received(t: Transaction, from: { readonly child: string } | 'parent', changes: readonly AppliedChange[]): void;
  /** Runs in the transaction that makes the mailbox of a relay. */
  relayAdded(t: Transaction, child: string): void;
  /** Runs in the transaction that drops the mailbox of a child. */
  removed(t: Transaction, child: string): void;
  /** Call it when a child has rows of its mailbox that this node did not send, or no longer has: the store of this node was restored or lost. */
  hasOtherHistory(child: string): void;
  /** Call it when all work is done, or when the parent's feed has arrived. Reports the term of the parent's decisions, if the report has waited for this. */
  settle(): void;
  stop(): void;
}

export const ordinaryStanding: Standing = {
  counts: true,
  isFrozen: false,
  isMixed: false,
  isChanging: false,
  isElsewhere: false,
  wasAttached: false,
};

export const withoutReplicas: Replicas = {
  hasReplicas: false,
  attachWatch: { hasReplicas: false, superseded: () => undefined, attached: () => undefined },
  standing: () => ordinaryStanding,
  members: (child) => [child],
  received: () => undefined,
  relayAdded: () => undefined,
  removed: () => undefined,
  hasOtherHistory: () => undefined,
  settle: () => undefined,
  stop: () => undefined,
};
