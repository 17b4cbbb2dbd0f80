/** One end of a stream, with its queue, its handler, and the link of its call when the call exists. Carries out the decisions of the stream's machine. */
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
  /** Path of this node, for resets of this node. */
  readonly at: string;
  readonly clock: Clock;
  readonly observer: StreamObserver;
  readonly windowBytes: number;
  /** Time until an endpoint has to accept the stream. */
  readonly deadlineMs: number;
  /** True: both ends are in this process. No frames can be lost between them, so they need no beats. */
  readonly isLocal?: boolean;
  /** Name of the peer, for error messages. */
  readonly peer: string;
  /** Sends a reset on the session; used as long as there is no call. */
  sendReset(frame: Frame): void;
  /** Called once when the end is closed, after the handler's `onClosed`. */
  closed(): void;
}

export class StreamEnd implements ByteStream, LinkEvents {
  readonly #ports: StreamEndPorts;
  readonly #queue = new ByteQueue();
  /** Frames that wait for the call: at most a credit and an end. */
  readonly #waiting: Frame[] = [];
  #state: StreamState;
  #handler: StreamHandler | undefined;
  #withdrawn: ((reset: StreamReset) => void) | undefined;
  #link: Link | undefined;
  #timer: Timer | undefined;
  #delivered: Uint8Array = noBytes;
  #resetReason: StreamReset | undefined;
  #life = { sentAtMs: 0, receivedAtMs: 0 };
  #pulse: Timer | undefined;

  /** `side` with a handler: this end asks for the stream. `side` with `credit`: the other end asks, and has given this credit with its Open. */
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

  /** Whether the stream has its call. */
  get isAttached(): boolean {
    return this.#link !== undefined;
  }

  // --------------------------------------------------------------------------------------------------- the holder

  accept(handler: StreamHandler): this {
    if (this.isClosed) {
      // The stream was already withdrawn: the new handler gets the reason.
      queueMicrotask(() => handler.onClosed(this.#resetReason));
      return this;
    }
    this.#handler = handler;
    this.#withdrawn = undefined;
    this.#timer?.stop();
    this.#input({ type: 'accept' });
    return this;
  }

  onGone(withdrawn: (reset: StreamReset) => void): void {
    this.#withdrawn = withdrawn;
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
    this.#resetReason = reset;
    this.#input({ type: 'abort', code: reset.code, message: reset.message });
  }

  // ------------------------------------------------------------------------------------------------------ the line

  /** Gives the stream its call. If the stream has ended meanwhile, closes the call. */
  attach(link: Link): void {
    this.#link = link;
    if (this.isClosed) return link.close('the stream is over');
    const nowMs = this.#ports.clock.monotonicMs();
    this.#life = { sentAtMs: nowMs, receivedAtMs: nowMs };
    if (!this.#ports.isLocal) this.#checkLife();
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
        // Otherwise these bytes would keep their whole frame in memory until the next frame arrives.
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
    this.#resetReason = reset;
    this.#input({ type: 'reset' });
  }

  /** Ends the stream, because the session or the call is over. */
  lost(message: string, code: ResetCode = 'Unavailable'): void {
    this.#resetReason = { code, message, at: this.#ports.at };
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
    // Only TooManyRequests is about the stream itself. All other errors are about the connection to the peer.
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
        return this.#closed(effect.why, effect.sendReset);
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

  #checkLife(): void {
    if (this.isClosed) return;
    const { clock, peer } = this.#ports;
    const { beat, dead, afterMs } = pulseOf(this.#life, clock.monotonicMs());
    if (dead) return this.lost(`${peer}: no frame was received on the call of the stream`);
    if (beat) this.#sendOn(this.#link!, signOfLife);
    this.#pulse = clock.after(afterMs, () => this.#checkLife());
  }

  #closed(why: Reason | undefined, sendReset: boolean): void {
    const { id, at, observer, peer } = this.#ports;
    this.#timer?.stop();
    this.#pulse?.stop();
    this.#queue.clear();
    let reset: StreamReset | undefined = this.#resetReason;
    if (why === undefined) reset = undefined;
    else if (typeof why === 'object' && (reset?.code !== why.code || reset.message !== why.message)) {
      const silentSide = this.#state.asks ? peer : 'this node';
      const message = why.code === 'DeadlineExceeded' ? `${silentSide} ${why.message}` : why.message;
      reset = { code: why.code, message, at };
    }
    this.#resetReason = reset;
    if (sendReset && reset) {
      const frame = resetFrame(id, reset);
      if (this.#link) this.#link.send(frame);
      else this.#ports.sendReset(frame);
    }
    this.#link?.close(reset ? reset.message : 'the stream is over');
    observer.closed(reset?.code);
    if (this.#handler) this.#handler.onClosed(reset);
    else if (reset) this.#withdrawn?.(reset);
    this.#ports.closed();
  }
}

const noBytes = new Uint8Array(0);

/** A beat on a call: an empty frame, which every version ignores. */
const signOfLife: Frame = { frame: undefined };
