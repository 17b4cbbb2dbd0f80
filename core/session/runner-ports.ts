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
  /** The direction of the feed that this side produces. */
  readonly produces: Direction;
  readonly producer: FeedProducer;
  readonly consumer: FeedConsumer;
  readonly random: Random;
  /** Absent: this side has no streams, and ignores frames of streams. */
  readonly streams?: SessionStreams | undefined;
  /** Throws if another session has taken over. Called inside every transaction of this session. */
  fence(t: Transaction): void;
  /**
   * Called inside the transaction that applies changes. So the rows that the listener writes are committed together with the cursor. Also called without
   * changes, if only the cursor has moved.
   */
  applied(t: Transaction, changes: readonly AppliedChange[]): void;
  /** Called after the commit of that transaction, if there were changes. */
  committed(changes: readonly AppliedChange[]): void;
  acknowledged(cursor: number): void;
  /** Called a moment after `acknowledged`, when the acknowledgement is stored. */
  acknowledgementStored?(): void;
  /** Stores acknowledgements, for all sessions of the node. */
  readonly acknowledgements: Acknowledgements;
  caughtUp(): void;
  /** Called when everything that the peer reports at the beginning is stored; for a peer that is not ready: everything that it sends before it is ready. */
  reportedAll?(): void;
  /**
   * Processes the watermarks that the peer sends with a head. Returns false if this side must not follow the peer's feed yet, even if the peer is ready.
   * Absent: this side may always follow a ready peer.
   */
  watermarks?(marks: Watermarks, head: number): boolean;
  /** The last call, exactly once. `returnAfterMs`: the peer shuts down as planned, and sent the time after which it is back. */
  ended(error?: Error, returnAfterMs?: number): void;
  /** Absent: a reconciliation needs no slot. */
  readonly slots?: ReconcileSlots;
  /** Decides about differences of digests. It is kept for all sessions with the same peer. */
  readonly mismatch: Mismatch;
  /** Called when the two ends of the consumed feed differ and should be equal. */
  differs(what: string): void;
  /** Age in ms of the newest report of the root at this side, over all hops. */
  rootAgeMs(): number;
}
