/** Carries out what a stream's machine decides: an end with its queue, its handler, and the link of its call once that is there. */
import type { Clock, Timer } from '../runtime/clock.ts';
import { BanyanError } from '../runtime/errors.ts';
import type { Frame } from '../wire/generated/mesh.ts';
import type { Link, LinkEvents } from '../wire/link.ts';
import { ByteQueue } from './byte-queue.ts';
import type { ByteStream, ResetCode, StreamHandler, StreamObserver, StreamReset } from './stream.ts';
import { resetFrame, resetFromWire } from './stream-frames.ts';
import { pulseOf } from './stream-life.ts';
import {
  beginStream,
  type Reason,
  type StreamEffect,
  type StreamInput,
  type StreamState,
  type StreamStepped,
  stepStream,
} from './stream-machine.ts';

export interface StreamEndPorts {
  readonly id: number;
  /** Of this node: what its own resets say. */
  readonly at: string;
  readonly clock: Clock;
  readonly observer: StreamObserver;
  readonly windowBytes: number;
  /** How long until the stream has to be taken. */
  readonly deadlineMs: number;
  /** Both ends are in this process: nothing is lost between them, and neither looks for signs of life. */
  readonly isLocal?: boolean;
  /** In words, for who did not answer. */
  readonly peer: string;
  /** A reset while there is no call yet: on the session. */
  sendReset(frame: Frame): void;
  /** Once, after the handler knows. */
  closed(): void;
}

export class StreamEnd implements ByteStream, LinkEvents {
  readonly #ports: StreamEndPorts;
  readonly #queue = new ByteQueue();
  /** What is to be sent as soon as the call is there: a credit and an end at most. */
  readonly #waiting: Frame[] = [];
  #state: StreamState;
  #handler: StreamHandler | undefined;
  #gone: ((reset: StreamReset) => void) | undefined;
  #link: Link | undefined;
  #timer: Timer | undefined;
  #delivered: Uint8Array = noBytes;
  #told: StreamReset | undefined;
  #life = { sentAtMs: 0, receivedAtMs: 0 };
  #pulse: Timer | undefined;

  /** With a handler it is the end that asks. Otherwise `credit` is what the Open gave. */
  constructor(ports: StreamEndPorts, side: { handler: StreamHandler } | { credit: number }) {
    this.#ports = ports;
    this.#handler = 'handler' in side ? side.handler : undefined;
    this.#state = beginStream(
      'handler' in side ? { asks: true } : { asks: false, credit: side.credit },
      ports.windowBytes,
    );
    this.#timer = ports.clock.after(ports.deadlineMs, () => this.#input({ type: 'deadline' }));
    ports.observer.opened();
  }

  get isClosed(): boolean {
    return this.#state.phase === 'closed';
  }

  /** Whether the call is there, or on its way. */
  get isAttached(): boolean {
    return this.#link !== undefined;
  }

  // --------------------------------------------------------------------------------------------------- the holder

  accept(handler: StreamHandler): this {
    if (this.isClosed) {
      // Withdrawn meanwhile, and whoever takes it has not asked to be told.
      queueMicrotask(() => handler.onClosed(this.#told));
      return this;
    }
    this.#handler = handler;
    this.#gone = undefined;
    this.#timer?.stop();
    this.#input({ type: 'accept' });
    return this;
  }

  onGone(gone: (reset: StreamReset) => void): void {
    this.#gone = gone;
  }

  write(bytes: Uint8Array): void {
    if (this.#state.ending) throw new Error('written to a stream behind its end');
    if (this.isClosed || bytes.length === 0) return;
    this.#queue.put(bytes);
    this.#input({ type: 'write', bytes: bytes.length });
  }

  end(): void {
    this.#input({ type: 'end' });
  }

  consumed(bytes: number): void {
    this.#input({ type: 'consumed', bytes });
  }

  reset(reset: StreamReset): void {
    this.#told = reset;
    this.#input({ type: 'abort', code: reset.code, message: reset.message });
  }

  // ------------------------------------------------------------------------------------------------------ the line

  /** The call is there. A stream that ended meanwhile hangs up. */
  attach(link: Link): void {
    this.#link = link;
    if (this.isClosed) return link.close('the stream is over');
    const nowMs = this.#ports.clock.monotonicMs();
    this.#life = { sentAtMs: nowMs, receivedAtMs: nowMs };
    if (!this.#ports.isLocal) this.#look();
    for (const frame of this.#waiting.splice(0)) link.send(frame);
    this.#input({ type: 'drained' });
  }

  onFrame({ frame }: Frame): void {
    if (!frame || this.isClosed) return;
    switch (frame.$case) {
      case 'data':
      case 'credit':
      case 'fin':
      case 'reset':
        break;
      default:
        return this.#input({ type: 'abort', code: 'Protocol', message: `a ${frame.$case} on the call of a stream` });
    }
    if (frame.value.stream !== this.#ports.id) {
      const message = `a frame of stream ${frame.value.stream} on the call of stream ${this.#ports.id}`;
      return this.#input({ type: 'abort', code: 'Protocol', message });
    }
    switch (frame.$case) {
      case 'data':
        this.#delivered = frame.value.data;
        this.#input({ type: 'data', bytes: frame.value.data.length });
        // It would keep its frame alive until the next one comes.
        this.#delivered = noBytes;
        return;
      case 'credit':
        return this.#input({ type: 'credit', bytes: frame.value.bytes });
      case 'fin':
        return this.#input({ type: 'fin' });
      case 'reset':
        return this.resetByPeer(resetFromWire(frame.value));
    }
  }

  resetByPeer(reset: StreamReset): void {
    this.#told = reset;
    this.#input({ type: 'reset' });
  }

  /** The session, or the call, is over. */
  lost(message: string, code: ResetCode = 'Unavailable'): void {
    this.#told = { code, message, at: this.#ports.at };
    this.#input({ type: 'lost' });
  }

  onBytes(): void {
    this.#life.receivedAtMs = this.#ports.clock.monotonicMs();
  }

  onDrain(): void {
    this.#input({ type: 'drained' });
  }

  onClose(error?: Error): void {
    const message = `${this.#ports.peer}: ${error?.message ?? 'the call ended before the stream'}`;
    // Of all that a peer says by refusing the call, the only one that is about this stream, and not about the way to it.
    const isTooMany = error instanceof BanyanError && error.code === 'TooManyRequests';
    this.lost(message, isTooMany ? 'TooMany' : 'Unavailable');
  }

  // ------------------------------------------------------------------------------------------------------- effects

  #input(input: StreamInput): void {
    this.#run(stepStream(this.#state, input));
  }

  #run({ state, effects }: StreamStepped): void {
    this.#state = state;
    for (const effect of effects) this.#perform(effect);
  }

  #perform(effect: StreamEffect): void {
    const stream = this.#ports.id;
    switch (effect.type) {
      case 'sendData': {
        const data = this.#queue.take(effect.bytes);
        const room = this.#sendOn(this.#link!, { frame: { $case: 'data', value: { stream, data } } });
        this.#handler!.onWritten(effect.bytes);
        return this.#input({ type: 'sent', full: !room });
      }
      case 'sendCredit':
        return this.#send({ frame: { $case: 'credit', value: { stream, feed: 0, bytes: effect.bytes } } });
      case 'sendFin':
        return this.#send({ frame: { $case: 'fin', value: { stream } } });
      case 'accepted':
        this.#timer?.stop();
        return this.#handler!.onAccepted?.();
      case 'deliver':
        return this.#handler!.onData(this.#delivered);
      case 'ended':
        return this.#handler!.onEnd();
      case 'closed':
        return this.#closed(effect.why, effect.tell);
    }
  }

  #send(frame: Frame): void {
    if (this.#link) this.#sendOn(this.#link, frame);
    else this.#waiting.push(frame);
  }

  #sendOn(link: Link, frame: Frame): boolean {
    this.#life.sentAtMs = this.#ports.clock.monotonicMs();
    return link.send(frame);
  }

  #look(): void {
    if (this.isClosed) return;
    const { clock, peer } = this.#ports;
    const { beat, dead, afterMs } = pulseOf(this.#life, clock.monotonicMs());
    if (dead) return this.lost(`${peer}: no frame was received on the call of the stream`);
    if (beat) this.#sendOn(this.#link!, signOfLife);
    this.#pulse = clock.after(afterMs, () => this.#look());
  }

  #closed(why: Reason | undefined, tell: boolean): void {
    const { id, at, observer, peer } = this.#ports;
    this.#timer?.stop();
    this.#pulse?.stop();
    this.#queue.clear();
    let reset: StreamReset | undefined = this.#told;
    if (why === undefined) reset = undefined;
    else if (typeof why === 'object' && (reset?.code !== why.code || reset.message !== why.message)) {
      const late = this.#state.asks ? peer : 'this node';
      const message = why.code === 'DeadlineExceeded' ? `${late} ${why.message}` : why.message;
      reset = { code: why.code, message, at };
    }
    this.#told = reset;
    if (tell && reset) {
      const frame = resetFrame(id, reset);
      if (this.#link) this.#link.send(frame);
      else this.#ports.sendReset(frame);
    }
    this.#link?.close(reset ? reset.message : 'the stream is over');
    observer.closed(reset?.code);
    if (this.#handler) this.#handler.onClosed(reset);
    else if (reset) this.#gone?.(reset);
    this.#ports.closed();
  }
}

const noBytes = new Uint8Array(0);

/** An empty frame, which every version passes over. */
const signOfLife: Frame = { frame: undefined };
