/**
 * The agent's session with its parent. The down feed enters the agent, and the up feed leaves its outbox. If there is no session, the agent dials again and
 * again.
 */

import type { ApprovalAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey } from '../../core/entries/entry-keys.ts';
import { noteSeen, reportSeenRevisions } from '../../core/entries/source-incarnations.ts';
import type { FeedConsumer } from '../../core/feed/consumer.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import type { FeedProducer } from '../../core/feed/producer.ts';
import { heldRowsTopic } from '../../core/feed/topics.ts';
import type { PeerIdentity } from '../../core/identity/peer-identity.ts';
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
  /** Why the certificates of the parent do not count any more. Undefined: they count. */
  whyRevoked?(peer: PeerIdentity): string | undefined;
  /** Called with the changes of a batch or a reconciliation, after the commit. */
  received(changes: readonly AppliedChange[]): void;
  /** Makes the streams of a session. Absent: the agent has no streams. */
  streamsOf?(link: Link): SessionStreams;
  /** Called when a session with the parent has begun, or when the held rows or the alarm of the feed have changed. */
  reportSelf?(): void;
  /** Called when a person has approved the deletion of held rows with this token, and the feed holds no rows under the token. */
  approved?(token: string): void;
  /** Whether the outbox is complete: the parent may delete rows that the outbox does not have. Absent: always true. */
  ready?(): boolean;
  /** Called when a parent has welcomed this start of the agent. */
  attached?(): void;
  /**
   * Called when the agent has stored everything that the parent has sent, and the parent's feed is complete: a row that the feed does not have is not
   * desired.
   */
  caughtUp?(): void;
}

export class Uplink {
  readonly #session: ChildSession;
  readonly #options: AgentUplinkOptions;
  readonly #unsubscribe: () => void;
  #wasAttached = false;

  constructor(options: AgentUplinkOptions) {
    this.#options = options;
    const { store, clock, random, identity, path, software, dialer, downstream } = options;
    this.#unsubscribe = subscribeTo(store, heldRowsTopic, downstream.name, () => options.reportSelf?.());
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
      whyRevoked: (peer) => options.whyRevoked?.(peer),
      producer: options.outbox,
      consumer: options.downstream,
      applied: (t, changes) => this.#applied(t, changes),
      committed: (changes) => options.received(changes),
      attaching: (t) => reportSeenRevisions(t, options.outbox),
      connected: () => {
        this.#wasAttached = true;
        this.#options.attached?.();
        this.#options.reportSelf?.();
      },
      disconnected() {},
      caughtUp: () => this.#options.caughtUp?.(),
      // A parent with replicas sends nothing to the agent before it has received the agent's reports. So the agent must not wait for the parent.
      ready: (parentHasReplicas) => parentHasReplicas === true || (this.#options.ready?.() ?? true),
      alarmChanged: () => this.#options.reportSelf?.(),
      ...(options.streamsOf ? { streamsOf: options.streamsOf } : {}),
    });
  }

  /** Whether the agent has been attached to its parent since the process started. */
  get wasAttached(): boolean {
    return this.#wasAttached;
  }

  /** Why the agent could not get a session with the parent. Undefined: no attempt has failed since the last session began. */
  get unreached(): string | undefined {
    return this.#session.unreached;
  }

  get attached(): boolean {
    return this.#session.connected;
  }

  /** How the agent's copy of the down feed differs from the parent's. Undefined: no difference was found. */
  get diverged(): Divergence | undefined {
    return this.#session.alarm.present;
  }

  get sessionEnds(): SessionEnds {
    return this.#session.ends;
  }

  /** The age of the newest report of the root. */
  rootAgeMs(): number {
    return this.#session.rootAgeMs();
  }

  get waiting(): WatermarkWait | undefined {
    return this.#session.waiting;
  }

  /** The streams of the present session. */
  get streams(): SessionStreams | undefined {
    return this.#session.streams;
  }

  start(): void {
    this.#session.start();
  }

  /** Ends the session if the certificates of the parent do not count any more. */
  endRevoked(): void {
    this.#session.endRevoked();
  }

  readyChanged(): void {
    this.#session.readyChanged();
  }

  /** Ends the session properly. */
  close(): void {
    this.#unsubscribe();
    this.#session.close();
  }

  #applied(t: Transaction, changes: readonly AppliedChange[]): void {
    const { path, downstream, outbox, clock, logger, received, approved } = this.#options;
    noteSeen(t, changes, { clock, log: logger });
    reportHandedReleases(t, outbox, changes);
    for (const { key, after } of changes) {
      if (key !== entryKey.approval(path) || !after) continue;
      const { token } = attributesOf<ApprovalAttributes>(after);
      const changed = downstream.release(t, token);
      t.afterCommit(() => (changed.length > 0 ? received(changed) : approved?.(token)));
    }
  }
}
