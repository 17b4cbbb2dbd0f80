/** The child's side: dials the parent, says hello, runs the session, and dials again when it ends. */
import type { FeedConsumer } from '../feed/consumer.ts';
import type { AppliedChange } from '../feed/feed.ts';
import { heldPieces } from '../feed/pieces.ts';
import type { FeedProducer } from '../feed/producer.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import { BanyanError, describeError } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Random } from '../runtime/random.ts';
import type { Store, Transaction } from '../store/store.ts';
import type { SessionStreams } from '../stream/streams.ts';
import { maxFrameBytes } from '../wire/frames.ts';
import { checkFromAbove, checkMarks } from '../wire/from-above.ts';
import { Feed, type Frame, type Welcome } from '../wire/generated/mesh.ts';
import type { Dialer, Link, LinkEvents } from '../wire/link.ts';
import { Acknowledgements } from './acknowledgements.ts';
import { beginAttach } from './attach.ts';
import { type Backoff, healthyMs, nextWait, noBackoff, waitForReturn } from './backoff.ts';
import { FeedAlarm } from './feed-alarm.ts';
import { windowMaxBytes } from './flow.ts';
import { flawOfWelcome } from './greeting.ts';
import { piecesVersion, versionMax, versionMin } from './handshake.ts';
import { Mismatch } from './mismatch.ts';
import { markAttached, type NodeIdentity, readNodeIdentity } from './node-identity.ts';
import { SessionRunner } from './runner.ts';
import { type Refusal, refusalOf, SessionEnds } from './session-ends.ts';
import { type Waiting, WatermarkGate } from './watermark-gate.ts';
import { heldFromWire, heldToWire, tupleFromWire, tupleToWire } from './wire-frames.ts';

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
  committed(changes: readonly AppliedChange[]): void;
  connected(): void;
  disconnected(reason: string): void;
  /** All that a ready parent had when it was asked is stored here. */
  caughtUp(): void;
  /** What is missing in the up feed is meant to be missing. */
  ready(): boolean;
  /** How far this node has come with the sources above is more than before. */
  watermarksReached?(): void;
  /** `unreached` is another. */
  unreachedChanged?(): void;
  /** What `alarm` says is something else now. */
  alarmChanged?(): void;
  /** Makes the streams of a session; absent: the node has none. */
  streamsOf?(link: Link): SessionStreams;
}

const dialTimeoutMs = 10_000;
/** A parent that takes the connection and says nothing is as good as none. */
const welcomeWithinMs = 15_000;

export class ChildSession {
  readonly #ports: ChildSessionPorts;
  #backoff: Backoff = noBackoff;
  #timer: Timer | undefined;
  #runner: SessionRunner | undefined;
  #stopped = false;
  #unreached: string | undefined;
  readonly #mismatch = new Mismatch();
  #heardOfRoot: { readonly ageMs: number; readonly atMs: number } | undefined;
  readonly ends = new SessionEnds();
  /** The feed from the parent was found to differ from what the parent has. */
  readonly alarm: FeedAlarm;
  readonly #startedAtMs: number;
  #waiting: Waiting | undefined;
  #flushing = false;
  #awake = false;

  constructor(ports: ChildSessionPorts) {
    this.#ports = ports;
    this.#startedAtMs = ports.clock.monotonicMs();
    this.alarm = new FeedAlarm(ports.clock, () => ports.alarmChanged?.());
  }

  /** Why there is no session; undefined while there is one, or nothing was tried yet. */
  get unreached(): string | undefined {
    return this.#unreached;
  }

  get connected(): boolean {
    return this.#runner !== undefined;
  }

  /** Of the present session. */
  get streams(): SessionStreams | undefined {
    return this.#runner?.streams;
  }

  start(): void {
    void this.#dial();
  }

  /** The up feed has new rows: they are sent when they are durable. */
  wake(): void {
    this.#awake = true;
    if (this.#flushing || !this.#runner) return;
    this.#flushing = true;
    queueMicrotask(() => this.#flush());
  }

  readyChanged(): void {
    this.#runner?.ready(this.#ports.ready());
  }

  close(): void {
    this.#stopped = true;
    this.#timer?.stop();
    this.#runner?.goodbye('the child ends');
  }

  /** For what it is that nothing is taken from the parent. */
  get waiting(): Waiting | undefined {
    return this.#waiting;
  }

  #wait(waiting: Waiting | undefined): void {
    this.#waiting = waiting;
    this.#ports.alarmChanged?.();
  }

  async #dial(): Promise<void> {
    const { dialer, log } = this.#ports;
    const attempt = new Attempt(
      this.#ports,
      {
        began: (runner) => this.#began(runner),
        differs: (what) => {
          this.alarm.raise(what);
          this.#ports.alarmChanged?.();
        },
        refused: (refusal) => this.ends.refuse(refusal),
        waits: (waiting) => this.#wait(waiting),
        sessionOver: (error) => this.ends.count(error),
        ended: (reason, askedMs) => this.#again(reason, askedMs),
        away: (returnAfterMs) => this.#awayFor(returnAfterMs),
      },
      this.#mismatch,
    );
    try {
      // What is said in the hello is durable: the boot counter, and the cursors.
      await this.#ports.store.flushed();
      const link = await dialer.dial(attempt.events, dialTimeoutMs);
      const { store, clock } = this.#ports;
      const { sequence, moved } = store.write((t) => beginAttach(t, link.peer, clock));
      if (moved) await store.flushed();
      attempt.hello(link, sequence);
    } catch (error) {
      log.info({ reason: describeError(error) }, 'the parent was not reached');
      this.#again(describeError(error));
    }
  }

  #began(runner: SessionRunner): void {
    this.#runner = runner;
    this.#unreached = undefined;
    this.#ports.log.info({}, 'attached to the parent');
    this.#timer = this.#ports.clock.after(healthyMs, () => {
      this.#backoff = noBackoff;
    });
    this.#ports.connected();
    this.wake();
  }

  /** Ms since something was heard of the root: what the parent said of itself, and the time since. */
  rootAgeMs(): number {
    const heard = this.#runner?.heardOfRoot ?? this.#heardOfRoot;
    return heard
      ? heard.ageMs + this.#ports.clock.monotonicMs() - heard.atMs
      : this.#ports.clock.monotonicMs() - this.#startedAtMs;
  }

  #detached(reason: string): void {
    const runner = this.#runner;
    this.#runner = undefined;
    this.#waiting = undefined;
    this.#timer?.stop();
    if (!runner) return;
    this.#heardOfRoot = runner.heardOfRoot ?? this.#heardOfRoot;
    this.#ports.log.info({ reason }, 'detached from the parent');
    this.#ports.disconnected(reason);
  }

  /** The parent ended in order and will be back: no failure, so the wait does not grow. */
  #awayFor(returnAfterMs: number): void {
    this.#detached(`the parent ends, and is back in ${returnAfterMs} ms`);
    if (this.#stopped) return;
    this.#isUnreached('the parent ends in order, and said that it will be back');
    const waitMs = waitForReturn(this.#ports.random.fraction(), returnAfterMs);
    this.#timer = this.#ports.clock.after(waitMs, () => void this.#dial());
  }

  #again(reason: string, askedMs?: number): void {
    this.#detached(reason);
    if (this.#stopped) return;
    this.#isUnreached(reason);
    const { waitMs, backoff } = nextWait(this.#backoff, this.#ports.random.fraction(), askedMs);
    this.#backoff = backoff;
    this.#timer = this.#ports.clock.after(waitMs, () => void this.#dial());
  }

  #isUnreached(reason: string): void {
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
        if (this.#awake) this.wake();
      },
      (error: unknown) => {
        this.#flushing = false;
        log.error(
          { reason: describeError(error) },
          'what was written could not be made durable: nothing of it is sent',
        );
      },
    );
  }
}

interface AttemptEvents {
  waits(waiting: Waiting | undefined): void;
  began(runner: SessionRunner): void;
  differs(what: string): void;
  /** Before `ended`, where none had. */
  refused(refusal: Refusal): void;
  /** Before either of those below, where a session had begun. */
  sessionOver(error: Error | undefined): void;
  /** Once, last: either this … */
  ended(reason: string, askedMs?: number): void;
  /** … or, when the parent ended in order, how long it is away. */
  away(returnAfterMs: number): void;
}

/** One connection, from hello to its end. */
class Attempt {
  readonly #ports: ChildSessionPorts;
  readonly #told: AttemptEvents;
  readonly #mismatch: Mismatch;
  #link: Link | undefined;
  #runner: SessionRunner | undefined;
  #timer: Timer | undefined;
  #over = false;

  constructor(ports: ChildSessionPorts, told: AttemptEvents, mismatch: Mismatch) {
    this.#ports = ports;
    this.#mismatch = mismatch;
    this.#told = told;
  }

  readonly events: LinkEvents = {
    onFrame: (frame) => this.#receive(frame),
    onBytes: () => this.#runner?.alive(),
    onDrain: () => this.#runner?.drained(),
    onClose: (error) =>
      this.#runner ? this.#runner.end(error) : this.#end(error ? describeError(error) : 'closed by the parent'),
  };

  hello(link: Link, attachSequence: number): void {
    if (this.#over) return;
    this.#link = link;
    const { store, consumer, identity, path, role, software, clock } = this.#ports;
    const { tuple, held, attachedNonce } = store.read((reader) => ({
      tuple: consumer.resume(reader),
      held: heldPieces(reader, consumer.id),
      attachedNonce: readNodeIdentity(reader)?.attachedNonce ?? '',
    }));
    const value = {
      versionMin,
      versionMax,
      path,
      role,
      bootCounter: identity.bootCounter,
      bootNonce: Buffer.from(identity.bootNonce, 'hex'),
      attachSequence,
      down: tupleToWire(tuple),
      downCreditBytes: windowMaxBytes,
      maxFrameBytes,
      software,
      attachedNonce: Buffer.from(attachedNonce, 'hex'),
      held: heldToWire(held),
      transport: link.transport,
    };
    link.send({ frame: { $case: 'hello', value } });
    this.#timer = clock.after(welcomeWithinMs, () => {
      this.#hangUp(link, 'no_welcome', 'no welcome came');
    });
  }

  #receive(frame: Frame): void {
    if (this.#runner) {
      this.#runner.receive(frame);
      return;
    }
    switch (frame.frame?.$case) {
      case 'welcome':
        this.#timer?.stop();
        return this.#begin(frame.frame.value);
      case 'retry': {
        const { afterMs } = frame.frame.value;
        const [reason, message] = [said(frame.frame.value.reason), said(frame.frame.value.message)];
        this.#ports.log.warn({ reason, message }, 'the parent refused this node');
        this.#told.refused(refusalOf(reason));
        this.#link?.close(reason);
        return this.#end(`${reason}: ${message}`, afterMs);
      }
      default:
        return this.#hangUp(this.#link, 'no_welcome', 'the first frame was no welcome');
    }
  }

  #begin(welcome: Welcome): void {
    const link = this.#link;
    if (!link || this.#over) return;
    if (welcome.version < versionMin || welcome.version > versionMax) {
      const spoken = `this node speaks ${versionMin} to ${versionMax}`;
      return this.#hangUp(link, 'version', `the parent chose protocol version ${welcome.version}, ${spoken}`);
    }
    const flaw = flawOfWelcome(welcome);
    if (flaw) return this.#hangUp(link, 'bad_welcome', `the welcome's ${flaw}`);
    const { store, clock, log, producer, consumer } = this.#ports;
    store.write((t) => markAttached(t));
    const up = tupleFromWire(welcome.up);
    const { resumes, head, cursor } = store.read((reader) => ({
      resumes: producer.resumable(reader, up),
      head: producer.acknowledged(reader),
      cursor: consumer.resume(reader).cursor,
    }));
    const { epoch, incarnation } = producer;
    link.send({
      frame: {
        $case: 'resume',
        value: {
          feed: Feed.FEED_UP,
          resumes,
          epoch: Buffer.from(epoch, 'hex'),
          incarnation: Buffer.from(incarnation, 'hex'),
        },
      },
    });
    const gate = this.#gateOf(welcome);
    this.#runner = new SessionRunner(
      {
        store,
        clock,
        log,
        link,
        produces: 'up',
        producer,
        consumer,
        pieces: welcome.version >= piecesVersion,
        streams: this.#ports.streamsOf?.(link),
        fence: () => {
          if (this.#over) throw new BanyanError('Conflict', 'the session is over');
        },
        applied: (t, changes) => {
          for (const change of changes) checkFromAbove(this.#ports.path, change);
          gate.applied(t, changes);
          this.#ports.applied(t, changes);
        },
        committed: (changes) => {
          this.#ports.committed(changes);
          gate.progressed();
        },
        watermarks: (marks, at) => {
          checkMarks(this.#ports.path, marks);
          return gate.heard(marks, at);
        },
        acknowledged: () => {},
        acknowledgements: new Acknowledgements(store, clock),
        caughtUp: () => {
          this.#ports.caughtUp();
          gate.progressed();
        },
        // Of the way up it says nothing: the root is not there.
        rootAgeMs: () => 0,
        mismatch: this.#mismatch,
        differs: (what) => {
          log.error({ reason: what }, 'the feed from the parent differs from what the parent has: it is reconciled');
          this.#told.differs(what);
        },
        ended: (error, returnAfterMs) => {
          this.#told.sessionOver(error);
          if (returnAfterMs === undefined) this.#end(error ? describeError(error) : 'ended in order');
          else this.#away(returnAfterMs);
        },
      },
      {
        head: Math.max(head, resumes ? up.cursor : 0),
        sentFrom: resumes ? up.cursor : undefined,
        ready: this.#ports.ready(),
        creditBytes: welcome.upCreditBytes,
        held: heldFromWire(welcome.held),
        cursor,
        resumes: welcome.downResumes,
        peerReady: welcome.ready && gate.isOpen(),
      },
    );
    if (!this.#over) this.#told.began(this.#runner);
  }

  #away(returnAfterMs: number): void {
    if (this.#over) return;
    this.#over = true;
    this.#told.away(returnAfterMs);
  }

  #gateOf({ hasSiblings, downResumes }: Welcome): WatermarkGate {
    const { store, log, consumer, clock, watermarksReached } = this.#ports;
    const waits = (waiting: Waiting | undefined) => this.#told.waits(waiting);
    const ports = { store, log, consumer, clock, reached: () => watermarksReached?.(), waits };
    return new WatermarkGate(ports, { hasSiblings, resumes: downResumes });
  }

  /** On one that does not keep to the protocol. */
  #hangUp(link: Link | undefined, refusal: Refusal, reason: string): void {
    if (this.#over) return;
    this.#told.refused(refusal);
    link?.close(reason);
    this.#end(reason);
  }

  #end(reason: string, askedMs?: number): void {
    if (this.#over) return;
    this.#over = true;
    this.#timer?.stop();
    this.#told.ended(reason, askedMs);
  }
}

/** Words of the other end go into logs: a sentence, not a frame full of them. */
const saidCharsMax = 1_024;

function said(words: string): string {
  return words.slice(0, saidCharsMax);
}
