/** Carries out the decisions of an established session: connects the machine (session.ts) to a store, a clock and a link. */
import type { Expiry } from '../identity/expiry.ts';
import type { Timer } from '../runtime/clock.ts';
import { BanyanError } from '../runtime/errors.ts';
import { hex } from '../store/bytes.ts';
import type { Reader } from '../store/store.ts';
import type { SessionStreams } from '../stream/streams.ts';
import type { Beat, Frame } from '../wire/generated/mesh.ts';
import type { AcknowledgingSession } from './acknowledgements.ts';
import { Beats } from './beats.ts';
import { Consuming } from './consuming.ts';
import { ExpiryWatch, expiredOf } from './expiry-watch.ts';
import { inputOf } from './frame-input.ts';
import type { Send } from './outgoing.ts';
import type { RunnerPorts } from './runner-ports.ts';
import { make } from './sending.ts';
import {
  begin,
  type Effect,
  type Input,
  nextSessionTickMs,
  type SessionStart,
  type SessionState,
  type Stepped,
  stepSession,
} from './session.ts';
import { SessionError } from './session-ends.ts';
import type { Watermarks } from './watermark.ts';
import { isNonce } from './wire-frames.ts';

/** For messages of a kind in which a newer message replaces older ones: the number of requested messages, and the number of the newest durable one. */
type PendingReport = { requested: number; durable: number };

export class SessionRunner {
  readonly #ports: RunnerPorts;
  #state: SessionState;
  #timer: Timer | undefined;
  readonly #expiry: ExpiryWatch | undefined;
  #ended = false;
  /** The transport's buffer is full: data wait, control frames do not. */
  #congested = false;
  #waiting: Send | undefined;
  /** Owners of slots for reconciliations, one for each feed. */
  readonly #slots = { produced: {}, consumed: {} };
  readonly #beats: Beats;
  readonly #consuming: Consuming;
  /** Number of sent entries, with their contents. */
  #sent = 0;

  readonly #acknowledging: AcknowledgingSession;
  /** Time of the newest received bytes. The machine gets this time only at each tick, because bytes arrive with every frame. */
  #receivedAtMs: number;
  readonly #readiness: PendingReport = { requested: 0, durable: 0 };
  /** `unsent`: the newest watermarks, if they were not sent yet. */
  readonly #watermarks: PendingReport & { unsent?: Watermarks } = { requested: 0, durable: 0 };

  constructor(ports: RunnerPorts, start: Omit<SessionStart, 'nowMs'>) {
    this.#ports = ports;
    this.#beats = new Beats(ports);
    this.#consuming = new Consuming(ports, {
      send: (frame) => this.#send(frame),
      afterFlush: (then) => this.#afterFlush(then),
      reconciled: (cursor) => {
        this.#input({ type: 'reconciled', cursor });
        ports.slots?.release(this.#slots.consumed);
      },
    });
    this.#acknowledging = {
      write: (t, cursor) => {
        ports.fence(t);
        ports.producer.acknowledge(t, cursor);
      },
      written: () => ports.acknowledgementStored?.(),
      failed: (error) => this.end(error),
    };
    this.#receivedAtMs = ports.clock.monotonicMs();
    const first = begin({ ...start, nowMs: this.#receivedAtMs });
    this.#state = first.state;
    this.#run(first);
    const { expiry } = ports.link;
    if (expiry && !this.#ended) this.#expiry = new ExpiryWatch(ports.clock, expiry.atMs, () => this.#expired(expiry));
  }

  get streams(): SessionStreams | undefined {
    return this.#ports.streams;
  }

  /** The consumed feed was resumed, or has been reconciled. */
  get isResumed(): boolean {
    return this.#state.mode === 'resumed';
  }

  /** Numbers of sent and received entries, in batches and reconciliations. They show the cost of the session. */
  get entries(): { readonly sent: number; readonly received: number } {
    return { sent: this.#sent, received: this.#consuming.entries };
  }

  producerHead(reader: Reader): number {
    return this.#ports.producer.head(reader);
  }

  /** The produced feed is durable up to `head`. */
  produced(head: number): void {
    this.#input({ type: 'produced', head });
  }

  /**
   * Sends the readiness of this side, together with a head that covers the rows that made this side ready. With an older head, the peer would think too early
   * that it has everything.
   */
  ready(ready: boolean): void {
    this.#withHead(this.#readiness, () => {
      this.#input({ type: 'ready', ready });
      this.#publishWatermarks();
    });
  }

  /**
   * Records the cursor of the peer's Hello as an acknowledgement. The rows up to this cursor are durable at the peer, but the real acknowledgement may have
   * been lost at the end of the previous session.
   */
  noteConsumerAt(cursor: number): void {
    this.#ports.acknowledgements.note(this.#acknowledging, cursor);
  }

  /** Stores pending acknowledgements. Call it before another session takes over, so that the new session finds them in the store. */
  settle(): void {
    this.#ports.acknowledgements.settle(this.#acknowledging);
  }

  alive(): void {
    this.#receivedAtMs = this.#ports.clock.monotonicMs();
  }

  /** Time in ms since the peer was last heard. */
  get silentMs(): number {
    return this.#ports.clock.monotonicMs() - this.#receivedAtMs;
  }

  drained(): void {
    this.#congested = false;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) this.#guard(() => this.#sendData(waiting));
  }

  receive(frame: Frame): void {
    const { clock, link } = this.#ports;
    // Both sides watch the expiry of the certificate. If the peer's timer fires first, its goodbye must count as an expiry, not as a normal end.
    const expired = frame.frame?.$case === 'goodbye' ? expiredOf(link, clock) : undefined;
    if (this.#ended) return;
    if (expired) return this.#expired(expired);
    try {
      this.#take(frame);
    } catch (error) {
      this.#failed(error);
    }
  }

  #take(frame: Frame): void {
    if (isOfStreams(frame)) return this.#ports.streams?.receive(frame);
    const input = inputOf(frame, this.#ports.produces);
    if (!input) return;
    if (frame.frame?.$case === 'ack') this.#checkEpoch(frame.frame.value.epoch);
    if (input.type === 'request') this.#inSlot(this.#slots.produced, () => this.#input(input));
    else if (frame.frame?.$case === 'beat') this.#receivedBeat(frame.frame.value);
    else this.#input(input);
  }

  /** Sends a goodbye with the reason to the peer, and ends the session. `returnAfterMs`: the time after which this node is back; 0: unknown. */
  goodbye(reason: string, returnAfterMs = 0): void {
    if (this.#ended) return;
    this.#send({ frame: { $case: 'goodbye', value: { reason, returnAfterMs } } });
    this.end();
  }

  /** The age of the root's newest report in the newest beat of the peer, and the time when that beat arrived. */
  get rootReport(): { readonly ageMs: number; readonly atMs: number } | undefined {
    return this.#beats.rootReport;
  }

  end(error?: Error, returnAfterMs?: number): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#timer?.stop();
    this.#expiry?.stop();
    this.#ports.acknowledgements.settle(this.#acknowledging);
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
    this.#run(stepSession(this.#state, input, this.#ports.clock.monotonicMs()));
  }

  #run({ state, effects }: Stepped): void {
    this.#state = state;
    for (const effect of effects) {
      if (this.#ended) return;
      try {
        this.#perform(effect);
      } catch (error) {
        this.#failed(error);
      }
    }
    if (!this.#ended) this.#armTimer();
  }

  #perform(effect: Effect): void {
    switch (effect.type) {
      case 'send':
        return this.#sendData(effect.send);
      case 'applyThenAck':
        return this.#consuming.apply(effect.batch);
      case 'applyAhead':
        return this.#consuming.applyAhead(effect.batch, effect.bytes);
      case 'storePiece':
        return this.#consuming.storePiece(effect.piece);
      case 'acknowledged':
        this.#ports.acknowledgements.note(this.#acknowledging, effect.cursor);
        this.#ports.slots?.release(this.#slots.produced);
        return this.#ports.acknowledged(effect.cursor);
      case 'sendBeat':
        return this.#send(this.#beats.next(this.#state, effect.head, effect.ready));
      case 'startReconcile':
        return this.#inSlot(this.#slots.consumed, () => this.#consuming.reconcile());
      case 'absorb':
        return this.#consuming.absorb(effect.reply);
      case 'dropPieces':
        return this.#consuming.dropPieces();
      case 'caughtUp':
        return this.#ports.caughtUp();
      case 'reportedAll':
        return this.#ports.reportedAll?.();
      case 'close':
        return this.end(effect.error, effect.returnAfterMs);
    }
  }

  /** Sends watermarks, together with a head that covers the rows of these watermarks. */
  watermarks(marks: Watermarks): void {
    this.#withHead(this.#watermarks, () => {
      this.#watermarks.unsent = marks;
      this.#publishWatermarks();
    });
  }

  /**
   * Calls `report` when the present head is durable. If a newer message of the same kind was sent first, `report` is not called: flushes may complete in any
   * order.
   */
  #withHead(order: PendingReport, report: () => void): void {
    const head = this.#ports.store.read((reader) => this.producerHead(reader));
    const number = ++order.requested;
    this.#afterFlush(() => {
      if (number < order.durable) return;
      order.durable = number;
      this.#input({ type: 'produced', head });
      report();
    });
  }

  /**
   * Sends the unsent watermarks if this side is ready. Before this side is ready, the feed may lack rows of these watermarks, and the peer ignores them.
   */
  #publishWatermarks(): void {
    const { unsent } = this.#watermarks;
    if (!unsent || !this.#state.ready) return;
    delete this.#watermarks.unsent;
    this.#send(this.#beats.withWatermarks(unsent, this.#state.outgoing.head));
    this.#input({ type: 'beatSent' });
  }

  #receivedBeat(beat: Beat): void {
    const ready = beat.ready && this.#beats.mayTakeUp(beat);
    this.#beats.received(beat, this.#state.mode);
    this.#input({ type: 'beat', head: beat.head, ready });
  }

  #sendData(send: Send): void {
    if (this.#congested) {
      this.#waiting = send;
      return;
    }
    const { done, frame, entries, head } = this.#ports.store.read((reader) => make(reader, this.#ports, send));
    const sendMade = () => {
      if (head !== undefined) this.#input({ type: 'produced', head });
      this.#sent += entries;
      if (frame) this.#send(frame);
      this.#input({ type: 'done', done });
      // With `done.all`, the batch reaches the written head, so the consumer can compare digests after it.
      if (done.type === 'sent' && done.all && this.#beats.isCompareDue) {
        const { outgoing, ready } = this.#state;
        this.#run({ state: this.#state, effects: [{ type: 'sendBeat', head: outgoing.head, ready: ready === true }] });
      }
    };
    if (head === undefined) sendMade();
    else this.#afterFlush(sendMade);
  }

  /** Throws Protocol if an acknowledgement is for another epoch. */
  #checkEpoch(epoch: Uint8Array): void {
    const { producer } = this.#ports;
    if (isNonce(epoch, producer.epoch)) return;
    const received = hex(epoch).slice(0, 64);
    throw new BanyanError('Protocol', `an acknowledgement of epoch ${received || 'none'}; this is ${producer.epoch}`);
  }

  /** Calls `begin` when the reconciliation has a slot. */
  #inSlot(owner: object, begin: () => void): void {
    const { slots } = this.#ports;
    if (!slots) return begin();
    slots.take(owner, () => {
      if (!this.#ended) this.#guard(begin);
    });
  }

  #afterFlush(then: () => void): void {
    this.#ports.store.flushed().then(
      () => {
        if (!this.#ended) this.#guard(then);
      },
      (error: unknown) => this.end(error as Error),
    );
  }

  #send(frame: Frame): void {
    if (!this.#ports.link.send(frame)) this.#congested = true;
  }

  #guard(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    if (!(error instanceof BanyanError)) throw error;
    const { link, log } = this.#ports;
    log.warn({ peer: link.peer.path, code: error.code, reason: error.message }, 'the session ends');
    this.end(error);
  }

  #expired({ words }: Expiry): void {
    const { link, log } = this.#ports;
    log.warn({ peer: link.peer.path, code: 'Unauthorized', reason: words }, 'the session ends');
    this.#send({ frame: { $case: 'goodbye', value: { reason: words, returnAfterMs: 0 } } });
    this.end(new SessionError('CertificateExpired', 'Unauthorized', words));
  }

  /** Sets the timer for the next tick, if none is set. The due time can only become later, so a timer that fires too early is simply set again. */
  #armTimer(): void {
    if (this.#timer) return;
    const { clock } = this.#ports;
    this.#timer = clock.after(nextSessionTickMs(this.#state, clock.monotonicMs()), () => {
      this.#timer = undefined;
      if (this.#ended) return;
      this.#state = stepSession(this.#state, { type: 'alive' }, this.#receivedAtMs).state;
      this.#input({ type: 'tick' });
    });
  }
}

function isOfStreams({ frame }: Frame): boolean {
  return frame?.$case === 'open' || frame?.$case === 'reset' || frame?.$case === 'census';
}
