/** The ports of the parent's side of sessions, and the status that it reports. */
import type { FeedConsumer } from '../feed/consumer.ts';
import type { AppliedChange } from '../feed/feed.ts';
import type { FeedProducer } from '../feed/producer.ts';
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

/** Compares the attachments of children at this node with their attachments at the replicas of this node. */
export interface AttachWatch {
  readonly hasReplicas: boolean;
  /**
   * Why a child with this attach sequence may not attach: a higher sequence is known. `sequence`: that higher one, if it belongs to an attachment to this
   * node.
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
  /** Path of this node. */
  readonly path: string;
  readonly software: string;
  /** The feeds of a child, by its name below this node; throws to refuse it. */
  feedsOf(t: Transaction, child: string, role: 'relay' | 'agent'): ChildFeeds;
  /**
   * Whether a row that is missing in the child's feed is missing on purpose: everything from above has arrived, and all work that concerns the child is done.
   */
  ready(child: string): boolean;
  /** A child has received more of its feed than this node has: the node's store was restored from an older copy. */
  putBack?(): void;
  /**
   * Called before the child gets a Welcome: the child has rows of its feed that are not, or may not be, in this node's store. `wasPutBack`: this node sent
   * the rows, and its store was restored from an older copy since then.
   */
  hasOtherHistory?(child: string, wasPutBack: boolean): void;
  /** Also called without changes, when only the cursor has moved. */
  applied(t: Transaction, child: string, changes: readonly AppliedChange[]): void;
  /** Called after that commit, if there were changes. A node announces changes in `applied` instead. */
  committed?(child: string, changes: readonly AppliedChange[]): void;
  /** Present at a node that has replicas. */
  readonly replicas?: AttachWatch;
  /** How far this node has received its sources. For children that get watermarks. */
  watermarks?(): Watermarks;
  /** The child has acknowledged. Readers of the feed find the acknowledgement a moment later. */
  acknowledged?(child: string, cursor: number): void;
  /** The child's acknowledgement is stored. */
  acknowledgementStored?(child: string): void;
  /** Everything that the child had to report at the beginning of its session is stored. */
  caughtUp?(child: string): void;
  /** As `caughtUp`; or the child is not ready to report everything, and all that it can report now is stored. */
  reportedAll?(child: string): void;
  connected(child: string): void;
  disconnected(child: string, reason: string): void;
  /** The alarms in `status` have changed. */
  alarmChanged?(child: string): void;
  /** Makes the streams of a session. Absent: the node has no streams. */
  streamsOf?(child: string, link: Link): SessionStreams;
  /** Calls back in a later turn of the event loop, after the work that waits already. */
  defer(run: () => void): void;
  /** Age in ms of the newest report of the root, over all hops; 0 at the root. */
  rootAgeMs(): number;
}

export interface SessionStatus {
  readonly connected: boolean;
  readonly connectedSinceMs?: number;
  /** The child's name for the transport, because the child knows more about the way. */
  readonly transport?: string;
  /** Time since the child was last connected; 0 while it is connected. */
  readonly silentMs: number;
  /** Present when the feed from the child differed from what the child has. */
  readonly diverged?: Divergence | undefined;
  /** Present when a copy of the child was refused. */
  readonly cloned?: Divergence | undefined;
}
