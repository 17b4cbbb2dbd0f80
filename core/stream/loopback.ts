/** A stream inside one node. Both ends have their machines and credits. Frames go from end to end without encoding, in a later turn of the event loop. */
import type { PeerIdentity } from '../identity/peer-identity.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Frame } from '../wire/generated/mesh.ts';
import type { Link, LinkEvents } from '../wire/link.ts';
import {
  type ByteStream,
  bulkWindowBytes,
  type Offer,
  type StreamHandler,
  type StreamObserver,
  type StreamRequest,
  streamWindowBytes,
} from './stream.ts';
import { StreamEnd } from './stream-end.ts';

export interface LoopbackPorts {
  readonly at: string;
  readonly clock: Clock;
  readonly observer: StreamObserver;
}

/** Opens the stream, and returns the end of the requester. `offered` gets the offer for the other end. */
export function openLoopback(
  { at, clock, observer }: LoopbackPorts,
  request: StreamRequest,
  handler: StreamHandler,
  offered: (offer: Offer) => void,
): ByteStream {
  const window = request.bulk ? bulkWindowBytes : streamWindowBytes;
  const ports = {
    id: 0,
    at,
    clock,
    observer,
    windowBytes: window,
    deadlineMs: request.deadlineMs,
    peer: 'this node',
    isLocal: true,
  };
  const nothing = { sendReset() {}, closed() {} };
  const asking: StreamEnd = new StreamEnd({ ...ports, ...nothing }, { handler });
  const answering: StreamEnd = new StreamEnd({ ...ports, ...nothing }, { credit: window });
  const self: PeerIdentity = { path: at, role: 'relay' };
  asking.attach(new LoopbackLink(self, answering));
  answering.attach(new LoopbackLink(self, asking));
  queueMicrotask(() => {
    if (answering.isClosed) return;
    offered({
      request,
      accept: (taker) => answering.accept(taker),
      refuse: (reset) => answering.reset(reset),
      onGone: (gone) => answering.onGone(gone),
    });
  });
  return asking;
}

class LoopbackLink implements Link {
  readonly peer: PeerIdentity;
  readonly transport = 'loopback';
  readonly #other: LinkEvents;
  #closed = false;

  constructor(peer: PeerIdentity, other: LinkEvents) {
    this.peer = peer;
    this.#other = other;
  }

  send(frame: Frame): boolean {
    if (this.#closed) return false;
    queueMicrotask(() => this.#other.onFrame(frame));
    return true;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    queueMicrotask(() => this.#other.onClose());
  }

  queuedBytes(): number {
    return 0;
  }
}
