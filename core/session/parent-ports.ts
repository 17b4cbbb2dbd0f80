/** What the parent's side of sessions stands on, whom it tells, and what it answers. */
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

/** Whose attachments are compared with those to siblings of this node. */
export interface AttachWatch {
  readonly hasReplicas: boolean;
  /** Why a child that says this attach sequence may not come: a higher one is known, which is told if it is of an attachment to this node. */
  superseded(
    child: string,
    attachSequence: number,
  ): { readonly message: string; readonly sequence?: number } | undefined;
  /** In the transaction that opens a session of a child that may come. */
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
  /** What is missing in the child's feed is meant to be missing: everything above has arrived, and all that concerns the child is worked off. */
  ready(child: string): boolean;
  /** A child knows more of its feed than this node: the node's store was put back to an older copy. */
  putBack?(): void;
  /** Before the child is welcomed: what it has of its feed is not, or may not be, in this node's store. `wasPutBack`: the node told it, and its store was put back since. */
  hasOtherHistory?(child: string, wasPutBack: boolean): void;
  /** Also without changes, when only the cursor has moved. */
  applied(t: Transaction, child: string, changes: readonly AppliedChange[]): void;
  /** After that commit, if there were changes. A node announces changes in `applied` instead. */
  committed?(child: string, changes: readonly AppliedChange[]): void;
  /** Of a node with siblings. */
  readonly replicas?: AttachWatch;
  /** How far this node has come with its sources, for children that are told. */
  watermarks?(): Watermarks;
  /** The child says so; whoever reads the feed finds it a moment later. */
  acknowledged?(child: string, cursor: number): void;
  /** What the child has acknowledged is in the store. */
  acknowledgementStored?(child: string): void;
  /** All that the child had to say at the beginning of its session is stored. */
  caughtUp?(child: string): void;
  /** The same, or the child is not ready to say all: as much as is to be had is here. */
  reportedAll?(child: string): void;
  connected(child: string): void;
  disconnected(child: string, reason: string): void;
  /** What `status` says of alarms is something else now. */
  alarmChanged?(child: string): void;
  /** Makes the streams of a session; absent: the node has none. */
  streamsOf?(child: string, link: Link): SessionStreams;
  /** Calls back soon, after what waits already. */
  defer(run: () => void): void;
  /** Ms since this node last heard of the root, over all hops; 0 at the root. */
  rootAgeMs(): number;
}

export interface SessionStatus {
  readonly connected: boolean;
  readonly connectedSinceMs?: number;
  /** As the child names it, which knows more of the way. */
  readonly transport?: string;
  /** Since the child was last connected; 0 while it is. */
  readonly silentMs: number;
  /** The feed from the child was found to differ from what the child has. */
  readonly diverged?: Divergence | undefined;
  /** A copy of the child was refused. */
  readonly cloned?: Divergence | undefined;
}
