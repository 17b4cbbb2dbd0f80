/** The ports of a runner. */
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
  /** Absent: this side has no streams, and ignores frames of streams. */
  readonly streams?: SessionStreams | undefined;
  /** Throws when another session has taken over. Checked inside every transaction on behalf of this session. */
  fence(t: Transaction): void;
  /**
   * Called inside the transaction that applies changes: what the listener writes commits together with the cursor. Also called without changes, when only the
   * cursor has moved.
   */
  applied(t: Transaction, changes: readonly AppliedChange[]): void;
  /** After that commit. */
  committed(changes: readonly AppliedChange[]): void;
  acknowledged(cursor: number): void;
  /** Called a moment later, when the acknowledgement is stored with the producer's rows. */
  acknowledgementStored?(): void;
  /** Stores acknowledgements, for all sessions of the node. */
  readonly acknowledgements: Acknowledgements;
  caughtUp(): void;
  /** Everything that the peer had to report at the beginning is stored, or the peer is not ready to report all of it. */
  reportedAll?(): void;
  /**
   * Takes the watermarks that the peer sends with a head. False: this side may not take up the peer's feed yet, even if the peer is ready. Absent: this side
   * always may.
   */
  watermarks?(marks: Watermarks, head: number): boolean;
  /** The last call, exactly once. `returnAfterMs`: the peer ended in order, and sent the time of its return. */
  ended(error?: Error, returnAfterMs?: number): void;
  /** Absent: a reconciliation needs no slot. */
  readonly slots?: ReconcileSlots;
  /** Remembers differences across the sessions with one peer. */
  readonly mismatch: Mismatch;
  /** The two ends of the consumed feed differ where they must not differ. */
  differs(what: string): void;
  /** Age in ms of the newest report of the root at this side, over all hops. */
  rootAgeMs(): number;
}
