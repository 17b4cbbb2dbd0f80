/** A link on one bidirectional call, of either side: frames as bytes, back-pressure, one close. */
import { BanyanError } from '../../runtime/errors.ts';
import { decodeFrame, encodeFrame } from '../frames.ts';
import type { Frame } from '../generated/mesh.ts';
import type { Link, LinkEvents, PeerIdentity } from '../link.ts';

/** What client and server calls of grpc-js have in common. */
export interface FrameCall {
  write(bytes: Buffer): boolean;
  on(event: 'data', listener: (bytes: Buffer) => void): unknown;
  on(event: 'drain' | 'end' | 'cancelled' | 'close', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  readonly writableLength: number;
}

export const sessionMethod = '/banyan.mesh.v1.Mesh/Session';

export class GrpcLink implements Link {
  readonly peer: PeerIdentity;
  readonly transport = 'grpc';
  readonly #call: FrameCall;
  readonly #end: () => void;
  #events: LinkEvents | undefined;
  #closed = false;

  /** `end` closes this side in the way of the side's call. */
  constructor(peer: PeerIdentity, call: FrameCall, end: () => void) {
    this.peer = peer;
    this.#call = call;
    this.#end = end;
  }

  start(events: LinkEvents): void {
    this.#events = events;
    this.#call.on('data', (bytes) => this.#receive(bytes));
    this.#call.on('drain', () => this.#events?.onDrain());
    this.#call.on('error', (error) => this.closed(error));
    this.#call.on('cancelled', () => this.closed(new BanyanError('Unavailable', 'the connection is gone')));
    this.#call.on('end', () => {
      this.#end();
      this.closed();
    });
    this.#call.on('close', () => this.closed());
  }

  send(frame: Frame): boolean {
    if (this.#closed) return false;
    return this.#call.write(encodeFrame(frame));
  }

  close(_reason: string): void {
    if (this.#closed) return;
    this.#end();
    this.closed();
  }

  queuedBytes(): number {
    return this.#call.writableLength;
  }

  /** Tells the session once, whatever happens first. */
  closed(error?: Error): void {
    if (this.#closed) return;
    this.#closed = true;
    const events = this.#events;
    setImmediate(() => events?.onClose(error));
  }

  #receive(bytes: Buffer): void {
    if (this.#closed) return;
    this.#events?.onBytes(bytes.length);
    let frame: Frame;
    try {
      frame = decodeFrame(bytes);
    } catch (error) {
      this.#end();
      this.closed(error as Error);
      return;
    }
    this.#events?.onFrame(frame);
  }
}
