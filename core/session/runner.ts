/** Carries out what an established session decides: the machine (session.ts) on a store, a clock and a link. */
import type { FeedConsumer } from '../feed/consumer.ts';
import { difference, sumBytes, sumOf } from '../feed/digest.ts';
import { type AppliedChange, type Batch, entryBytes, type ReconcileReply } from '../feed/feed.ts';
import { dropPieces, heldPieces, type Piece, storePiece } from '../feed/pieces.ts';
import type { FeedProducer } from '../feed/producer.ts';
import { Reconciliation } from '../feed/reconcile.ts';
import { hashBytes } from '../object/hash.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import { BanyanError } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Reader, Store, Transaction } from '../store/store.ts';
import type { SessionStreams } from '../stream/streams.ts';
import type { Beat, Frame, Digest as WireDigest } from '../wire/generated/mesh.ts';
import type { Expiry, Link } from '../wire/link.ts';
import { Acknowledgements } from './acknowledgements.ts';
import { windowMaxBytes } from './flow.ts';
import type { Mismatch } from './mismatch.ts';
import type { Send } from './outgoing.ts';
import { Received } from './received.ts';
import type { ReconcileSlots } from './reconcile-slots.ts';
import { make } from './sending.ts';
import {
  begin,
  type Effect,
  type Input,
  nextTickMs,
  type SessionState,
  type Start,
  type Stepped,
  step,
} from './session.ts';
import { SessionError } from './session-ends.ts';
import type { Watermarks } from './watermark.ts';
import {
  ackFrame,
  batchFromWire,
  creditFrame,
  type Direction,
  directionOf,
  replyFromWire,
  requestFrame,
  requestFromWire,
} from './wire-frames.ts';

/** Wall clocks are set while a session lasts, and timers can't wait for years: what is far away is looked at again after this. */
const expiryLookMs = 3_600_000;
/** A peer that says it is away for longer is dialed all the same. */
const returnAfterMaxMs = 60_000;

export interface RunnerPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly link: Link;
  /** The direction that this side produces. */
  readonly produces: Direction;
  readonly producer: FeedProducer;
  readonly consumer: FeedConsumer;
  /** The peer takes large contents in pieces. */
  readonly pieces: boolean;
  /** Absent: this side takes no streams, and passes over what is asked. */
  readonly streams?: SessionStreams | undefined;
  /** Throws when another session has taken over: checked inside every commit on behalf of this one. */
  fence(t: Transaction): void;
  /** Inside the commit that applies changes: what it writes commits with the cursor. */
  applied(t: Transaction, changes: readonly AppliedChange[]): void;
  /** After that commit. */
  committed(changes: readonly AppliedChange[]): void;
  acknowledged(cursor: number): void;
  caughtUp(): void;
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

export class SessionRunner {
  readonly #ports: RunnerPorts;
  #state: SessionState;
  #timer: Timer | undefined;
  #expiryTimer: Timer | undefined;
  #reconciliation: Reconciliation | undefined;
  #ended = false;
  /** The transport's buffer is full: data wait, control frames do not. */
  #congested = false;
  #waiting: Send | undefined;
  /** Who takes a turn for a reconciliation: of the feed that this side produces, and of the other. */
  readonly #slots = { produced: {}, consumed: {} };
  #beats = 0;
  #heardOfRoot: { readonly ageMs: number; readonly atMs: number } | undefined;
  /** Entries with their contents, in batches and in reconciliations: what the session cost. */
  readonly #entries = { sent: 0, received: 0 };

  readonly #acknowledgements: Acknowledgements;
  /** Of the credit that both sides give. */
  readonly #received = new Received(windowMaxBytes);

  constructor(ports: RunnerPorts, start: Omit<Start, 'nowMs'>) {
    this.#ports = ports;
    this.#acknowledgements = new Acknowledgements(ports.clock, (cursor) => this.#acknowledge(cursor));
    const first = begin({ ...start, nowMs: ports.clock.monotonicMs() });
    this.#state = first.state;
    this.#run(first);
    this.#untilExpiry();
  }

  get state(): SessionState {
    return this.#state;
  }

  get streams(): SessionStreams | undefined {
    return this.#ports.streams;
  }

  get entries(): { readonly sent: number; readonly received: number } {
    return this.#entries;
  }

  producerHead(reader: Reader): number {
    return this.#ports.producer.head(reader);
  }

  /** The produced feed is durable up to `head`. */
  produced(head: number): void {
    this.#input({ type: 'produced', head });
  }

  /** Told together with a head that covers what made this side ready: with an older one, the peer would believe that it has all there is. */
  ready(ready: boolean): void {
    const { store, producer } = this.#ports;
    const head = store.read((reader) => producer.head(reader));
    this.#afterFlush(() => {
      this.#input({ type: 'produced', head });
      this.#input({ type: 'ready', ready });
    });
  }

  /** Before another session takes over, which is to find all that was acknowledged. */
  settle(): void {
    this.#acknowledgements.settle();
  }

  alive(): void {
    this.#input({ type: 'alive' });
  }

  drained(): void {
    this.#congested = false;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) this.#guard(() => this.#sendData(waiting));
  }

  receive(frame: Frame): void {
    const { clock, link } = this.#ports;
    // The peer's timer was first: without this its goodbye would pass for an end in order.
    const isOver = frame.frame?.$case === 'goodbye' && link.expiry && clock.wallMs() >= link.expiry.atMs;
    if (isOver && !this.#ended) return this.#expired(link.expiry);
    this.#guard(() => {
      const input = this.#inputOf(frame);
      if (!input) return;
      if (input.type === 'beat') this.#heardBeat(frame);
      if (input.type === 'request') this.#inSlot(this.#slots.produced, () => this.#input(input));
      else this.#input(input);
    });
  }

  /** Ends the session from this side, with a word for the peer. 0: this side does not say when it is back. */
  goodbye(reason: string, returnAfterMs = 0): void {
    if (this.#ended) return;
    this.#send({ frame: { $case: 'goodbye', value: { reason, returnAfterMs } } });
    this.end();
  }

  /** What the peer's last beat said, and when. */
  get heardOfRoot(): { readonly ageMs: number; readonly atMs: number } | undefined {
    return this.#heardOfRoot;
  }

  end(error?: Error, returnAfterMs?: number): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#timer?.stop();
    this.#expiryTimer?.stop();
    this.#acknowledgements.settle();
    const reason = error?.message ?? 'ended';
    this.#ports.streams?.end(`the session with ${this.#ports.link.peer.path || 'the center'} is over: ${reason}`);
    this.#ports.link.close(reason);
    this.#ports.slots?.release(this.#slots.produced);
    this.#ports.slots?.release(this.#slots.consumed);
    this.#ports.ended(error, returnAfterMs);
  }

  // -------------------------------------------------------------------------------------------------- effects

  #input(input: Input): void {
    if (this.#ended) return;
    this.#run(step(this.#state, input, this.#ports.clock.monotonicMs()));
  }

  #run({ state, effects }: Stepped): void {
    this.#state = state;
    for (const effect of effects) {
      if (this.#ended) return;
      this.#guard(() => this.#perform(effect));
    }
    if (!this.#ended) this.#armTimer();
  }

  #perform(effect: Effect): void {
    switch (effect.type) {
      case 'send':
        return this.#sendData(effect.send);
      case 'applyThenAck':
        return this.#apply(effect.batch);
      case 'applyAhead':
        return this.#applyAhead(effect.batch, effect.bytes);
      case 'storePiece':
        return this.#storePiece(effect.piece);
      case 'acknowledged':
        this.#acknowledgements.note(effect.cursor);
        this.#ports.slots?.release(this.#slots.produced);
        return this.#ports.acknowledged(effect.cursor);
      case 'sendBeat':
        return this.#sendBeat(effect.head, effect.ready);
      case 'startReconcile':
        return this.#inSlot(this.#slots.consumed, () => {
          this.#reconciliation = this.#ports.store.read((reader) => new Reconciliation(reader, this.#ports.consumer));
          this.#askNext();
        });
      case 'absorb':
        return this.#absorb(effect.reply);
      case 'caughtUp':
        return this.#caughtUp();
      case 'close':
        return this.end(effect.error, effect.returnAfterMs);
    }
  }

  #sendBeat(head: number, ready: boolean): void {
    const { store, producer, rootAgeMs } = this.#ports;
    const { purgeRevision, digest } = store.read((reader) => ({
      purgeRevision: producer.purgeRevision(reader),
      digest: this.#digestAt(reader, head),
    }));
    const value = {
      sequence: ++this.#beats,
      head,
      purgeRevision,
      digest,
      rootWatermark: 0,
      watermarks: [],
      rootAgeMs: Math.round(rootAgeMs()),
      ready,
    };
    this.#send({ frame: { $case: 'beat', value } });
  }

  /** Only when the consumer has all there is: at any other revision there is nothing to compare with. */
  #digestAt(reader: Reader, head: number): WireDigest | undefined {
    const { producer } = this.#ports;
    const { outgoing, flow } = this.#state;
    if (outgoing.sent !== head || flow.inFlight.length > 0 || producer.head(reader) !== head) return undefined;
    const { count, sum } = producer.digest(reader);
    return { revision: head, count, sum: sumBytes(sum) };
  }

  /** A difference costs a reconciliation: the tuple names no incarnation any more, so the next session can't go on. */
  #compare(peer: WireDigest): void {
    const { store, consumer, mismatch, fence, differs } = this.#ports;
    const { tuple, digest } = store.read((reader) => ({
      tuple: consumer.resume(reader),
      digest: consumer.digest(reader),
    }));
    if (this.#state.mode !== 'resumed' || tuple.cursor !== peer.revision || peer.sum.length !== hashBytes) return;
    const theirs = { count: peer.count, sum: sumOf(peer.sum) };
    if (!mismatch.isOne(difference(digest, theirs))) return;
    store.write((t) => {
      fence(t);
      consumer.setResume(t, { ...tuple, incarnation: '' });
    });
    const what = `${consumer.name}: at revision ${peer.revision} there are ${digest.count} rows here and ${peer.count} at the other end, or others`;
    differs(what);
    throw new SessionError('DigestMismatch', 'Protocol', what, { retry: 'resync' });
  }

  /** Told with a head that covers what they speak of, like readiness. */
  watermarks(marks: Watermarks): void {
    const { store, producer, rootAgeMs } = this.#ports;
    const head = store.read((reader) => producer.head(reader));
    this.#afterFlush(() => {
      this.#input({ type: 'produced', head });
      const watermarks = Object.entries(marks).map(([source, revision]) => ({ source, revision }));
      const said = { purgeRevision: 0, rootWatermark: 0, rootAgeMs: Math.round(rootAgeMs()), digest: undefined };
      const value = { ...said, sequence: ++this.#beats, head, ready: this.#state.ready, watermarks };
      this.#send({ frame: { $case: 'beat', value } });
    });
  }

  /** Where the peer is, is heard first: what it says may be what was waited for. */
  #mayReconcile({ head, watermarks }: Beat): boolean {
    const marks = Object.fromEntries(watermarks.map(({ source, revision }) => [source, revision]));
    return this.#ports.watermarks?.(marks, head) ?? true;
  }

  #heardBeat({ frame }: Frame): void {
    if (frame?.$case !== 'beat') return;
    if (frame.value.digest) this.#compare(frame.value.digest);
    this.#heardOfRoot = { ageMs: frame.value.rootAgeMs, atMs: this.#ports.clock.monotonicMs() };
  }

  #sendData(send: Send): void {
    if (this.#congested) {
      this.#waiting = send;
      return;
    }
    const { done, frame, entries, head } = this.#ports.store.read((reader) => make(reader, this.#ports, send));
    const go = () => {
      if (head !== undefined) this.#input({ type: 'produced', head });
      this.#entries.sent += entries;
      if (frame) this.#send(frame);
      this.#input({ type: 'done', done });
    };
    if (head === undefined) go();
    else this.#afterFlush(go);
  }

  #apply(batch: Batch): void {
    this.#entries.received += batch.entries.length;
    const bytes = bytesOf(batch);
    this.#received.came(bytes);
    this.#commit((t) => this.#ports.consumer.apply(t, batch));
    this.#afterFlush(() => {
      this.#received.told(bytes);
      this.#send(ackFrame(this.#consumes, batch.to, batch.epoch));
    });
  }

  #applyAhead(batch: Batch, bytes: number): void {
    this.#entries.received += batch.entries.length;
    this.#received.came(bytes);
    this.#commit((t) => this.#ports.consumer.applyAhead(t, batch));
    this.#afterFlush(() => {
      this.#received.told(bytes);
      this.#send(creditFrame(this.#consumes, bytes));
    });
  }

  /** Given back at once: a piece that a crash takes comes again. */
  #storePiece(piece: Piece): void {
    const { store, consumer, fence } = this.#ports;
    const fits = store.write((t) => {
      fence(t);
      return storePiece(t, consumer.id, piece);
    });
    if (!fits) throw new BanyanError('Protocol', 'the pieces of a content are not what its hash says');
    this.#send(creditFrame(this.#consumes, piece.data.length));
  }

  #caughtUp(): void {
    const { store, consumer, caughtUp } = this.#ports;
    // Of contents that were on their way in an earlier session and have changed since.
    if (store.read((reader) => heldPieces(reader, consumer.id)).length > 0) {
      store.write((t) => dropPieces(t, consumer.id));
    }
    caughtUp();
  }

  #acknowledge(cursor: number): void {
    const { store, producer, fence } = this.#ports;
    try {
      store.write((t) => {
        fence(t);
        producer.acknowledge(t, cursor);
      });
    } catch (error) {
      if (!(error instanceof BanyanError)) throw error;
      // A newer session has taken over, or the store is gone.
      this.end(error);
    }
  }

  #absorb(reply: ReconcileReply): void {
    const reconciliation = this.#reconciliation;
    if (!reconciliation) return;
    this.#entries.received += reply.entries.length;
    this.#commit((t) => reconciliation.absorb(t, reply));
    this.#askNext();
  }

  #askNext(): void {
    const request = this.#reconciliation?.next();
    if (request) {
      this.#send(requestFrame(this.#consumes, request));
      return;
    }
    const reconciliation = this.#reconciliation!;
    this.#reconciliation = undefined;
    const { store, consumer } = this.#ports;
    this.#commit((t) => reconciliation.finish(t));
    const { cursor, epoch } = store.read((reader) => consumer.resume(reader));
    this.#afterFlush(() => this.#send(ackFrame(this.#consumes, cursor, epoch)));
    this.#input({ type: 'reconciled', cursor });
    this.#ports.slots?.release(this.#slots.consumed);
  }

  /** A reconciliation waits for its turn. */
  #inSlot(owner: object, begin: () => void): void {
    const { slots } = this.#ports;
    if (!slots) return begin();
    slots.take(owner, () => {
      if (!this.#ended) this.#guard(begin);
    });
  }

  #commit(work: (t: Transaction) => AppliedChange[]): void {
    const { store, fence, applied, committed } = this.#ports;
    const changes = store.write((t) => {
      fence(t);
      const done = work(t);
      if (done.length > 0) applied(t, done);
      return done;
    });
    if (changes.length > 0) committed(changes);
  }

  #afterFlush(then: () => void): void {
    this.#ports.store.flushed().then(
      () => {
        if (!this.#ended) this.#guard(then);
      },
      (error: unknown) => this.end(error as Error),
    );
  }

  // ----------------------------------------------------------------------------------------------------- frames

  get #consumes(): Direction {
    return this.#ports.produces === 'down' ? 'up' : 'down';
  }

  #inputOf(whole: Frame): Input | undefined {
    const { frame } = whole;
    switch (frame?.$case) {
      case 'batch':
        this.#expect(directionOf(frame.value.feed), this.#consumes);
        return { type: 'batch', batch: batchFromWire(frame.value) };
      case 'ack':
        this.#expect(directionOf(frame.value.feed), this.#ports.produces);
        return { type: 'ack', cursor: frame.value.cursor };
      case 'piece':
        this.#expect(directionOf(frame.value.feed), this.#consumes);
        return { type: 'piece', piece: frame.value };
      case 'credit':
        if (frame.value.stream !== 0) return undefined;
        this.#expect(directionOf(frame.value.feed), this.#ports.produces);
        return { type: 'credit', bytes: frame.value.bytes };
      case 'beat':
        return { type: 'beat', head: frame.value.head, ready: frame.value.ready && this.#mayReconcile(frame.value) };
      case 'reconcileRequest':
        this.#expect(directionOf(frame.value.feed), this.#ports.produces);
        return { type: 'request', request: requestFromWire(frame.value) };
      case 'reconcileReply':
        this.#expect(directionOf(frame.value.feed), this.#consumes);
        return { type: 'reply', reply: replyFromWire(frame.value) };
      case 'resume':
        this.#expect(directionOf(frame.value.feed), this.#consumes);
        return { type: 'resume', resumes: frame.value.resumes };
      case 'goodbye':
        return frame.value.returnAfterMs > 0
          ? { type: 'goodbye', returnAfterMs: Math.min(frame.value.returnAfterMs, returnAfterMaxMs) }
          : { type: 'goodbye' };
      case 'open':
      case 'reset':
      case 'census':
        this.#ports.streams?.receive(whole);
        return undefined;
      case 'hello':
      case 'welcome':
      case 'retry':
        throw new BanyanError('Protocol', `a ${frame.$case} in the middle of a session`);
      default:
        // Frames of a later version are passed over.
        return undefined;
    }
  }

  #expect(actual: Direction, expected: Direction): void {
    if (actual !== expected)
      throw new BanyanError('Protocol', `a frame for the ${actual} feed, which goes the other way`);
  }

  #send(frame: Frame): void {
    if (!this.#ports.link.send(frame)) this.#congested = true;
  }

  #guard(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (!(error instanceof BanyanError)) throw error;
      this.#ports.log.warn(
        { peer: this.#ports.link.peer.path, code: error.code, reason: error.message },
        'the session ends',
      );
      this.end(error);
    }
  }

  /** A handshake now would fail by it, so the session must not go on by one of long ago. The peer hears the words, if its clock is behind. */
  #untilExpiry(): void {
    const { clock, link } = this.#ports;
    const { expiry } = link;
    if (this.#ended || !expiry) return;
    const leftMs = Math.max(0, expiry.atMs - clock.wallMs());
    this.#expiryTimer = clock.after(Math.min(leftMs, expiryLookMs), () => {
      if (clock.wallMs() < expiry.atMs) this.#untilExpiry();
      else this.#expired(expiry);
    });
  }

  #expired({ words }: Expiry): void {
    const { link, log } = this.#ports;
    log.warn({ peer: link.peer.path, code: 'Unauthorized', reason: words }, 'the session ends');
    this.#send({ frame: { $case: 'goodbye', value: { reason: words, returnAfterMs: 0 } } });
    this.end(new SessionError('CertificateExpired', 'Unauthorized', words));
  }

  /** One timer at a time: what it waits for only moves away, so one that fires early finds nothing to do and is set anew. */
  #armTimer(): void {
    if (this.#timer) return;
    const { clock } = this.#ports;
    this.#timer = clock.after(nextTickMs(this.#state, clock.monotonicMs()), () => {
      this.#timer = undefined;
      this.#input({ type: 'tick' });
    });
  }
}

function bytesOf({ entries }: Batch): number {
  return entries.reduce((sum, entry) => sum + entryBytes(entry), 0);
}
