/** The child's side: dials the parent, sends the Hello, runs the session, and dials again when the session ends. */
import { producerRowsTopic } from '../feed/topics.ts';
import type { Timer } from '../runtime/clock.ts';
import { BanyanError, describeError } from '../runtime/errors.ts';
import { subscribeTo } from '../store/topics.ts';
import type { SessionStreams } from '../stream/streams.ts';
import type { Link } from '../wire/link.ts';
import { beginAttach } from './attach.ts';
import { type Backoff, healthyMs, nextWait, noBackoff, waitForReturn } from './backoff.ts';
import type { ChildSessionPorts } from './child-ports.ts';
import { DialAttempt } from './dial-attempt.ts';
import { FeedAlarm } from './feed-alarm.ts';
import { Mismatch } from './mismatch.ts';
import type { SessionRunner } from './runner.ts';
import { SessionEnds } from './session-ends.ts';
import { flushAgainMs } from './wakes.ts';
import type { WatermarkWait } from './watermark-gate.ts';

const dialTimeoutMs = 10_000;
/**
 * Limit for the age of the root's report: ten years, which no real age reaches. A parent could send any number. This node adds the time since the beat to it,
 * and the sum must be a number that the next hop accepts and that gives a valid date.
 */
export const rootAgeMaxMs = 10 * 365 * 86_400_000;
const endsMessage = 'the child ends';

export class ChildSession {
  readonly #ports: ChildSessionPorts;
  #backoff: Backoff = noBackoff;
  #timer: Timer | undefined;
  #runner: SessionRunner | undefined;
  #attempt: DialAttempt | undefined;
  #stopped = false;
  #unsubscribe: (() => void) | undefined;
  #unreached: string | undefined;
  readonly #mismatch = new Mismatch();
  #lastRootReport: { readonly ageMs: number; readonly atMs: number } | undefined;
  readonly ends = new SessionEnds();
  /** Raised when the rows of the down feed at this node differ from the parent's rows. */
  readonly alarm: FeedAlarm;
  readonly #startedAtMs: number;
  #waiting: WatermarkWait | undefined;
  #parentHasReplicas = false;
  #flushing = false;
  #awake = false;

  constructor(ports: ChildSessionPorts) {
    this.#ports = ports;
    this.#startedAtMs = ports.clock.monotonicMs();
    this.alarm = new FeedAlarm(ports.clock, () => ports.alarmChanged?.());
  }

  /** Why there is no session. Undefined: there is a session, or the first attempt has not ended yet. */
  get unreached(): string | undefined {
    return this.#unreached;
  }

  get connected(): boolean {
    return this.#runner !== undefined;
  }

  /** The parent of the newest session has replicas. */
  get parentHasReplicas(): boolean {
    return this.#parentHasReplicas;
  }

  /** The streams of the present session. */
  get streams(): SessionStreams | undefined {
    return this.#runner?.streams;
  }

  start(): void {
    const { store, producer } = this.#ports;
    this.#unsubscribe = subscribeTo(store, producerRowsTopic, producer.name, () => this.#wake());
    void this.#dial();
  }

  /** Called when the up feed has new rows. The session sends the rows when they are durable. */
  #wake(): void {
    this.#awake = true;
    if (this.#flushing || !this.#runner) return;
    this.#flushing = true;
    queueMicrotask(() => this.#flush());
  }

  readyChanged(): void {
    this.#runner?.ready(this.#ports.ready() === true);
  }

  /** Call it when certificates were revoked. Ends the session if the certificates of the parent do not count any more. */
  endRevoked(): void {
    const peer = this.#runner && this.#attempt?.peer;
    const why = peer && this.#ports.whyRevoked?.(peer);
    if (why === undefined) return;
    this.#ports.log.warn({ reason: why }, 'the session with the parent ends');
    this.#runner?.goodbye(why);
  }

  close(): void {
    this.#stopped = true;
    this.#unsubscribe?.();
    this.#timer?.stop();
    this.#runner?.goodbye(endsMessage);
    this.#attempt?.cancel(endsMessage);
  }

  /** Why this node does not follow its parent yet: the parent is behind. Undefined: this node follows its parent, or has no session. */
  get waiting(): WatermarkWait | undefined {
    return this.#waiting;
  }

  #setWaiting(waiting: WatermarkWait | undefined): void {
    this.#waiting = waiting;
    this.#ports.alarmChanged?.();
  }

  async #dial(): Promise<void> {
    const { dialer, log } = this.#ports;
    const attempt = new DialAttempt(
      this.#ports,
      {
        began: (runner, parentHasReplicas) => this.#began(runner, parentHasReplicas),
        differs: (what) => {
          this.alarm.raise(what);
          this.#ports.alarmChanged?.();
        },
        refused: (refusal) => this.ends.refuse(refusal),
        waits: (waiting) => this.#setWaiting(waiting),
        sessionOver: (error) => this.ends.count(error),
        ended: (reason, askedMs) => this.#dialLater(reason, askedMs),
        away: (returnAfterMs) => this.#waitForReturn(returnAfterMs),
      },
      this.#mismatch,
    );
    this.#attempt = attempt;
    let link: Link | undefined;
    try {
      // The boot counter and the cursors in the Hello have to be durable before the node sends it.
      await this.#ports.store.flushed();
      if (this.#stopped) return;
      link = await dialer.dial(attempt.events, dialTimeoutMs);
      if (this.#stopped) return link.close(endsMessage);
      const { store, clock } = this.#ports;
      const { peer } = link;
      const revoked = this.#ports.whyRevoked?.(peer);
      if (revoked !== undefined) throw new BanyanError('Unauthorized', revoked);
      const { sequence, moved } = store.write((t) => beginAttach(t, peer, clock));
      if (moved) await store.flushed();
      if (this.#stopped) return link.close(endsMessage);
      attempt.hello(link, sequence);
    } catch (error) {
      this.ends.notReached(error);
      log.info({ reason: describeError(error) }, 'the parent was not reached');
      attempt.fail(link, describeError(error));
    }
  }

  #began(runner: SessionRunner, parentHasReplicas: boolean): void {
    this.#runner = runner;
    this.#parentHasReplicas = parentHasReplicas;
    this.#unreached = undefined;
    this.#ports.log.info({}, 'attached to the parent');
    this.#timer = this.#ports.clock.after(healthyMs, () => {
      this.#backoff = noBackoff;
    });
    this.#ports.connected();
    this.#wake();
  }

  /** Age in ms of the newest report of the root: the age in the parent's newest beat, plus the time since that beat. At most `rootAgeMaxMs`. */
  rootAgeMs(): number {
    const report = this.#runner?.rootReport ?? this.#lastRootReport;
    const { ageMs, atMs } = report ?? { ageMs: 0, atMs: this.#startedAtMs };
    return Math.min(rootAgeMaxMs, ageMs + this.#ports.clock.monotonicMs() - atMs);
  }

  #detached(reason: string): void {
    const runner = this.#runner;
    this.#runner = undefined;
    this.#waiting = undefined;
    this.#timer?.stop();
    if (!runner) return;
    this.#lastRootReport = runner.rootReport ?? this.#lastRootReport;
    this.#ports.log.info({ reason }, 'detached from the parent');
    this.#ports.disconnected(reason);
  }

  /** Runs after a planned shutdown of the parent. The shutdown is no failure, so the backoff does not grow. */
  #waitForReturn(returnAfterMs: number): void {
    this.#detached(`the parent ends, and is back in ${returnAfterMs} ms`);
    if (this.#stopped) return;
    this.#setUnreached('the parent shuts down and announced its return');
    const waitMs = waitForReturn(this.#ports.random.fraction(), returnAfterMs);
    this.#timer = this.#ports.clock.after(waitMs, () => void this.#dial());
  }

  #dialLater(reason: string, askedMs?: number): void {
    this.#detached(reason);
    if (this.#stopped) return;
    this.#setUnreached(reason);
    const { waitMs, backoff } = nextWait(this.#backoff, this.#ports.random.fraction(), askedMs);
    this.#backoff = backoff;
    this.#timer = this.#ports.clock.after(waitMs, () => void this.#dial());
  }

  #setUnreached(reason: string): void {
    if (reason === this.#unreached) return;
    this.#unreached = reason;
    this.#ports.unreachedChanged?.();
  }

  #flush(): void {
    const { store, producer, log } = this.#ports;
    this.#awake = false;
    const head = store.read((reader) => producer.head(reader));
    store.flushed().then(
      () => {
        this.#flushing = false;
        this.#runner?.produced(head);
        if (this.#awake) this.#wake();
      },
      (error: unknown) => {
        this.#flushing = false;
        log.error({ reason: describeError(error) }, 'new rows could not be made durable: none of them is sent');
        if (this.#runner) this.#ports.clock.after(flushAgainMs, () => this.#wake());
      },
    );
  }
}
