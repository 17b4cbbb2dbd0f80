/** Links inside one process, for tests and simulation: frames are really encoded, time and faults are the caller's. */
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { decodeFrame, encodeFrame } from '../frames.ts';
import type { Frame } from '../generated/mesh.ts';
import type { Accept, Dialer, Link, LinkEvents, PeerIdentity } from '../link.ts';

export interface MemoryNetwork {
  readonly clock: Clock;
  readonly delayMs: number;
  /** Says no: the dial fails. */
  isCut(): boolean;
  /** Told of each frame that goes through; false loses the connection instead. */
  passes?(frame: Frame, from: 'child' | 'parent'): boolean;
}

/** A dialer whose connections end at `accept`, as `child` seen from the parent `parent`. */
export function memoryDialer(
  network: MemoryNetwork,
  child: PeerIdentity,
  parent: PeerIdentity,
  accept: Accept,
): Dialer & { cut(): void } {
  const open = new Set<() => void>();
  return {
    async dial(events) {
      if (network.isCut()) throw new BanyanError('Unavailable', 'the network is cut');
      const childEnd = new MemoryLink(parent, network, 'child');
      const parentEnd = new MemoryLink(child, network, 'parent');
      childEnd.connect(parentEnd, events);
      parentEnd.connect(childEnd, accept(parentEnd));
      open.add(() => childEnd.lose());
      return childEnd;
    },
    cut() {
      for (const lose of open) lose();
      open.clear();
    },
  };
}

class MemoryLink implements Link {
  readonly peer: PeerIdentity;
  readonly transport = 'memory';
  readonly #network: MemoryNetwork;
  readonly #side: 'child' | 'parent';
  #other: MemoryLink | undefined;
  #events: LinkEvents | undefined;
  #closed = false;

  constructor(peer: PeerIdentity, network: MemoryNetwork, side: 'child' | 'parent') {
    this.peer = peer;
    this.#network = network;
    this.#side = side;
  }

  connect(other: MemoryLink, events: LinkEvents): void {
    this.#other = other;
    this.#events = events;
  }

  send(frame: Frame): boolean {
    if (this.#closed) return false;
    if (this.#network.passes && !this.#network.passes(frame, this.#side)) {
      this.lose();
      return false;
    }
    const bytes = encodeFrame(frame);
    this.#network.clock.after(this.#network.delayMs, () => this.#other?.receive(bytes));
    return true;
  }

  close(_reason: string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#network.clock.after(this.#network.delayMs, () => this.#other?.closed());
  }

  queuedBytes(): number {
    return 0;
  }

  receive(bytes: Uint8Array): void {
    if (this.#closed) return;
    this.#events?.onBytes(bytes.length);
    this.#events?.onFrame(decodeFrame(bytes));
  }

  closed(error?: Error): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#events?.onClose(error);
  }

  /** The connection breaks: both ends learn of it, what was under way is lost. */
  lose(): void {
    const error = new BanyanError('Unavailable', 'the connection broke');
    this.#other?.closed(error);
    this.closed(error);
  }
}
