/** Links inside one process, for tests and the simulation. Frames are really encoded and decoded. The caller controls time and faults. */
import type { Expiry } from '../../identity/expiry.ts';
import type { PeerIdentity } from '../../identity/peer-identity.ts';
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { decodeFrame, encodeFrame } from '../codec/frames.ts';
import type { Frame } from '../generated/mesh.ts';
import type { Accept, Dialer, Link, LinkEvents } from '../link.ts';

export interface MemoryNetwork {
  readonly clock: Clock;
  /** Time that a frame needs from one end to the other. */
  readonly delayMs: number;
  /** If this many bytes are in flight, `send` returns false, until half of them have arrived. Absent: `send` never returns false. */
  readonly bufferBytes?: number;
  /** The expiry of new links. Absent: links never expire. */
  expiry?(): Expiry | undefined;
  /** True: the network is cut, and dials fail. */
  isCut(): boolean;
  /** Called for each frame. Returns true to deliver the frame, false to break the connection instead. */
  passes?(frame: Frame, from: 'child' | 'parent'): boolean;
}

export interface MemoryDialer extends Dialer {
  /** Breaks every open connection. Both ends are notified, and frames in flight are lost. */
  cut(): void;
}

/** A dialer whose connections reach `accept`. The parent sees them as `child`; the child sees them as `parent`. */
export function memoryDialer(
  network: MemoryNetwork,
  child: PeerIdentity,
  parent: PeerIdentity,
  accept: Accept,
): MemoryDialer {
  const open = new Set<MemoryLink>();
  return {
    async dial(events) {
      if (network.isCut()) throw new BanyanError('Unavailable', 'the network is cut');
      const childEnd: MemoryLink = new MemoryLink(parent, network, 'child', () => open.delete(childEnd));
      const parentEnd = new MemoryLink(child, network, 'parent', () => {});
      childEnd.connect(parentEnd, events);
      parentEnd.connect(childEnd, accept(parentEnd));
      childEnd.openStream = (id, _apart, streamEvents) => openStream(childEnd, parentEnd, network, id, streamEvents);
      open.add(childEnd);
      return childEnd;
    },
    cut() {
      for (const link of open) link.lose();
    },
  };
}

/** A pair of links for one stream. It breaks with the main link. In memory, every stream has a line of its own. */
async function openStream(
  child: MemoryLink,
  parent: MemoryLink,
  network: MemoryNetwork,
  id: number,
  events: LinkEvents,
): Promise<Link> {
  if (!child.isOpen) throw new BanyanError('Unavailable', 'the connection broke');
  const childEnd: MemoryLink = new MemoryLink(child.peer, network, 'child', () => child.streams.delete(childEnd));
  const parentEnd = new MemoryLink(parent.peer, network, 'parent', () => {});
  childEnd.connect(parentEnd, events);
  child.streams.add(childEnd);
  network.clock.after(network.delayMs, () => {
    try {
      parentEnd.connect(childEnd, parent.takeStream(id, parentEnd));
    } catch (error) {
      if (!(error instanceof BanyanError)) throw error;
      network.clock.after(network.delayMs, () => childEnd.end(error));
    }
  });
  return childEnd;
}

class MemoryLink implements Link {
  readonly peer: PeerIdentity;
  readonly transport = 'memory';
  readonly expiry: Expiry | undefined;
  readonly #network: MemoryNetwork;
  readonly #side: 'child' | 'parent';
  readonly #forget: () => void;
  #other: MemoryLink | undefined;
  #events: LinkEvents | undefined;
  #state: 'open' | 'closing' | 'closed' = 'open';
  #underWayBytes = 0;
  #full = false;
  readonly streams = new Set<MemoryLink>();
  openStream?: NonNullable<Link['openStream']>;

  constructor(peer: PeerIdentity, network: MemoryNetwork, side: 'child' | 'parent', forget: () => void) {
    this.peer = peer;
    this.expiry = network.expiry?.();
    this.#network = network;
    this.#side = side;
    this.#forget = forget;
  }

  connect(other: MemoryLink, events: LinkEvents): void {
    this.#other = other;
    this.#events = events;
  }

  send(frame: Frame): boolean {
    if (this.#state !== 'open') return false;
    if (this.#network.passes?.(frame, this.#side) === false) {
      this.lose();
      return false;
    }
    let bytes: Uint8Array;
    try {
      bytes = encodeFrame(frame);
    } catch (error) {
      if (!(error instanceof BanyanError)) throw error;
      this.lose(error);
      return false;
    }
    this.#underWayBytes += bytes.length;
    this.#afterDelay(() => this.#arrived(bytes));
    this.#full ||= this.#underWayBytes >= (this.#network.bufferBytes ?? Number.POSITIVE_INFINITY);
    return !this.#full;
  }

  close(_reason: string): void {
    if (this.#state !== 'open') return;
    this.#state = 'closing';
    this.#afterDelay(() => {
      this.#other?.end();
      this.end();
    });
  }

  queuedBytes(): number {
    return this.#underWayBytes;
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  takeStream(id: number, stream: Link): LinkEvents {
    if (this.#state !== 'open' || !this.#events?.onStream)
      throw new BanyanError('NotFound', `there is no stream ${id}`);
    return this.#events.onStream(id, stream);
  }

  /** Breaks the connection. */
  lose(error = new BanyanError('Unavailable', 'the connection broke')): void {
    this.#other?.end(error);
    this.end(error);
  }

  /** Reports the end in another turn of the event loop. Otherwise the listener could run in the middle of a send. */
  end(error?: Error): void {
    if (this.#state === 'closed') return;
    const reported = this.#state === 'closing' ? undefined : error;
    this.#state = 'closed';
    this.#forget();
    for (const stream of [...this.streams]) stream.lose();
    this.#network.clock.after(0, () => this.#events?.onClose(reported));
  }

  receive(bytes: Uint8Array): void {
    if (this.#state !== 'open') return;
    this.#events?.onBytes(bytes.length);
    this.#events?.onFrame(decodeFrame(bytes));
  }

  #arrived(bytes: Uint8Array): void {
    this.#underWayBytes -= bytes.length;
    this.#other?.receive(bytes);
    if (!this.#full || this.#underWayBytes > this.#network.bufferBytes! / 2 || this.#state !== 'open') return;
    this.#full = false;
    this.#events?.onDrain();
  }

  #afterDelay(then: () => void): void {
    this.#network.clock.after(this.#network.delayMs, then);
  }
}
