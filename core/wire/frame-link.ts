/** A link on one call that carries messages, for either side and any transport: frames as bytes, back-pressure in bytes, signs of life, and one close. */
import type { Expiry } from '../identity/expiry.ts';
import type { PeerIdentity } from '../identity/peer-identity.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import { BanyanError } from '../runtime/errors.ts';
import { decodeFrame, encodeFrame } from './codec/frames.ts';
import type { Frame } from './generated/mesh.ts';
import type { Link, LinkEvents } from './link.ts';

/** This side's end of a call. The owner of the call passes what comes from the other end to `received`, `ended` and `failed` of the link. */
export interface FrameCall {
  /** Calls `taken` when the bytes have left this process's queue. */
  write(bytes: Buffer, taken: () => void): void;
  /** Ends this side after everything queued is sent. gRPC cannot carry the reason, but the session has sent a goodbye before. */
  end(reason: string): void;
  /** Aborts the call. The error reaches the peer if this side can send it. */
  abort(error: BanyanError): void;
  /** Number of bytes received over the connection so far, of any kind. */
  bytesRead(): number;
}

export interface FrameLinkOptions {
  readonly peer: PeerIdentity;
  readonly call: FrameCall;
  readonly clock: Clock;
  readonly transport: string;
  readonly expiry?: Expiry | undefined;
  /** Present at the child. */
  readonly openStream?: NonNullable<Link['openStream']>;
}

/** Four batches of 64 KB: enough to keep a line busy between two turns of the event loop, and 256 MB for a thousand stuck children. */
const sendBufferBytes = 256 * 1024;
/** Control frames are sent however much is queued. A session that queues this much is broken. */
const sendQueueBytesMax = 64 * 1024 * 1024;
/** How long the other side may take to end its half of a call, after everything queued has left and nothing more comes from the peer. */
export const closeWithinMs = 3_000;
/** How long the end may take in any case: the time after which a session counts as dead. */
export const closeWithinMsMax = 60_000;
/** How often the link checks whether an unfinished frame grows: a thirtieth of the time after which a session counts as dead. */
const checkEveryMs = 2_000;
/**
 * Bytes between two checks that count as a sign of life. Pings and window updates of a gateway, some 40 bytes each, prove nothing about the peer. Half a
 * kilobyte in 2 s is a frame on its way even at 2 kbit/s.
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
  /** `send` has returned false, and `onDrain` has to follow. */
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

  /** Delivers events from now on, including an end that has come already. */
  start(events: LinkEvents): void {
    this.#events = events;
    this.#readBytes = this.#call.bytesRead();
    if (this.#outcome) return this.#emitClose();
    if (this.#state !== 'open') return;
    this.#scheduleCheck();
    // Frames that were sent before may have left by now.
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
      this.abort(new BanyanError('Unavailable', `the peer takes nothing: ${this.#queuedBytes} bytes wait to be sent`));
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

  /** Neither side has ended the link, and nothing has broken it. */
  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** A frame has come that did not end the link. */
  get hasTaken(): boolean {
    return this.#hasTaken;
  }

  /** Aborts the call, with the reason for both sides. */
  abort(error: BanyanError): void {
    this.#call.abort(error);
    this.#closed(error);
  }

  queuedBytes(): number {
    return this.#queuedBytes;
  }

  // ------------------------------------------------------------------------------------------ from the other end

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

  /** The peer has ended in order. */
  ended(): void {
    if (this.#state === 'open') this.#call.end('ended by the other side');
    this.#closed();
  }

  /** The call or the connection below it broke. */
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
   * Everything queued may be in one write to the operating system, which reports nothing until the last byte has left. So while something is queued, nobody
   * can know whether the line is slow or dead.
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

  /** In a later turn, since the listener might otherwise run in the middle of a send. */
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
