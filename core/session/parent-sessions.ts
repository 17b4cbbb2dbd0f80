/** The parent's side: one session for each child that is attached. */
import type { ResumeTuple } from '../feed/feed.ts';
import { heldPieces } from '../feed/pieces.ts';
import type { FeedProducer } from '../feed/producer.ts';
import { nameOf, parentOf } from '../identity/node-path.ts';
import { withReplica } from '../identity/replica.ts';
import { BanyanError, describeError } from '../runtime/errors.ts';
import type { SessionStreams } from '../stream/streams.ts';
import { maxFrameBytes } from '../wire/frames.ts';
import type { Frame, Hello, Retry, Welcome } from '../wire/generated/mesh.ts';
import type { Link, LinkEvents } from '../wire/link.ts';
import { Acknowledgements } from './acknowledgements.ts';
import { HelloTurns } from './admission.ts';
import { expiredOf } from './expiry-watch.ts';
import { FeedAlarm } from './feed-alarm.ts';
import { windowMaxBytes } from './flow.ts';
import { flawOfHello } from './greeting.ts';
import {
  admit,
  fenceOf,
  piecesVersion,
  prefixesVersion,
  readSession,
  type SessionRecord,
  writeSession,
} from './handshake.ts';
import { Mismatch } from './mismatch.ts';
import type { ChildFeeds, ParentSessionsPorts, SessionStatus } from './parent-ports.ts';
import { ReconcileSlots } from './reconcile-slots.ts';
import { SessionRunner } from './runner.ts';
import { type Refusal, refusalOf, SessionEnds, SessionError } from './session-ends.ts';
import { Wakes } from './wakes.ts';
import { heldFromWire, heldToWire, tupleFromWire, tupleToWire } from './wire-frames.ts';

interface Opened extends ChildFeeds {
  readonly record: SessionRecord;
  readonly version: number;
  /** Of the child's feed when the session was opened. */
  readonly head: number;
  /** Of this node for the child at that moment. */
  readonly ready: boolean;
}

interface Attached {
  readonly runner: SessionRunner;
  readonly sinceMs: number;
  readonly transport: string;
}

/** A connection that does not say who it is within this time is closed. */
const helloWithinMs = 10_000;
/** Frames that may come between a child's hello and the parent's welcome: its resume and a beat. */
const earlyFramesMax = 16;
/** A process that ends in order is usually back within this; children that were told come then, at the pace of hellos. */
const returnAfterMs = 2_000;
const returnsPerSecond = 200;
/** What a refused child is asked to wait: long, since a person has to act. */
const refusedAfterMs = 30_000;
/**
 * A place whose session has been over for so long is nobody's: who had it would be back, as waits between attempts grow to 60 s and a machine starts in
 * less. Then one whose boot counter is too low hears of the number; before, a copy could take the place of an original that is away for a moment.
 */
const vacantAfterMs = 120_000;
/** What such a one is asked to wait, and one that comes with another certificate then, or is refused by the handshake. */
const comesAgainAfterMs = 1_000;
const takenOver = 'a newer session of this child took over';

export class ParentSessions {
  readonly #ports: ParentSessionsPorts;
  readonly #attached = new Map<string, Attached>();
  readonly #lostAtMs = new Map<string, number>();
  readonly #startedAtMs: number;
  /** Attached children that are told how far this node has come. */
  readonly #waiting = new Set<string>();
  readonly #wakes: Wakes;
  readonly #turns = new HelloTurns();
  readonly #slots: ReconcileSlots;
  readonly #acknowledgements: Acknowledgements;
  /** By child; as many as have ever come. */
  readonly #mismatches = new Map<string, Mismatch>();
  /** By child; only of those of which there was one. */
  readonly #alarms = new Map<string, FeedAlarm>();
  readonly #clones = new Map<string, FeedAlarm>();
  readonly ends = new SessionEnds();

  constructor(ports: ParentSessionsPorts) {
    this.#ports = ports;
    this.#startedAtMs = ports.clock.monotonicMs();
    this.#slots = new ReconcileSlots(ports.clock);
    this.#acknowledgements = new Acknowledgements(ports.store, ports.clock);
    this.#wakes = new Wakes({ ...ports, runnerOf: (child) => this.#attached.get(child)?.runner });
  }

  /** For the listener: each new connection is one session, or is refused by throwing. */
  accept(link: Link): LinkEvents {
    const child = this.#childOf(link);
    const early: Frame[] = [];
    let greeted = false;
    let closed = false;
    let runner: SessionRunner | undefined;
    const timer = this.#ports.clock.after(helloWithinMs, () => this.#hangUp(link, 'no_hello', 'no hello came'));
    return {
      onFrame: (frame) => {
        if (runner) {
          runner.receive(frame);
        } else if (greeted) {
          early.push(frame);
          if (early.length > earlyFramesMax) this.#hangUp(link, 'early_frames', 'frames before the welcome');
        } else {
          greeted = true;
          timer.stop();
          this.#hello(link, child, frame, (begun) => {
            if (closed) {
              begun.end();
              return;
            }
            runner = begun;
            for (const waiting of early) begun.receive(waiting);
          });
        }
      },
      onBytes: () => runner?.alive(),
      onDrain: () => runner?.drained(),
      onClose: (error) => {
        closed = true;
        timer.stop();
        runner?.end(error);
      },
      onStream: (id, stream) => {
        if (!runner?.streams)
          throw new BanyanError('NotFound', `there is no stream ${id}: no session has asked for it`);
        return runner.streams.accept(id, stream);
      },
    };
  }

  /** The child's feed has new rows: they are sent when they are durable. */
  wake(child: string): void {
    this.#wakes.wake(child);
  }

  /** Whether the feeds of these children are ready, or of all, is another answer now. */
  readyChanged(children: Iterable<string> = this.#attached.keys()): void {
    for (const child of children) this.#attached.get(child)?.runner.ready(this.#ports.ready(child));
  }

  /** They are more than they were. */
  watermarksChanged(): void {
    for (const child of this.#waiting) this.#tellWatermarks(child);
  }

  disconnect(child: string, reason: string): void {
    this.#attached.get(child)?.runner.goodbye(reason);
  }

  /** Of the child's present session. */
  streams(child: string): SessionStreams | undefined {
    return this.#attached.get(child)?.runner.streams;
  }

  status(child: string): SessionStatus {
    const attached = this.#attached.get(child);
    const alarms = { diverged: this.#alarms.get(child)?.present, cloned: this.#clones.get(child)?.present };
    if (attached) {
      const { sinceMs: connectedSinceMs, transport } = attached;
      return { connected: true, connectedSinceMs, transport, silentMs: 0, ...alarms };
    }
    const lostAtMs = this.#lostAtMs.get(child) ?? this.#startedAtMs;
    return { connected: false, silentMs: this.#ports.clock.monotonicMs() - lostAtMs, ...alarms };
  }

  close(): void {
    const attached = [...this.#attached.values()];
    for (const [i, { runner }] of attached.entries()) {
      runner.goodbye('the parent ends', returnAfterMs + Math.floor((i * 1_000) / returnsPerSecond));
    }
  }

  // --------------------------------------------------------------------------------------------------------

  #childOf(link: Link): string {
    const { path, role, replica = 0 } = link.peer;
    if (role === 'center' || parentOf(path) !== this.#ports.path || path === '') {
      throw new BanyanError(
        'Forbidden',
        `the certificate is for ${role} "${path}", which is no child of "${this.#ports.path}"`,
      );
    }
    return withReplica(nameOf(path), replica);
  }

  #hello(link: Link, child: string, { frame }: Frame, begun: (runner: SessionRunner) => void): void {
    if (frame?.$case !== 'hello') {
      this.#hangUp(link, 'no_hello', 'the first frame was no hello');
      return;
    }
    const hello = frame.value;
    const flaw = flawOfHello(hello, link.peer.role);
    if (flaw)
      return this.#refuse(link, { afterMs: refusedAfterMs, reason: 'bad_hello', message: `the hello's ${flaw}` });
    const waitMs = this.#turns.admit(child, this.#ports.clock.monotonicMs());
    if (waitMs > 0) {
      return this.#refuse(link, {
        afterMs: waitMs,
        reason: 'busy',
        message: 'many children come at once: this one has its turn later',
      });
    }
    try {
      const opened = this.#open(link, child, hello);
      if (!opened) return;
      // The session's number and the feed's incarnation are durable before the child hears of them.
      this.#ports.store.flushed().then(
        () => {
          const expired = expiredOf(link, this.#ports.clock);
          // Its inventory may have been deleted while the disk worked: it is told as if it had asked now.
          if (this.#ports.store.read((reader) => opened.producer.isDropped(reader))) {
            const message = `"${child}" was removed from the inventory while it attached`;
            this.#refuse(link, { afterMs: refusedAfterMs, reason: 'unknown_child', message });
          } else if (!this.#isNewest(link, opened.record)) {
            this.#hangUp(link, 'other', takenOver);
          } else if (expired) {
            this.#refuse(link, { afterMs: comesAgainAfterMs, reason: 'expired', message: expired.words });
          } else {
            begun(this.#begin(link, child, hello, opened));
          }
        },
        (error: unknown) => link.close(describeError(error)),
      );
    } catch (error) {
      if (!(error instanceof BanyanError)) throw error;
      const reason = error.retry === 'backoff' ? 'busy' : 'unknown_child';
      this.#refuse(link, { afterMs: refusedAfterMs, reason, message: describeError(error) });
    }
  }

  /** Flushes may be done in another order than they were asked for: who came later may have been welcomed by now, or is about to be. */
  #isNewest(link: Link, { sessionSequence }: SessionRecord): boolean {
    return this.#ports.store.read((reader) => readSession(reader, recordOf(link))?.sessionSequence) === sessionSequence;
  }

  #open(link: Link, child: string, hello: Hello): Opened | undefined {
    const role = link.peer.role === 'agent' ? 'agent' : 'relay';
    const elsewhere = this.#ports.siblings?.superseded(child, hello.attachSequence);
    if (elsewhere !== undefined) {
      this.#refuse(link, { afterMs: refusedAfterMs, reason: 'superseded', message: elsewhere });
      return undefined;
    }
    this.#attached.get(child)?.runner.settle();
    const { admission, feeds } = this.#ports.store.write((t) => {
      const live = this.#attached.has(child);
      const decision = admit(hello, link.peer.path, readSession(t, recordOf(link)), live);
      if (!decision.admitted) return { admission: decision };
      const opened = this.#ports.feedsOf(t, child, role);
      writeSession(t, recordOf(link), decision.record);
      this.#ports.siblings?.attached(t, child, role, hello.attachSequence);
      return { admission: decision, feeds: opened };
    });
    if (!admission.admitted) {
      const bootCounter = this.#isVacant(child) ? (admission.bootCounter ?? 0) : 0;
      const afterMs = bootCounter > 0 ? comesAgainAfterMs : refusedAfterMs;
      this.#refuse(link, { afterMs, reason: admission.reason, message: admission.message, bootCounter });
      if (admission.reason === 'clone') this.#raise(this.#clones, child, admission.message);
      return undefined;
    }
    const { producer } = feeds!;
    this.#compare(child, producer, tupleFromWire(hello.down));
    return {
      ...feeds!,
      record: admission.record,
      version: admission.version,
      head: this.#ports.store.read((r) => producer.head(r)),
      ready: this.#ports.ready(child),
    };
  }

  /** Before it is said whether what is missing is meant to be missing. */
  #compare(child: string, producer: FeedProducer, tuple: ResumeTuple): void {
    const { store, putBack, hasOtherHistory } = this.#ports;
    const { isBehind, isOther } = store.read((reader) => ({
      isBehind: producer.wasPutBack(reader, tuple),
      isOther: producer.isOtherHistory(reader, tuple),
    }));
    if (isBehind) putBack?.();
    if (isOther) hasOtherHistory?.(child);
  }

  #begin(link: Link, child: string, hello: Hello, opened: Opened): SessionRunner {
    const { store, clock, log } = this.#ports;
    const { producer, consumer, record, head, ready } = opened;
    this.#attached.get(child)?.runner.end(new SessionError('TakenOver', 'Conflict', takenOver));
    const tuple = tupleFromWire(hello.down);
    const { resumes, up, held } = store.read((reader) => ({
      resumes: producer.resumable(reader, tuple),
      up: consumer.resume(reader),
      held: heldPieces(reader, consumer.id),
    }));
    const welcome = { ...this.#welcome(opened, up, resumes), held: heldToWire(held) };
    link.send({ frame: { $case: 'welcome', value: welcome } });
    let attached: Attached | undefined;
    const runner = new SessionRunner(
      {
        store,
        clock,
        log,
        link,
        produces: 'down',
        producer,
        consumer,
        pieces: opened.version >= piecesVersion,
        prefixes: opened.version >= prefixesVersion,
        random: this.#ports.random,
        streams: this.#ports.streamsOf?.(child, link),
        fence: fenceOf(recordOf(link), record),
        applied: (t, changes) => this.#ports.applied(t, child, changes),
        committed: (changes) => this.#ports.committed(child, changes),
        acknowledged: (cursor) => {
          // An agent that has begun to follow has nobody to tell.
          if (link.peer.role === 'agent') this.#waiting.delete(child);
          this.#ports.acknowledged(child, cursor);
        },
        caughtUp: () => this.#ports.caughtUp?.(child),
        heardOut: () => this.#ports.heardOut?.(child),
        slots: this.#slots,
        acknowledgements: this.#acknowledgements,
        rootAgeMs: () => this.#ports.rootAgeMs(),
        mismatch: this.#mismatchOf(child),
        differs: (what) => {
          log.error({ child, reason: what }, 'the feed from a child differs from what the child has: it is reconciled');
          this.#raise(this.#alarms, child, what);
        },
        ended: (error) => {
          this.ends.count(error);
          this.#ended(child, attached, error);
        },
      },
      {
        head,
        sentFrom: resumes ? tuple.cursor : undefined,
        ready,
        creditBytes: hello.downCreditBytes,
        held: heldFromWire(hello.held),
        cursor: up.cursor,
        resumes: false,
        peerReady: false,
      },
    );
    attached = { runner, sinceMs: clock.wallMs(), transport: transportOf(hello, link) };
    this.#attached.set(child, attached);
    this.#tellFrom(child, link, resumes);
    log.info({ child, transport: link.transport, resumes }, 'a child is attached');
    this.#ports.connected(child);
    this.wake(child);
    if (this.#ports.ready(child) !== ready) runner.ready(!ready);
    return runner;
  }

  #raise(alarms: Map<string, FeedAlarm>, child: string, what: string): void {
    const changed = () => this.#ports.alarmChanged?.(child);
    const alarm = alarms.get(child) ?? new FeedAlarm(this.#ports.clock, changed);
    alarms.set(child, alarm);
    alarm.raise(what);
    changed();
  }

  #mismatchOf(child: string): Mismatch {
    const known = this.#mismatches.get(child) ?? new Mismatch();
    this.#mismatches.set(child, known);
    return known;
  }

  /** Relays hand on how far their parent is; an agent waits for it when it comes from a sibling. */
  #tellFrom(child: string, { peer }: Link, resumes: boolean): void {
    if (peer.role === 'agent' && (resumes || !this.#ports.siblings?.hasSiblings)) return;
    this.#waiting.add(child);
    this.#tellWatermarks(child);
  }

  #tellWatermarks(child: string): void {
    const marks = this.#ports.watermarks?.() ?? {};
    if (Object.keys(marks).length > 0) this.#attached.get(child)?.runner.watermarks(marks);
  }

  #welcome(opened: Opened, up: ResumeTuple, downResumes: boolean): Omit<Welcome, 'held'> {
    return {
      version: opened.version,
      sessionSequence: opened.record.sessionSequence,
      up: tupleToWire(up),
      upCreditBytes: windowMaxBytes,
      downResumes,
      ready: opened.ready,
      maxFrameBytes,
      software: this.#ports.software,
      downEpoch: Buffer.from(opened.producer.epoch, 'hex'),
      downIncarnation: Buffer.from(opened.producer.incarnation, 'hex'),
      hasSiblings: this.#ports.siblings?.hasSiblings ?? false,
    };
  }

  #ended(child: string, attached: Attached | undefined, error: Error | undefined): void {
    if (this.#attached.get(child) !== attached || !attached) return;
    this.#attached.delete(child);
    this.#waiting.delete(child);
    this.#lostAtMs.set(child, this.#ports.clock.monotonicMs());
    const reason = error ? describeError(error) : 'ended in order';
    this.#ports.log.info({ child, reason, entries: attached.runner.entries }, 'a child is detached');
    this.#ports.disconnected(child, reason);
  }

  /** On one that does not keep to the order of frames: there is nothing to tell it. */
  #hangUp(link: Link, refusal: Refusal, reason: string): void {
    this.ends.refuse(refusal);
    link.close(reason);
  }

  #isVacant(child: string): boolean {
    const { connected, silentMs } = this.status(child);
    return !connected && silentMs >= vacantAfterMs;
  }

  #refuse(link: Link, reasons: Omit<Retry, 'bootCounter'> & Partial<Retry>): void {
    const retry = { bootCounter: 0, ...reasons };
    this.#ports.log.warn(
      { child: link.peer.path, reason: retry.reason, message: retry.message },
      'a child was refused',
    );
    this.ends.refuse(refusalOf(retry.reason));
    link.send({ frame: { $case: 'retry', value: retry } });
    link.close(retry.message);
  }
}

/** Under which a session is remembered: each of several siblings is a child of its own. */
function recordOf({ peer }: Link): string {
  return withReplica(peer.path, peer.replica ?? 0);
}

/** It goes into what every node above shows; a child of an older version does not tell it. */
const transportCharsMax = 64;

function transportOf({ transport }: Hello, link: Link): string {
  return /^[a-z0-9+]+$/.test(transport) && transport.length <= transportCharsMax ? transport : link.transport;
}
