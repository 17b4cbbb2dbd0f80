/** Carries out what an established session decides: the machine (session.ts) on a store, a clock and a link. */
import type { Expiry } from '../identity/expiry.ts';
import type { Timer } from '../runtime/clock.ts';
import { BanyanError } from '../runtime/errors.ts';
import { hex } from '../store/bytes.ts';
import type { Reader } from '../store/store.ts';
import type { SessionStreams } from '../stream/streams.ts';
import type { Beat, Frame } from '../wire/generated/mesh.ts';
import type { Acknowledged } from './acknowledgements.ts';
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

/** Of words that replace each other: how often one was to be told, and the newest that was durable. */
type PendingReport = { asked: number; durable: number };

export class SessionRunner {
  readonly #ports: RunnerPorts;
  #state: SessionState;
  #timer: Timer | undefined;
  readonly #expiry: ExpiryWatch | undefined;
  #ended = false;
  /** The transport's buffer is full: data wait, control frames do not. */
  #congested = false;
  #waiting: Send | undefined;
  /** Who takes a turn for a reconciliation: of the feed that this side produces, and of the other. */
  readonly #slots = { produced: {}, consumed: {} };
  readonly #beats: Beats;
  readonly #consuming: Consuming;
  /** Entries that went out, with their contents. */
  #sent = 0;

  readonly #acknowledged: Acknowledged;
  /** When bytes came last: only a tick asks, and they come with every frame. */
  #receivedAtMs: number;
  readonly #readiness: PendingReport = { asked: 0, durable: 0 };
  /** Beside that, those that are still to be told. */
  readonly #watermarks: PendingReport & { untold?: Watermarks } = { asked: 0, durable: 0 };

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
    this.#acknowledged = {
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

  /** The consumed feed goes on where it was, or has been reconciled. */
  get isResumed(): boolean {
    return this.#state.mode === 'resumed';
  }

  /** Entries with their contents, in batches and in reconciliations: what the session cost. */
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

  /** Told together with a head that covers what made this side ready: with an older one, the peer would believe that it has all there is. */
  ready(ready: boolean): void {
    this.#withHead(this.#readiness, () => {
      this.#input({ type: 'ready', ready });
      this.#publishWatermarks();
    });
  }

  /** What the peer said to have of this side's feed when it came is durable there: the acknowledgement of it may have been lost with the session before. */
  standsAt(cursor: number): void {
    this.#ports.acknowledgements.note(this.#acknowledged, cursor);
  }

  /** Before another session takes over, which is to find all that was acknowledged. */
  settle(): void {
    this.#ports.acknowledgements.settle(this.#acknowledged);
  }

  alive(): void {
    this.#receivedAtMs = this.#ports.clock.monotonicMs();
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

  /** Ends the session from this side, with a word for the peer. 0: this side does not say when it is back. */
  goodbye(reason: string, returnAfterMs = 0): void {
    if (this.#ended) return;
    this.#send({ frame: { $case: 'goodbye', value: { reason, returnAfterMs } } });
    this.end();
  }

  /** What the peer's last beat said, and when. */
  get onRootReport(): { readonly ageMs: number; readonly atMs: number } | undefined {
    return this.#beats.onRootReport;
  }

  end(error?: Error, returnAfterMs?: number): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#timer?.stop();
    this.#expiry?.stop();
    this.#ports.acknowledgements.settle(this.#acknowledged);
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
        this.#ports.acknowledgements.note(this.#acknowledged, effect.cursor);
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
      case 'heardOut':
        return this.#ports.reportedAll?.();
      case 'close':
        return this.end(effect.error, effect.returnAfterMs);
    }
  }

  /** Told with a head that covers what they speak of, like readiness. */
  watermarks(marks: Watermarks): void {
    this.#withHead(this.#watermarks, () => {
      this.#watermarks.untold = marks;
      this.#publishWatermarks();
    });
  }

  /** When the present head is durable, unless a later word was so sooner, and was told: flushes may be done in another order than they were asked for. */
  #withHead(order: PendingReport, tell: () => void): void {
    const head = this.#ports.store.read((reader) => this.producerHead(reader));
    const number = ++order.asked;
    this.#afterFlush(() => {
      if (number < order.durable) return;
      order.durable = number;
      this.#input({ type: 'produced', head });
      tell();
    });
  }

  /** Not before this side is ready: until then its feed may lack what they say is in it, and the peer passes them over. */
  #publishWatermarks(): void {
    const { untold } = this.#watermarks;
    if (!untold || !this.#state.ready) return;
    delete this.#watermarks.untold;
    this.#send(this.#beats.withWatermarks(untold, this.#state.outgoing.head));
    this.#input({ type: 'beatSent' });
  }

  #receivedBeat(beat: Beat): void {
    const ready = beat.ready && this.#beats.mayTakeUp(beat);
    this.#beats.heard(beat, this.#state.mode);
    this.#input({ type: 'beat', head: beat.head, ready });
  }

  #sendData(send: Send): void {
    if (this.#congested) {
      this.#waiting = send;
      return;
    }
    const { done, frame, entries, head } = this.#ports.store.read((reader) => make(reader, this.#ports, send));
    const go = () => {
      if (head !== undefined) this.#input({ type: 'produced', head });
      this.#sent += entries;
      if (frame) this.#send(frame);
      this.#input({ type: 'done', done });
      // Nothing newer was written when it was made.
      if (done.type === 'sent' && done.all && this.#beats.isCompareDue) {
        const { outgoing, ready } = this.#state;
        this.#run({ state: this.#state, effects: [{ type: 'sendBeat', head: outgoing.head, ready: ready === true }] });
      }
    };
    if (head === undefined) go();
    else this.#afterFlush(go);
  }

  /** Of what the peer acknowledges. */
  #checkEpoch(epoch: Uint8Array): void {
    const { producer } = this.#ports;
    if (isNonce(epoch, producer.epoch)) return;
    const said = hex(epoch).slice(0, 64);
    throw new BanyanError('Protocol', `an acknowledgement of epoch ${said || 'none'}; this is ${producer.epoch}`);
  }

  /** A reconciliation waits for its turn. */
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

  /** One timer at a time: what it waits for only moves away, so one that fires early finds nothing to do and is set anew. */
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
