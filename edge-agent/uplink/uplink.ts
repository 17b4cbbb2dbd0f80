/** The agent's session with its parent: the down feed into the agent, the up feed out of its outbox. Dials again for as long as it takes. */

import type { ApprovalAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey } from '../../core/entries/entry-keys.ts';
import { noteSeen, reportSeenRevisions } from '../../core/entries/source-incarnations.ts';
import type { FeedConsumer } from '../../core/feed/consumer.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import type { FeedProducer } from '../../core/feed/producer.ts';
import { heldRowsTopic } from '../../core/feed/topics.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import { ChildSession } from '../../core/session/child-session.ts';
import type { Divergence } from '../../core/session/feed-alarm.ts';
import type { NodeIdentity } from '../../core/session/node-identity.ts';
import type { SessionEnds } from '../../core/session/session-ends.ts';
import type { WatermarkWait } from '../../core/session/watermark-gate.ts';
import type { Store, Transaction } from '../../core/store/store.ts';
import { subscribeTo } from '../../core/store/topics.ts';
import type { SessionStreams } from '../../core/stream/streams.ts';
import type { Dialer, Link } from '../../core/wire/link.ts';
import { reportHandedReleases } from '../outbox/handed.ts';

export interface AgentUplinkOptions {
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
  /** There is a session with the parent, or what the agent holds is something else now. */
  said?(): void;
  /** A person has released what is held under this token, and in the feed there is nothing of it. */
  released?(token: string): void;
  /** What the outbox lacks is meant to be lacking; absent: always. */
  ready?(): boolean;
  /** A parent has welcomed this start. */
  attached?(): void;
  /** All that the parent has to say is stored, and what it lacks is meant to be lacking. */
  caughtUp?(): void;
}

export class Uplink {
  readonly #session: ChildSession;
  readonly #options: AgentUplinkOptions;
  readonly #unsubscribe: () => void;
  #joined = false;

  constructor(options: AgentUplinkOptions) {
    this.#options = options;
    const { store, clock, random, identity, path, software, dialer, downstream } = options;
    this.#unsubscribe = subscribeTo(store, heldRowsTopic, downstream.name, () => options.said?.());
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
      applied: (t, changes) => this.#applied(t, changes),
      committed: (changes) => options.received(changes),
      attaching: (t) => reportSeenRevisions(t, options.outbox),
      connected: () => {
        this.#joined = true;
        this.#options.attached?.();
        this.#options.said?.();
      },
      disconnected() {},
      caughtUp: () => this.#options.caughtUp?.(),
      // One of several siblings tells nothing before it has heard what there is to say.
      ready: (parentHasReplicas) => parentHasReplicas === true || (this.#options.ready?.() ?? true),
      alarmChanged: () => this.#options.said?.(),
      ...(options.streamsOf ? { streamsOf: options.streamsOf } : {}),
    });
  }

  /** It has been attached to its parent since the process started. */
  get joined(): boolean {
    return this.#joined;
  }

  /** Why there is no session with the parent, as far as anything was tried. */
  get unreached(): string | undefined {
    return this.#session.unreached;
  }

  get attached(): boolean {
    return this.#session.connected;
  }

  /** The feed from the parent was found to differ from what the parent has. */
  get diverged(): Divergence | undefined {
    return this.#session.alarm.present;
  }

  get sessionEnds(): SessionEnds {
    return this.#session.ends;
  }

  /** Since something was heard of the root. */
  rootAgeMs(): number {
    return this.#session.rootAgeMs();
  }

  get waiting(): WatermarkWait | undefined {
    return this.#session.waiting;
  }

  /** Of the present session. */
  get streams(): SessionStreams | undefined {
    return this.#session.streams;
  }

  start(): void {
    this.#session.start();
  }

  readyChanged(): void {
    this.#session.readyChanged();
  }

  /** Takes leave of the parent in order. */
  close(): void {
    this.#unsubscribe();
    this.#session.close();
  }

  #applied(t: Transaction, changes: readonly AppliedChange[]): void {
    const { path, downstream, outbox, clock, logger, received, released } = this.#options;
    noteSeen(t, changes, { clock, log: logger });
    reportHandedReleases(t, outbox, changes);
    for (const { key, after } of changes) {
      if (key !== entryKey.approval(path) || !after) continue;
      const { token } = attributesOf<ApprovalAttributes>(after);
      const changed = downstream.release(t, token);
      t.afterCommit(() => (changed.length > 0 ? received(changed) : released?.(token)));
    }
  }
}
