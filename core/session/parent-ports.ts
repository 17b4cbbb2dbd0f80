/** The ports of the parent's side of sessions, and the status that it reports. */
import type { FeedConsumer } from '../feed/consumer.ts';
import type { AppliedChange } from '../feed/feed.ts';
import type { FeedProducer } from '../feed/producer.ts';
import type { PeerIdentity } from '../identity/peer-identity.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Random } from '../runtime/random.ts';
import type { Store, Transaction } from '../store/store.ts';
import type { SessionStreams } from '../stream/streams.ts';
import type { Link } from '../wire/link.ts';
import type { Divergence } from './feed-alarm.ts';
import type { Watermarks } from './watermark.ts';

export interface ChildFeeds {
  readonly producer: FeedProducer;
  readonly consumer: FeedConsumer;
}

/** Compares the attachments of children at this node with their attachments at the other replicas of this node. */
export interface AttachWatch {
  readonly hasReplicas: boolean;
  /**
   * Returns why a child with this attach sequence is not allowed to attach: this node knows a higher sequence. Undefined: the child may attach. `sequence`:
   * the higher sequence, present if it belongs to an attachment to this node.
   */
  superseded(
    child: string,
    attachSequence: number,
  ): { readonly message: string; readonly sequence?: number } | undefined;
  /** Called in the transaction that opens a session of an admitted child. */
  attached(t: Transaction, child: string, role: 'relay' | 'agent', attachSequence: number): void;
}

export interface ParentSessionsPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Called when a child is refused for a reason of its own, with its path. Not called for a child that only has to wait. */
  readonly refused?: ((path: string, reason: string, message: string) => void) | undefined;
  /** Why the certificates of a child do not count any more. Undefined: they count. */
  whyRevoked?(peer: PeerIdentity): string | undefined;
  /** Path of this node. */
  readonly path: string;
  readonly software: string;
  /** Returns the feeds of the child with this name. Throws to refuse the child. */
  feedsOf(t: Transaction, child: string, role: 'relay' | 'agent'): ChildFeeds;
  /**
   * Whether the child's feed is complete, so that the child may delete rows that the feed does not have: everything from above has arrived, and all work for
   * the child is done.
   */
  ready(child: string): boolean;
  /** Called when a child has received more of its feed than this node has: this node's store was restored from an older copy. */
  putBack?(): void;
  /**
   * Called before the child gets a Welcome, if the child has rows of its feed that this node's store does not have, or perhaps does not have. `wasPutBack`:
   * this node sent the rows before its store was restored from an older copy.
   */
  hasOtherHistory?(child: string, wasPutBack: boolean): void;
  /** Called in the transaction that applies changes of the child's up feed. Also called without changes, if only the cursor has moved. */
  applied(t: Transaction, child: string, changes: readonly AppliedChange[]): void;
  /** Called after the commit of that transaction, if there were changes. Not needed if the node announces the changes in `applied`. */
  committed?(child: string, changes: readonly AppliedChange[]): void;
  /** Present at a node that has replicas. */
  readonly replicas?: AttachWatch;
  /** The watermarks of this node, for its children. */
  watermarks?(): Watermarks;
  /** Called when the child has acknowledged this cursor. The acknowledgement is stored a moment later. */
  acknowledged?(child: string, cursor: number): void;
  /** Called when the child's acknowledgement is stored. */
  acknowledgementStored?(child: string): void;
  /** Called when the child is ready and this node has stored everything that the child reported at the beginning of its session. */
  caughtUp?(child: string): void;
  /** Called like `caughtUp`, but also if the child is not ready: then this node has stored everything that the child can report before it is ready. */
  reportedAll?(child: string): void;
  connected(child: string): void;
  disconnected(child: string, reason: string): void;
  /** Called when the alarms in `status` have changed. */
  alarmChanged?(child: string): void;
  /** Makes the streams of a session. Absent: the node has no streams. */
  streamsOf?(child: string, link: Link): SessionStreams;
  /** Runs the function in a later turn of the event loop, after the work that waits already. */
  defer(run: () => void): void;
  /** Age in ms of the newest report of the root, over all hops; 0 at the root. */
  rootAgeMs(): number;
}

export interface SessionStatus {
  readonly connected: boolean;
  readonly connectedSinceMs?: number;
  /** The transport as the child names it, because the child knows more about the way (for example proxies). */
  readonly transport?: string;
  /** Time in ms since the child's last session ended, or since this node started; 0 while the child is connected. */
  readonly silentMs: number;
  /** Wall time in ms at which the child was last heard, also before the start of this process. Absent: the child has never attached to this node. */
  readonly heardAtMs?: number | undefined;
  /** Present for one day after the rows of the child's up feed at this node differed from the child's rows. */
  readonly diverged?: Divergence | undefined;
  /** Present for one day after this node refused a copy of the child. */
  readonly cloned?: Divergence | undefined;
}
