/** The parent's side of sessions: one session for each attached child. */
import type { ResumeTuple } from '../feed/feed.ts';
import { heldPieces } from '../feed/pieces.ts';
import { producerRowsTopic } from '../feed/topics.ts';
import type { PeerIdentity } from '../identity/peer-identity.ts';
import type { Timer } from '../runtime/clock.ts';
import { BanyanError, describeError } from '../runtime/errors.ts';
import { ifRoom } from '../store/room.ts';
import type { SessionStreams } from '../stream/streams.ts';
import { maxFrameBytes } from '../wire/codec/frames.ts';
import type { Frame, Hello, Welcome } from '../wire/generated/mesh.ts';
import type { Link, LinkEvents } from '../wire/link.ts';
import { Acknowledgements } from './acknowledgements.ts';
import { FeedAlarm } from './feed-alarm.ts';
import { windowMaxBytes } from './flow.ts';
import { fenceOf } from './handshake.ts';
import { aliveEveryMs, lastAlive, lastHeard, noteAlive, noteDetached } from './last-heard.ts';
import { Mismatch } from './mismatch.ts';
import type { ParentSessionsPorts, SessionStatus } from './parent-ports.ts';
import { ReconcileSlots } from './reconcile-slots.ts';
import { SessionRunner } from './runner.ts';
import { type AdmittedSession, SessionAcceptor, sessionRecordKeyOf, takenOver } from './session-acceptor.ts';
import { SessionEnds, SessionError } from './session-ends.ts';
import { Wakes } from './wakes.ts';
import { heldFromWire, heldToWire, tupleFromWire, tupleToWire } from './wire-frames.ts';

interface Attached {
  readonly runner: SessionRunner;
  /** Name of the table of the child's down feed. */
  readonly table: string;
  readonly sinceMs: number;
  readonly transport: string;
  readonly peer: PeerIdentity;
}

/** If no Hello arrives within this time, the parent closes the connection. */
const helloWithinMs = 10_000;
/** Limit for frames between a child's Hello and the parent's Welcome. A child normally sends two: its resume and a beat. */
const earlyFramesMax = 16;
/**
 * Time after which a process is usually back after a planned shutdown. The goodbye to each child contains a time to return: this time, plus a delay so that
 * the children return at `returnsPerSecond`.
 */
const returnAfterMs = 2_000;
const returnsPerSecond = 200;

export class ParentSessions {
  readonly #ports: ParentSessionsPorts;
  readonly #attached = new Map<string, Attached>();
  /** Attached children, keyed by the table of their down feed. */
  readonly #childOfTable = new Map<string, string>();
  readonly #unsubscribe: () => void;
  readonly #lost = new Map<string, { readonly atMs: number; readonly heardAtMs: number }>();
  readonly #startedAtMs: number;
  /** The last time that an earlier run of the process wrote. */
  readonly #aliveAtMs: number | undefined;
  #aliveTimer: Timer | undefined;
  /** Attached children that get watermarks. */
  readonly #watermarkReceivers = new Set<string>();
  readonly #wakes: Wakes;
  readonly #acceptor: SessionAcceptor;
  readonly #slots: ReconcileSlots;
  readonly #acknowledgements: Acknowledgements;
  /** Keyed by child. Bound: one for each child that has ever attached. */
  readonly #mismatches = new Map<string, Mismatch>();
  /** Keyed by child, only for children that have raised an alarm. */
  readonly #alarms = new Map<string, FeedAlarm>();
  readonly #clones = new Map<string, FeedAlarm>();
  readonly ends = new SessionEnds();

  constructor(ports: ParentSessionsPorts) {
    this.#ports = ports;
    this.#startedAtMs = ports.clock.monotonicMs();
    this.#aliveAtMs = ports.store.read(lastAlive);
    this.#scheduleAlive();
    this.#slots = new ReconcileSlots(ports.clock);
    this.#acknowledgements = new Acknowledgements(ports.store, ports.clock);
    this.#acceptor = new SessionAcceptor({
      ...ports,
      ends: this.ends,
      isAttached: (child) => this.#attached.has(child),
      settle: (child) => this.#attached.get(child)?.runner.settle(),
      status: (child) => this.status(child),
      cloned: (child, message) => this.#raise(this.#clones, child, message),
    });
    this.#wakes = new Wakes({ ...ports, runnerOf: (child) => this.#attached.get(child)?.runner });
    // New rows are sent when they are durable.
    this.#unsubscribe = ports.store.subscribe(producerRowsTopic, (tables) => {
      for (const table of tables) {
        const child = this.#childOfTable.get(table);
        if (child !== undefined) this.#wakes.wake(child);
      }
    });
  }

  /** Called by the listener for each new connection. Throws to refuse the connection. A connection carries at most one session. */
  accept(link: Link): LinkEvents {
    const child = this.#acceptor.childOf(link);
    const early: Frame[] = [];
    let hasHello = false;
    let closed = false;
    let runner: SessionRunner | undefined;
    const timer = this.#ports.clock.after(helloWithinMs, () => link.close('no hello came'));
    return {
      onFrame: (frame) => {
        if (runner) {
          runner.receive(frame);
        } else if (hasHello) {
          early.push(frame);
          if (early.length > earlyFramesMax) this.#acceptor.hangUp(link, 'early_frames', 'frames before the welcome');
        } else {
          hasHello = true;
          timer.stop();
          this.#acceptor.hello(link, child, frame, (hello, opened) => {
            const session = this.#begin(link, child, hello, opened);
            if (closed) {
              session.end();
              return;
            }
            runner = session;
            for (const frameBefore of early) session.receive(frameBefore);
          });
        }
      },
      onBytes: () => runner?.alive(),
      onDrain: () => runner?.drained(),
      onClose: (error) => {
        closed = true;
        timer.stop();
        if (!hasHello) this.ends.refuse('no_hello');
        runner?.end(error);
      },
      onStream: (id, stream) => {
        if (!runner?.streams)
          throw new BanyanError('NotFound', `there is no stream ${id}: no session has asked for it`);
        return runner.streams.accept(id, stream);
      },
    };
  }

  /** Call it when the readiness of the down feeds of these children, or of all children, may have changed. */
  readyChanged(children: Iterable<string> = this.#attached.keys()): void {
    for (const child of children) this.#attached.get(child)?.runner.ready(this.#ports.ready(child));
  }

  /** Call it when the watermarks of this node have risen. */
  watermarksChanged(): void {
    for (const child of this.#watermarkReceivers) this.#publishWatermarks(child);
  }

  disconnect(child: string, reason: string): void {
    this.#attached.get(child)?.runner.goodbye(reason);
  }

  /** Call it when certificates were revoked. Ends the sessions of children whose certificates do not count any more. */
  endRevoked(): void {
    for (const [child, { peer, runner }] of this.#attached) {
      const why = this.#ports.whyRevoked?.(peer);
      if (why === undefined) continue;
      this.#ports.log.warn({ child, reason: why }, 'a session ends');
      runner.goodbye(why);
    }
  }

  /** The streams of the child's present session. */
  streams(child: string): SessionStreams | undefined {
    return this.#attached.get(child)?.runner.streams;
  }

  status(child: string): SessionStatus {
    const attached = this.#attached.get(child);
    const alarms = { diverged: this.#alarms.get(child)?.present, cloned: this.#clones.get(child)?.present };
    if (attached) {
      const { sinceMs: connectedSinceMs, transport } = attached;
      const heardAtMs = this.#heardAtMs(attached);
      return { connected: true, connectedSinceMs, transport, silentMs: 0, heardAtMs, ...alarms };
    }
    const { clock, store } = this.#ports;
    const lost = this.#lost.get(child);
    const silentMs = clock.monotonicMs() - (lost?.atMs ?? this.#startedAtMs);
    // The store decides whether the child has ever attached: a removed child may have left a time in memory.
    const stored = store.read((reader) => lastHeard(reader, child, this.#aliveAtMs));
    return { connected: false, silentMs, heardAtMs: stored && (lost?.heardAtMs ?? stored), ...alarms };
  }

  close(): void {
    this.#unsubscribe();
    this.#aliveTimer?.stop();
    const attached = [...this.#attached.values()];
    for (const [i, { runner }] of attached.entries()) {
      runner.goodbye('the parent ends', returnAfterMs + Math.floor((i * 1_000) / returnsPerSecond));
    }
  }

  // --------------------------------------------------------------------------------------------------------

  #begin(link: Link, child: string, hello: Hello, opened: AdmittedSession): SessionRunner {
    const { store, clock, log } = this.#ports;
    const { producer, consumer, record, head, ready } = opened;
    this.#attached.get(child)?.runner.end(new SessionError('TakenOver', 'Conflict', takenOver));
    const tuple = tupleFromWire(hello.down);
    const { resumes, acknowledged, up, held } = store.read((reader) => ({
      resumes: producer.resumable(reader, tuple),
      acknowledged: producer.acknowledged(reader),
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
        random: this.#ports.random,
        streams: this.#ports.streamsOf?.(child, link),
        fence: fenceOf(sessionRecordKeyOf(link), record),
        applied: (t, changes) => this.#ports.applied(t, child, changes),
        committed: (changes) => this.#ports.committed?.(child, changes),
        acknowledged: (cursor) => {
          // An agent that acknowledges follows this node already. It needs no more watermarks, because it has no children.
          if (link.peer.role === 'agent') this.#watermarkReceivers.delete(child);
          this.#ports.acknowledged?.(child, cursor);
        },
        acknowledgementStored: () => this.#ports.acknowledgementStored?.(child),
        caughtUp: () => this.#ports.caughtUp?.(child),
        reportedAll: () => this.#ports.reportedAll?.(child),
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
    attached = { runner, table: producer.name, sinceMs: clock.wallMs(), transport: hello.transport, peer: link.peer };
    this.#attached.set(child, attached);
    this.#childOfTable.set(producer.name, child);
    if (resumes && tuple.cursor > acknowledged) runner.noteConsumerAt(tuple.cursor);
    this.#startWatermarks(child, link, resumes);
    log.info({ child, transport: link.transport, resumes }, 'a child is attached');
    this.#ports.connected(child);
    this.#wakes.wake(child);
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
    const mismatch = this.#mismatches.get(child) ?? new Mismatch();
    this.#mismatches.set(child, mismatch);
    return mismatch;
  }

  /** Relays always get watermarks, because they pass them on. An agent needs watermarks only if it comes from another replica of this node. */
  #startWatermarks(child: string, { peer }: Link, resumes: boolean): void {
    if (peer.role === 'agent' && (resumes || !this.#ports.replicas?.hasReplicas)) return;
    this.#watermarkReceivers.add(child);
    this.#publishWatermarks(child);
  }

  #publishWatermarks(child: string): void {
    const marks = this.#ports.watermarks?.();
    if (marks && Object.keys(marks).length > 0) this.#attached.get(child)?.runner.watermarks(marks);
  }

  #welcome(opened: AdmittedSession, up: ResumeTuple, downResumes: boolean): Omit<Welcome, 'held'> {
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
      hasReplicas: this.#ports.replicas?.hasReplicas === true,
    };
  }

  #ended(child: string, attached: Attached | undefined, error: Error | undefined): void {
    if (this.#attached.get(child) !== attached || !attached) return;
    this.#attached.delete(child);
    this.#childOfTable.delete(attached.table);
    this.#watermarkReceivers.delete(child);
    const { clock, store } = this.#ports;
    const heardAtMs = this.#heardAtMs(attached);
    this.#lost.set(child, { atMs: clock.monotonicMs(), heardAtMs });
    // A session may end inside a transaction. While the disk is full, the record keeps `attached`, and the time of the node counts instead.
    this.#ports.defer(() => {
      if (!this.#attached.has(child)) ifRoom(() => store.write((t) => noteDetached(t, child, heardAtMs)));
    });
    const reason = error ? describeError(error) : 'ended in order';
    this.#ports.log.info({ child, reason, entries: attached.runner.entries }, 'a child is detached');
    this.#ports.disconnected(child, reason);
  }

  #heardAtMs({ runner }: Attached): number {
    return this.#ports.clock.wallMs() - runner.silentMs;
  }

  #scheduleAlive(): void {
    const { clock, store, defer } = this.#ports;
    this.#aliveTimer = clock.after(aliveEveryMs, () => {
      this.#scheduleAlive();
      if (this.#attached.size === 0) return;
      defer(() => {
        if (!ifRoom(() => store.write((t) => noteAlive(t, clock.wallMs())))) return;
        // A store that can't flush has failed for good, and ends the process itself.
        store.flushed().catch(() => {});
      });
    });
  }
}
