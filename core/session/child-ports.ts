/** The ports of the child's side of sessions. */
import type { FeedConsumer } from '../feed/consumer.ts';
import type { AppliedChange } from '../feed/feed.ts';
import type { FeedProducer } from '../feed/producer.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Random } from '../runtime/random.ts';
import type { Store, Transaction } from '../store/store.ts';
import type { SessionStreams } from '../stream/streams.ts';
import type { Dialer, Link } from '../wire/link.ts';
import type { NodeIdentity } from './node-identity.ts';

export interface ChildSessionPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly dialer: Dialer;
  readonly identity: NodeIdentity;
  readonly path: string;
  readonly role: 'relay' | 'agent';
  readonly software: string;
  /** The up feed. */
  readonly producer: FeedProducer;
  /** The down feed. */
  readonly consumer: FeedConsumer;
  /** Called inside the transaction that applies changes of the down feed. */
  applied(t: Transaction, changes: readonly AppliedChange[]): void;
  /** Called inside such a transaction if it changes no rows: the cursor may have moved. */
  passed?(t: Transaction): void;
  /** Called after a commit with changes. A node that announces changes in `applied` needs no other call. */
  committed?(changes: readonly AppliedChange[]): void;
  /**
   * Called in the transaction that records that a parent has welcomed this node. What the listener writes into the up feed belongs to the first report to
   * that parent.
   */
  attaching?(t: Transaction): void;
  connected(): void;
  disconnected(reason: string): void;
  /** The parent is ready, and everything up to the head that it announced is stored here. */
  caughtUp(): void;
  /**
   * The parent has received revisions of the up feed that this store does not have: this store was lost, or restored from an older copy. Called before this
   * node sends the parent anything.
   */
  putBack?(): void;
  /**
   * Whether an entry that is missing in the up feed is missing on purpose. Undefined: this node will know the answer without any help of the parent, and then
   * calls `readyChanged`.
   */
  ready(parentHasReplicas?: boolean): boolean | undefined;
  /** The watermarks of this node have risen. */
  watermarksReached?(): void;
  /** The value of `unreached` has changed. */
  unreachedChanged?(): void;
  /** The value of `alarm` has changed. */
  alarmChanged?(): void;
  /** Makes the streams of a session. Absent: the node has no streams. */
  streamsOf?(link: Link): SessionStreams;
}
