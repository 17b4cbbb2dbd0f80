/** The ports of the child's side of sessions. */
import type { FeedConsumer } from '../feed/consumer.ts';
import type { AppliedChange } from '../feed/feed.ts';
import type { FeedProducer } from '../feed/producer.ts';
import type { PeerIdentity } from '../identity/peer-identity.ts';
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
  /** Why the certificates of the parent do not count any more. Undefined: they count. */
  whyRevoked?(peer: PeerIdentity): string | undefined;
  /** The up feed. */
  readonly producer: FeedProducer;
  /** The down feed. */
  readonly consumer: FeedConsumer;
  /** Called inside the transaction that applies changes of the down feed. */
  applied(t: Transaction, changes: readonly AppliedChange[]): void;
  /** Called in a transaction that applies a part of the down feed and changes no rows: the cursor may have moved. */
  passed?(t: Transaction): void;
  /** Called after a commit with changes. Not needed if the node announces the changes in `applied`. */
  committed?(changes: readonly AppliedChange[]): void;
  /**
   * Called in the transaction that records that a parent has welcomed this node. Entries that the listener writes into the up feed are part of the first
   * report to that parent.
   */
  attaching?(t: Transaction): void;
  connected(): void;
  disconnected(reason: string): void;
  /** Called when the parent is ready and this node has stored everything up to the parent's announced head. */
  caughtUp(): void;
  /**
   * Called when the parent has received revisions of the up feed that this store does not have: this store was lost, or restored from an older copy. The call
   * comes before this node sends any frame of the session.
   */
  putBack?(): void;
  /**
   * Whether the up feed is complete, so that the parent may delete rows that the feed does not have. Undefined: this node does not know yet; it will know
   * without any message of the parent, and then calls `readyChanged`.
   */
  ready(parentHasReplicas?: boolean): boolean | undefined;
  /** Called when the watermarks of this node have risen. */
  watermarksReached?(): void;
  /** Called when `unreached` of the ChildSession has changed. */
  unreachedChanged?(): void;
  /** Called when `alarm` or `waiting` of the ChildSession has changed. */
  alarmChanged?(): void;
  /** Makes the streams of a session. Absent: the node has no streams. */
  streamsOf?(link: Link): SessionStreams;
}
