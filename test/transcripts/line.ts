/** The line between a child's process and its parent in a transcript: frames are really encoded, and the script decides about their delivery. */
import type { PeerIdentity } from '../../core/identity/peer-identity.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { decodeFrame, encodeFrame } from '../../core/wire/codec/frames.ts';
import type { Frame } from '../../core/wire/generated/mesh.ts';
import type { Accept, Dialer, Link, LinkEvents } from '../../core/wire/link.ts';

export type Side = 'child' | 'parent';

/** The faults of the frames that one side sends. */
export interface Weather {
  /** Frames are dropped silently: a half-open connection, an asymmetric partition. */
  silent: boolean;
  /** The number of the next frames that arrive twice. */
  twice: number;
  /** The next two frames are exchanged. */
  swap: boolean;
  /** The connection breaks after this number of frames; the one after them arrives incomplete. */
  breaksAfter: number;
}

export const fairWeather = (): Weather => ({
  silent: false,
  twice: 0,
  swap: false,
  breaksAfter: Number.POSITIVE_INFINITY,
});

export interface LinePorts {
  readonly clock: Clock;
  readonly child: PeerIdentity;
  readonly parent: PeerIdentity;
  readonly accept: Accept;
  /** Called for each frame when it is sent. */
  sent(from: Side, frame: Frame): void;
}

const delayMs = 1;

export class Line implements Dialer {
  readonly weather = { child: fairWeather(), parent: fairWeather() };
  /** Dials fail. */
  cut = false;
  /** The rate in bytes a second, each way; control frames and data wait in one queue, as in TCP. */
  bytesPerSecond = Number.POSITIVE_INFINITY;
  /** The bytes of one side in flight from which on it is told to wait. */
  bufferBytes = Number.POSITIVE_INFINITY;
  readonly #ports: LinePorts;
  readonly #open = new Set<End>();
  readonly #carried: { readonly from: Side; readonly kind: string; readonly bytes: number; readonly waitMs: number }[] =
    [];

  constructor(ports: LinePorts) {
    this.#ports = ports;
  }

  get clock(): Clock {
    return this.#ports.clock;
  }

  async dial(events: LinkEvents): Promise<Link> {
    if (this.cut) throw new BanyanError('Unavailable', 'nobody answers');
    const { child, parent, accept } = this.#ports;
    const childEnd = new End(this, 'child', parent);
    const parentEnd = new End(this, 'parent', child);
    childEnd.connect(parentEnd, events);
    parentEnd.connect(childEnd, accept(parentEnd));
    this.#open.add(childEnd);
    this.#open.add(parentEnd);
    return childEnd;
  }

  /** Every connection breaks. With `side`, that side is not notified: its host is gone, or the other's is. */
  break(hidden?: Side): void {
    for (const end of [...this.#open]) {
      this.#open.delete(end);
      if (end.side === hidden) end.vanish();
      else end.close('', new BanyanError('Unavailable', 'the connection broke'));
    }
  }

  /** As if the process on that side had sent it. */
  inject(from: Side, frame: Frame): void {
    for (const end of this.#open) if (end.side === from) end.send(frame);
  }

  sent(from: Side, frame: Frame): void {
    this.#ports.sent(from, frame);
  }

  /** The transit times of frames of a kind. */
  waits(from: Side, kind: string): number[] {
    return this.#carried.filter((one) => one.from === from && one.kind === kind).map(({ waitMs }) => waitMs);
  }

  carriedBytes(from: Side): number {
    return this.#carried.filter((one) => one.from === from).reduce((sum, { bytes }) => sum + bytes, 0);
  }

  carried(from: Side, frame: Frame, bytes: number, waitMs: number): void {
    this.#carried.push({ from, kind: frame.frame?.$case ?? '', bytes, waitMs });
  }

  forget(end: End): void {
    this.#open.delete(end);
  }
}

class End implements Link {
  readonly side: Side;
  readonly peer: PeerIdentity;
  readonly transport = 'memory';
  readonly #line: Line;
  #other: End | undefined;
  #events: LinkEvents | undefined;
  #state: 'open' | 'closing' | 'closed' = 'open';
  #held: Uint8Array | undefined;
  #underWayBytes = 0;
  #full = false;
  /** The time at which the last sent byte has left. */
  #freeAtMs = 0;

  constructor(line: Line, side: Side, peer: PeerIdentity) {
    this.#line = line;
    this.side = side;
    this.peer = peer;
  }

  connect(other: End, events: LinkEvents): void {
    this.#other = other;
    this.#events = events;
  }

  send(frame: Frame): boolean {
    if (this.#state !== 'open') return false;
    this.#line.sent(this.side, frame);
    const weather = this.#line.weather[this.side];
    const bytes = encodeFrame(frame);
    if (weather.silent) return true;
    if (weather.breaksAfter-- <= 0) {
      weather.breaksAfter = Number.POSITIVE_INFINITY;
      this.#line.break();
      return false;
    }
    if (weather.swap && this.#held === undefined) {
      this.#held = bytes;
      return true;
    }
    this.#carry(bytes);
    if (weather.twice > 0) {
      weather.twice--;
      this.#carry(bytes);
    }
    if (this.#held) {
      const held = this.#held;
      this.#held = undefined;
      weather.swap = false;
      this.#carry(held);
    }
    this.#full ||= this.#underWayBytes >= this.#line.bufferBytes;
    return !this.#full;
  }

  close(_reason: string, error?: Error): void {
    if (this.#state !== 'open') return;
    this.#state = 'closing';
    this.#line.clock.after(delayMs, () => {
      if (!this.#line.weather[this.side].silent) this.#other?.end(error);
      this.end(error);
    });
  }

  queuedBytes(): number {
    return this.#underWayBytes;
  }

  vanish(): void {
    this.#state = 'closed';
  }

  end(error?: Error): void {
    if (this.#state === 'closed') return;
    const reportedError = this.#state === 'closing' && !error ? undefined : error;
    this.#state = 'closed';
    this.#line.forget(this);
    this.#line.clock.after(0, () => this.#events?.onClose(reportedError));
  }

  #carry(bytes: Uint8Array): void {
    const { clock, bytesPerSecond } = this.#line;
    const nowMs = clock.monotonicMs();
    this.#underWayBytes += bytes.length;
    this.#freeAtMs = Math.max(this.#freeAtMs, nowMs) + (bytes.length / bytesPerSecond) * 1000;
    this.#line.carried(this.side, decodeFrame(bytes), bytes.length, this.#freeAtMs - nowMs);
    // Bytes of a frame in flight are signs of life, as on a real line.
    for (let atMs = nowMs + 2000; atMs < this.#freeAtMs; atMs += 2000) {
      clock.after(atMs - nowMs, () => this.#other?.bytesArrived(1));
    }
    clock.after(this.#freeAtMs - nowMs + delayMs, () => this.#arrived(bytes));
  }

  bytesArrived(count: number): void {
    if (this.#state === 'open') this.#events?.onBytes(count);
  }

  #arrived(bytes: Uint8Array): void {
    this.#underWayBytes -= bytes.length;
    this.#other?.receive(bytes);
    if (!this.#full || this.#underWayBytes > this.#line.bufferBytes / 2 || this.#state !== 'open') return;
    this.#full = false;
    this.#events?.onDrain();
  }

  receive(bytes: Uint8Array): void {
    if (this.#state !== 'open') return;
    this.#events?.onBytes(bytes.length);
    this.#events?.onFrame(decodeFrame(bytes));
  }
}
