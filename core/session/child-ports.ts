/** What the child's side of sessions stands on, and whom it tells. */
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
  /** Inside the commit that applies changes of the down feed. */
  applied(t: Transaction, changes: readonly AppliedChange[]): void;
  /** In such a transaction that changes nothing: the cursor may have come further. */
  passed?(t: Transaction): void;
  /** After a commit with changes. A node that announces changes in `applied` needs no other call. */
  committed?(changes: readonly AppliedChange[]): void;
  /** A parent has welcomed this node, in the transaction that notes it: what is written into the up feed is part of what it has to say to that parent. */
  attaching?(t: Transaction): void;
  connected(): void;
  disconnected(reason: string): void;
  /** All that a ready parent had when it was asked is stored here. */
  caughtUp(): void;
  /** The parent knows of the up feed what this store does not: it was put back to an older copy, or lost. Before the parent is told anything. */
  putBack?(): void;
  /** What is missing in the up feed is meant to be missing. Undefined: that will be known soon, without a word of the parent, and is told by `readyChanged`. */
  ready(parentHasReplicas?: boolean): boolean | undefined;
  /** How far this node has come with the sources above is more than before. */
  watermarksReached?(): void;
  /** `unreached` is another. */
  unreachedChanged?(): void;
  /** What `alarm` says is something else now. */
  alarmChanged?(): void;
  /** Makes the streams of a session; absent: the node has none. */
  streamsOf?(link: Link): SessionStreams;
}
