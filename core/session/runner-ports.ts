/** What a runner stands on, and whom it tells. */
import type { FeedConsumer } from '../feed/consumer.ts';
import type { AppliedChange } from '../feed/feed.ts';
import type { FeedProducer } from '../feed/producer.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Random } from '../runtime/random.ts';
import type { Store, Transaction } from '../store/store.ts';
import type { SessionStreams } from '../stream/streams.ts';
import type { Link } from '../wire/link.ts';
import type { Acknowledgements } from './acknowledgements.ts';
import type { Mismatch } from './mismatch.ts';
import type { ReconcileSlots } from './reconcile-slots.ts';
import type { Watermarks } from './watermark.ts';
import type { Direction } from './wire-frames.ts';

export interface RunnerPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly link: Link;
  /** The direction that this side produces. */
  readonly produces: Direction;
  readonly producer: FeedProducer;
  readonly consumer: FeedConsumer;
  readonly random: Random;
  /** Absent: this side takes no streams, and passes over what is asked. */
  readonly streams?: SessionStreams | undefined;
  /** Throws when another session has taken over: checked inside every commit on behalf of this one. */
  fence(t: Transaction): void;
  /** Inside the commit that applies changes: what it writes commits with the cursor. Also when that alone has moved, without changes. */
  applied(t: Transaction, changes: readonly AppliedChange[]): void;
  /** After that commit. */
  committed(changes: readonly AppliedChange[]): void;
  acknowledged(cursor: number): void;
  /** A moment later: the producer's rows tell it. */
  acknowledgementStored?(): void;
  /** Writes down what was acknowledged, for all sessions of the node. */
  readonly acknowledgements: Acknowledgements;
  caughtUp(): void;
  /** What the peer had to say at the beginning is stored, or it is not ready to say all of it. */
  reportedAll?(): void;
  /** What the peer says with a head; false: this side may not take up its feed yet, however ready it is. Absent: it always may. */
  watermarks?(marks: Watermarks, head: number): boolean;
  /** Once, last. `returnAfterMs`: the peer ended in order, and said when it is back. */
  ended(error?: Error, returnAfterMs?: number): void;
  /** Absent: a reconciliation waits for nobody. */
  readonly slots?: ReconcileSlots;
  /** Remembers differences over the sessions with one peer. */
  readonly mismatch: Mismatch;
  /** The two ends of the consumed feed differ where they must not. */
  differs(what: string): void;
  /** Ms since this side last heard of the root, over all hops. */
  rootAgeMs(): number;
}
