/**
 * A link over one call that carries messages, for both sides and every transport. Turns frames into bytes, limits the bytes that wait to be sent, reports
 * received bytes as liveness, and reports its end exactly once.
 */
import type { Expiry } from '../identity/expiry.ts';
import type { PeerIdentity } from '../identity/peer-identity.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import { BanyanError } from '../runtime/errors.ts';
import { decodeFrame, encodeFrame } from './codec/frames.ts';
import type { Frame } from './generated/mesh.ts';
import type { Link, LinkEvents } from './link.ts';

/**
 * This side's end of a call. The owner of the call passes received messages, the peer's end and failures to the methods `received`, `ended` and `failed` of
 * the link.
 */
export interface FrameCall {
  /** Calls `taken` when the bytes have left the queue of this process. */
  write(bytes: Buffer, taken: () => void): void;
  /** Ends this side after all queued bytes are sent. gRPC cannot carry the reason, but the session has already sent a goodbye with it. */
  end(reason: string): void;
  /** Aborts the call. The peer gets the error if this side can still send it. */
  abort(error: BanyanError): void;
  /** Number of bytes received over the connection so far, of every kind. */
  bytesRead(): number;
}

export interface FrameLinkOptions {
  readonly peer: PeerIdentity;
  readonly call: FrameCall;
  readonly clock: Clock;
  readonly transport: string;
  readonly expiry?: Expiry | undefined;
  /** Present only at the child. */
  readonly openStream?: NonNullable<Link['openStream']>;
}

/** Four batches of 64 KB. This keeps a line busy between two turns of the event loop, and costs 256 MB for a thousand children that do not read. */
const sendBufferBytes = 256 * 1024;
/** Control frames are queued even when the transport's buffer is full. A session that queues this many bytes has a defect. */
const sendQueueBytesMax = 64 * 1024 * 1024;
/** Time that the peer has to end its half of a call. The time runs while nothing is queued and no bytes arrive from the peer. */
export const closeWithinMs = 3_000;
/** Maximal time for the end of a call in any case. After the same time, a session without received bytes counts as dead. */
export const closeWithinMsMax = 60_000;
/** Interval at which the link checks whether an unfinished frame grows: a thirtieth of the time after which a session counts as dead. */
const checkEveryMs = 2_000;
/**
 * If more unframed bytes than this arrive between two checks, the peer is alive. Fewer bytes prove nothing about the peer: a gateway sends pings and window
 * updates of about 40 bytes each. Half a kilobyte in 2 s is a frame on its way, even on a line with 2 kbit/s.
 */
const lifeBytes = 512;

export class FrameLink implements Link {
  readonly peer: PeerIdentity;
  readonly transport: string;
  readonly expiry: Expiry | undefined;
  readonly openStream?: NonNullable<Link['openStream']>;
  readonly #call: FrameCall;
  readonly #clock: Clock;
  #events: LinkEvents | undefined;
  #queuedBytes = 0;
  /** True after `send` has returned false, until `onDrain` was called. */
  #full = false;
  #state: 'open' | 'closing' | 'closed' = 'open';
  #outcome: { readonly error?: Error } | undefined;
  #timer: Timer | undefined;
  #readBytes = 0;
  #framedBytes = 0;
  #hasTaken = false;

  constructor({ peer, call, clock, openStream, transport, expiry }: FrameLinkOptions) {
    this.peer = peer;
    this.transport = transport;
    this.expiry = expiry;
    if (openStream) this.openStream = openStream;
    this.#call = call;
    this.#clock = clock;
  }

  /** Delivers events from now on. If the link has already ended, reports the end. */
  start(events: LinkEvents): void {
    this.#events = events;
    this.#readBytes = this.#call.bytesRead();
    if (this.#outcome) return this.#emitClose();
    if (this.#state !== 'open') return;
    this.#scheduleCheck();
    // Frames that were sent before may already have left the queue.
    this.#emitDrain();
  }

  send(frame: Frame): boolean {
    if (this.#state !== 'open') return false;
    let bytes: Buffer;
    try {
      bytes = encodeFrame(frame);
    } catch (error) {
      if (!(error instanceof BanyanError)) throw error;
      this.abort(error);
      return false;
    }
    this.#queuedBytes += bytes.length;
    this.#call.write(bytes, () => this.#taken(bytes.length));
    if (this.#queuedBytes > sendQueueBytesMax) {
      this.abort(new BanyanError('Unavailable', `the peer reads nothing: ${this.#queuedBytes} bytes wait to be sent`));
      return false;
    }
    this.#full ||= this.#queuedBytes >= sendBufferBytes;
    return !this.#full;
  }

  close(reason: string): void {
    if (this.#state !== 'open') return;
    this.#state = 'closing';
    this.#timer?.stop();
    this.#call.end(reason);
    this.#awaitEnd(reason, this.#clock.monotonicMs());
  }

  /** True as long as neither side has ended the link and nothing has broken it. */
  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** True after the link has received a frame that did not end it. */
  get hasTaken(): boolean {
    return this.#hasTaken;
  }

  /** Aborts the call. Both sides get the reason. */
  abort(error: BanyanError): void {
    this.#call.abort(error);
    this.#closed(error);
  }

  queuedBytes(): number {
    return this.#queuedBytes;
  }

  // ---------------------------------------------------------------------------------------- events of the other end

  received(bytes: Buffer): void {
    if (this.#state !== 'open') return;
    this.#framedBytes += bytes.length;
    this.#events?.onBytes(bytes.length);
    let frame: Frame;
    try {
      frame = decodeFrame(bytes);
    } catch (error) {
      if (!(error instanceof BanyanError)) throw error;
      this.abort(error);
      return;
    }
    this.#events?.onFrame(frame);
    this.#hasTaken ||= this.isOpen;
  }

  /** The peer has ended the call properly. */
  ended(): void {
    if (this.#state === 'open') this.#call.end('ended by the other side');
    this.#closed();
  }

  /** The call, or the connection that carries it, is broken. */
  failed(error: Error): void {
    this.#closed(this.#state === 'closing' ? undefined : error);
  }

  // ------------------------------------------------------------------------------------------------------ helpers

  #taken(bytes: number): void {
    this.#queuedBytes -= bytes;
    if (this.#events && this.#state === 'open') this.#emitDrain();
  }

  #emitDrain(): void {
    if (!this.#full || this.#queuedBytes > sendBufferBytes / 2) return;
    this.#full = false;
    this.#events?.onDrain();
  }

  /**
   * Waits for the peer's end. All queued bytes may be in one write to the operating system, which reports nothing until the last byte has left. So while
   * something is queued, nobody can know whether the line is slow or dead.
   */
  #awaitEnd(reason: string, sinceMs: number): void {
    const read = this.#call.bytesRead();
    const hadQueued = this.#queuedBytes > 0;
    this.#timer = this.#clock.after(closeWithinMs, () => {
      const takenMs = Math.round(this.#clock.monotonicMs() - sinceMs);
      const isProgressing = hadQueued || this.#call.bytesRead() > read;
      if (isProgressing && takenMs < closeWithinMsMax) return this.#awaitEnd(reason, sinceMs);
      this.#call.abort(new BanyanError('Unavailable', `${reason}; not ended by the peer within ${takenMs} ms`));
      this.#closed();
    });
  }

  #closed(error?: Error): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#timer?.stop();
    this.#outcome = error ? { error } : {};
    if (this.#events) this.#emitClose();
  }

  /** Calls the listener in another turn of the event loop. Otherwise the listener could run in the middle of a send. */
  #emitClose(): void {
    const { error } = this.#outcome!;
    const events = this.#events!;
    setImmediate(() => events.onClose(error));
  }

  #scheduleCheck(): void {
    this.#timer = this.#clock.after(checkEveryMs, () => {
      const read = this.#call.bytesRead();
      const unframed = read - this.#readBytes - this.#framedBytes;
      this.#readBytes = read;
      this.#framedBytes = 0;
      this.#scheduleCheck();
      if (unframed > lifeBytes) this.#events?.onBytes(unframed);
    });
  }
}
