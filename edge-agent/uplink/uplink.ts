/** The agent's session with its parent: the down feed into the agent, the up feed out of its outbox. Dials again for as long as it takes. */
import type { FeedConsumer } from '../../core/feed/consumer.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import type { FeedProducer } from '../../core/feed/producer.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import { ChildSession } from '../../core/session/child-session.ts';
import type { NodeIdentity } from '../../core/session/node-identity.ts';
import type { Store } from '../../core/store/store.ts';
import type { SessionStreams } from '../../core/stream/streams.ts';
import type { Dialer, Link } from '../../core/wire/link.ts';

export interface UplinkOptions {
  readonly path: string;
  readonly software: string;
  readonly identity: NodeIdentity;
  readonly dialer: Dialer;
  readonly store: Store;
  readonly downstream: FeedConsumer;
  readonly outbox: FeedProducer;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** What a batch or a reconciliation has changed, once it is committed. */
  received(changes: readonly AppliedChange[]): void;
  /** Makes the streams of a session; absent: the agent has none. */
  streamsOf?(link: Link): SessionStreams;
}

export class Uplink {
  readonly #session: ChildSession;
  #joined = false;

  constructor(options: UplinkOptions) {
    const { store, clock, random, identity, path, software, dialer } = options;
    this.#session = new ChildSession({
      store,
      clock,
      random,
      identity,
      path,
      software,
      dialer,
      log: options.logger,
      role: 'agent',
      producer: options.outbox,
      consumer: options.downstream,
      applied() {},
      committed: (changes) => options.received(changes),
      connected: () => {
        this.#joined = true;
      },
      disconnected() {},
      caughtUp() {},
      ready: () => true,
      ...(options.streamsOf ? { streamsOf: options.streamsOf } : {}),
    });
  }

  /** It has been attached to its parent since the process started. */
  get joined(): boolean {
    return this.#joined;
  }

  get attached(): boolean {
    return this.#session.connected;
  }

  /** Of the present session. */
  get streams(): SessionStreams | undefined {
    return this.#session.streams;
  }

  start(): void {
    this.#session.start();
  }

  /** The outbox has new rows: they are sent when they are durable. */
  wake(): void {
    this.#session.wake();
  }

  /** Takes leave of the parent in order. */
  close(): void {
    this.#session.close();
  }
}
