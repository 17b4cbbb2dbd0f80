/**
 * The network of a simulated tree. Its connections deliver frames in the order of sending, each with its own delay. On command, they break, hang in one direction or become slow.
 * Frames are really encoded and decoded.
 */
import type { Expiry } from '../../core/identity/expiry.ts';
import type { PeerIdentity } from '../../core/identity/peer-identity.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Random } from '../../core/runtime/random.ts';
import { decodeFrame, encodeFrame } from '../../core/wire/codec/frames.ts';
import type { Frame } from '../../core/wire/generated/mesh.ts';
import type { Accept, Dialer, Link, LinkEvents, Listener } from '../../core/wire/link.ts';
import type { MeshNetwork } from '../../core/wire/network.ts';
import { Rows } from './check/rows.ts';
import type { Host } from './host.ts';
import type { SimProcess } from './sim-process.ts';
import type { World } from './world.ts';

export type Side = 'child' | 'parent';

/** The faults of the line between a child and one of its parents. */
export interface LineState {
  /** True: dials fail, and connections break. */
  cut: boolean;
  /** True: nothing from this side gets through, and neither end is notified. The frames wait. */
  silent: Record<Side, boolean>;
  delayMinMs: number;
  delayMaxMs: number;
  /** When this number of bytes is in flight, the sender has to wait. */
  bufferBytes: number;
  /** The rate of the line. */
  bytesPerMs: number;
  /** The share of the repeatable frames that are delivered twice. */
  doubles: number;
}

export const goodLine = (): LineState => ({
  cut: false,
  silent: { child: false, parent: false },
  delayMinMs: 1,
  delayMaxMs: 20,
  bufferBytes: 256 * 1024,
  bytesPerMs: Number.POSITIVE_INFINITY,
  doubles: 0,
});

const slowShare = 0.2;
const slowFactor = 40;

export class SimNetwork {
  readonly #world: World;
  readonly #random: Random;
  readonly #lines = new Map<string, LineState>();
  readonly #listening = new Map<Host, Accept>();
  readonly open = new Set<Connection>();
  #connections = 0;

  constructor(world: World, random: Random) {
    this.#world = world;
    this.#random = random;
  }

  line(child: Host, parent: Host): LineState {
    const key = `${child.id} ${parent.id}`;
    const line = this.#lines.get(key) ?? goodLine();
    this.#lines.set(key, line);
    return line;
  }

  /** Breaks the connections of a child to some of its parents. Both ends are notified. */
  reset(child: Host, parents: readonly Host[]): void {
    for (const connection of [...this.open]) {
      if (connection.child.id !== child.id || !parents.includes(connection.parent)) continue;
      // Either both ends are notified at once, or one end is, and the other end still receives the frames in flight.
      const at = this.#random.fraction();
      if (at < 0.3) connection.break();
      else connection.leave(at < 0.8 ? 'child' : 'parent');
    }
  }

  /** Ends the child's side of its connections. Its parents still receive the frames in flight. */
  hangUp(child: Host, parents: readonly Host[]): void {
    for (const connection of [...this.open]) {
      if (connection.child.id === child.id && parents.includes(connection.parent)) connection.leave('child');
    }
  }

  /** Repairs the lines of a child. Waiting frames continue. */
  mend(child: Host, parents: readonly Host[]): void {
    for (const parent of parents) Object.assign(this.line(child, parent), goodLine());
    for (const connection of this.open) {
      if (connection.child.id === child.id && parents.includes(connection.parent)) connection.resume();
    }
  }

  /** Called when the process of a host has ended. */
  ended(host: Host): void {
    this.#listening.delete(host);
    for (const connection of [...this.open]) {
      if (connection.child === host) connection.leave('child');
      if (connection.parent === host) connection.leave('parent');
    }
  }

  of(host: Host): MeshNetwork {
    return {
      listen: async (accept): Promise<Listener> => {
        this.#listening.set(host, accept);
        return { address: host.id, [Symbol.asyncDispose]: async () => void this.#listening.delete(host) };
      },
      dialer: ({ address }) => this.dialer(host, this.#world.hosts.get(address)!),
    };
  }

  /** Opens a call for a stream beside a session. The call has its own delay. It breaks separately, or together with its session. */
  async openStream(session: Connection, id: number, events: LinkEvents): Promise<Link> {
    const { child, parent } = session;
    session.simProcessOf('child').effect();
    if (!session.isOpen) throw new BanyanError('Unavailable', 'the connection broke');
    const call = new Connection(this, this.#world, ++this.#connections, child, parent, session);
    call.isTaken = false;
    this.open.add(call);
    this.#world.clock.after(this.delay(session.line), () => call.take(events, id));
    call.childEnd.events = events;
    return call.childEnd;
  }

  dialer(child: Host, parent: Host): Dialer {
    return { dial: (events, timeoutMs) => this.#dial(child, parent, events, timeoutMs) };
  }

  async #dial(child: Host, parent: Host, events: LinkEvents, timeoutMs: number): Promise<Link> {
    const line = this.line(child, parent);
    const { simProcess } = child;
    simProcess.effect();
    await this.#pass(simProcess, line.silent.child || line.silent.parent ? timeoutMs : this.delay(line));
    const accept = this.#listening.get(parent);
    if (!accept || line.cut || line.silent.child || line.silent.parent) {
      throw new BanyanError('Unavailable', `${child.id} does not reach ${parent.title}`);
    }
    const { atMs, words: reason } = expiryOf(child, parent);
    if (Math.max(child.wallMs, parent.wallMs) >= atMs) throw new BanyanError('Unauthorized', reason);
    const connection = new Connection(this, this.#world, ++this.#connections, child, parent);
    const taken = parent.simProcess.run(
      () => connection.connect(events, accept(connection.parentEnd)),
      (error) => {
        if (!(error instanceof BanyanError)) parent.failed(error);
      },
    );
    if (!taken) throw new BanyanError('Unavailable', `${parent.title} did not take the connection`);
    this.open.add(connection);
    this.#world.note(`${child.title} connects (${connection.id})`);
    return connection.childEnd;
  }

  /** Waits. Never resolves if the process ends meanwhile: the next process on its machine has not dialled. */
  #pass(simProcess: SimProcess, ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#world.clock.after(ms, () => {
        if (simProcess.alive) resolve();
      });
    });
  }

  delay({ delayMinMs, delayMaxMs }: LineState): number {
    return delayMinMs + this.#random.fraction() * (delayMaxMs - delayMinMs);
  }

  chance(): number {
    return this.#random.fraction();
  }
}

/** One connection with its two ends. */
export class Connection {
  readonly id: number;
  readonly child: Host;
  readonly parent: Host;
  readonly childEnd: End;
  readonly parentEnd: End;
  /** True: one of its ends is a liar, so the checks do not hold its frames against anybody. */
  readonly hasLiar: boolean;
  /** Functions to call when all frames of a side have arrived. */
  readonly #awaited: Record<Side, (() => void)[]> = { child: [], parent: [] };
  /** The session of a call for a stream. */
  readonly session: Connection | undefined;
  /** True: the parent has accepted the connection. Before that, nothing arrives at the parent. */
  isTaken = true;
  /** The sequence in the Welcome that was sent over the connection. */
  sessionSequence: number | undefined;
  /** The record of the session in the parent's store when the Welcome was sent. */
  sessionRecord: Uint8Array | undefined;
  readonly #network: SimNetwork;
  readonly #world: World;
  /** The starts of the two processes that made the connection. After a restart, the machine has another process. */
  readonly #simProcesses: Readonly<Record<Side, SimProcess>>;
  isOpen = true;
  /** How slow this connection is. It may be much slower than the child's next connection, so that later frames arrive earlier. */
  readonly #slowness: number;

  constructor(network: SimNetwork, world: World, id: number, child: Host, parent: Host, session?: Connection) {
    this.#network = network;
    this.#world = world;
    this.id = id;
    this.child = child;
    this.parent = parent;
    this.#slowness = network.chance() < slowShare ? slowFactor : 1;
    this.session = session;
    this.hasLiar = child.liar !== undefined || parent.liar !== undefined;
    this.#simProcesses = {
      child: session?.simProcessOf('child') ?? child.simProcess,
      parent: session?.simProcessOf('parent') ?? parent.simProcess,
    };
    this.childEnd = new End(this, 'child', identityOf(parent));
    this.parentEnd = new End(this, 'parent', identityOf(child));
    const expiry = expiryOf(child, parent);
    if (!session && expiry.atMs < Number.POSITIVE_INFINITY) {
      this.childEnd.expiry = expiry;
      this.parentEnd.expiry = expiry;
    }
    if (!session) this.childEnd.openStream = (streamId, _apart, events) => network.openStream(this, streamId, events);
  }

  connect(child: LinkEvents, parent: LinkEvents): void {
    this.childEnd.events = child;
    this.parentEnd.events = parent;
  }

  /** Gives a call for a stream to the parent, which may refuse it. */
  take(child: LinkEvents, id: number): void {
    if (!this.isOpen || !this.session) return;
    const { parentEnd } = this.session;
    let refused: BanyanError | undefined;
    const taken = this.#simProcesses.parent.run(
      () => {
        const events = parentEnd.events?.onStream?.(id, this.parentEnd);
        if (events) this.connect(child, events);
        else refused = new BanyanError('NotFound', `there is no stream ${id}`);
      },
      (error) => {
        if (error instanceof BanyanError) refused = error;
        else this.parent.failed(error);
      },
    );
    if (refused || !taken) return this.#over(refused ?? new BanyanError('Unavailable', 'the call was not taken'));
    this.isTaken = true;
    this.resume();
  }

  /** Calls `then` when all frames that this end has sent are delivered. */
  whenDelivered(from: End, then: () => void): void {
    if (from.dueMs === undefined) then();
    else this.#awaited[from.side].push(then);
  }

  host(side: Side): Host {
    return side === 'child' ? this.child : this.parent;
  }

  get line(): LineState {
    return this.#network.line(this.child, this.parent);
  }

  simProcessOf(side: Side): SimProcess {
    return this.#simProcesses[side];
  }

  end(side: Side): End {
    return side === 'child' ? this.childEnd : this.parentEnd;
  }

  send(from: End, frame: Frame): boolean {
    if (!this.isOpen || from.isClosing || from.hasLeft) return false;
    const simProcess = this.#simProcesses[from.side];
    simProcess.effect();
    const bytes = this.#encoded(frame);
    if (!bytes) return false;
    if (frame.frame?.$case === 'welcome') {
      this.sessionSequence = frame.frame.value.sessionSequence;
      this.sessionRecord = Rows.of(this.parent.rows, (rows) => rows.sessionRecord(this.child.id));
    }
    this.#world.sent(this, from.side, frame, bytes);
    const line = this.line;
    const copies = comesTwice(frame) && this.#network.chance() < line.doubles ? 2 : 1;
    for (let i = 0; i < copies; i++) {
      from.put(bytes, this.#world.clock.monotonicMs(), this.#slowness * this.#network.delay(line), line);
    }
    this.#carry(from);
    simProcess.effect();
    return !from.isFull;
  }

  /** Encodes a frame. A frame over the limit ends the connection. */
  #encoded(frame: Frame): Uint8Array | undefined {
    try {
      return encodeFrame(frame);
    } catch (error) {
      if (!(error instanceof BanyanError)) throw error;
      this.#over(error);
      return undefined;
    }
  }

  close(from: End): void {
    if (!this.isOpen || from.isClosing) return;
    from.isClosing = true;
    this.#carry(from);
  }

  /** Breaks the connection. Both ends are notified a little later, and frames in flight are lost. */
  break(): void {
    this.#over(new BanyanError('Unavailable', 'the connection broke'));
  }

  /** Ends one side. The other side receives the frames in flight, and then the end. */
  leave(side: Side): void {
    const end = this.end(side);
    if (!this.isOpen || end.hasLeft) return;
    this.#leave(side, new BanyanError('Unavailable', 'the connection broke'));
    end.isClosing = true;
    this.#carry(end);
  }

  resume(): void {
    this.#carry(this.childEnd);
    this.#carry(this.parentEnd);
  }

  #over(error: Error | undefined): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#network.open.delete(this);
    this.#world.note(`connection ${this.id} of ${this.child.title} ends`);
    for (const side of ['child', 'parent'] as const) this.#leave(side, error);
    for (const other of [...this.#network.open]) if (other.session === this) other.break();
  }

  #leave(side: Side, error: Error | undefined): void {
    const end = this.end(side);
    if (end.hasLeft) return;
    end.hasLeft = true;
    this.#world.clock.after(0, () => this.#runAt(side, () => end.events?.onClose(error)));
  }

  /** Schedules the next delivery of an end, if there is one and none is scheduled yet. */
  #carry(from: End): void {
    if (!this.isOpen || !this.isTaken || from.isCarrying || this.#isSilent(from)) return;
    const dueMs = from.dueMs ?? (from.isClosing ? 0 : undefined);
    if (dueMs === undefined) return;
    from.isCarrying = true;
    this.#world.clock.after(dueMs - this.#world.clock.monotonicMs(), () => {
      from.isCarrying = false;
      if (!this.isOpen || this.#isSilent(from)) return;
      this.#deliver(from);
      this.#carry(from);
    });
  }

  #isSilent(from: End): boolean {
    return this.line.silent[from.side];
  }

  #deliver(from: End): void {
    const bytes = from.take();
    if (!bytes) {
      this.#over(from.hasLeft ? new BanyanError('Unavailable', 'the connection broke') : undefined);
      return;
    }
    const to = from.side === 'child' ? 'parent' : 'child';
    if (this.end(to).hasLeft) return;
    const frame = this.#decoded(bytes);
    if (!frame) return;
    this.#world.delivering(this, to, frame, () => {
      this.#runAt(to, () => {
        const { events } = this.end(to);
        events?.onBytes(bytes.length);
        events?.onFrame(frame);
      });
    });
    if (from.dueMs === undefined) for (const then of this.#awaited[from.side].splice(0)) then();
    if (!from.hasLeft && from.drained(this.line.bufferBytes)) {
      this.#runAt(from.side, () => from.events?.onDrain());
    }
  }

  /** Decodes a frame. An unreadable frame ends the connection, as with every transport. */
  #decoded(bytes: Uint8Array): Frame | undefined {
    try {
      return decodeFrame(bytes);
    } catch (error) {
      if (!(error instanceof BanyanError)) throw error;
      this.#over(error);
      return undefined;
    }
  }

  #runAt(side: Side, act: () => void): void {
    const simProcess = this.#simProcesses[side];
    const host = this.host(side);
    simProcess.run(act, (error) => host.failed(error));
  }
}

function identityOf({ path, role, replica }: Host): PeerIdentity {
  return { path, role, ...(replica > 0 ? { replica } : {}) };
}

/** When the first of the two certificates expires. */
function expiryOf(child: Host, parent: Host): Expiry {
  const first = child.certifiedUntilMs < parent.certifiedUntilMs ? child : parent;
  return { atMs: first.certifiedUntilMs, words: `the certificate of ${first.title} has expired` };
}

/** Whether the frame may be delivered twice. The protocol has to tolerate this for these frames, but not for a Hello. */
function comesTwice({ frame }: Frame): boolean {
  return frame?.$case === 'batch' || frame?.$case === 'ack' || frame?.$case === 'beat';
}

export class End implements Link {
  readonly side: Side;
  readonly peer: Link['peer'];
  readonly transport = 'simulated';
  readonly connection: Connection;
  events: LinkEvents | undefined;
  openStream?: NonNullable<Link['openStream']>;
  expiry?: Expiry;
  isClosing = false;
  /** The message with which the end's own process closed it. */
  closedFor = '';
  /** True: the end has received the end of the connection, or its process has ended. */
  hasLeft = false;
  isCarrying = false;
  isFull = false;
  #lastAtMs = 0;
  /** The time until which the line is busy with earlier frames. */
  #busyUntilMs = 0;
  readonly #waiting: { readonly bytes: Uint8Array; readonly atMs: number }[] = [];
  #bytes = 0;

  constructor(connection: Connection, side: Side, peer: Link['peer']) {
    this.connection = connection;
    this.side = side;
    this.peer = peer;
  }

  send(frame: Frame): boolean {
    return this.connection.send(this, frame);
  }

  close(reason: string): void {
    if (this.closedFor === '') this.closedFor = reason;
    this.connection.close(this);
  }

  queuedBytes(): number {
    return this.#bytes;
  }

  /** When the next frame arrives. Undefined: no frame is in flight. */
  get dueMs(): number | undefined {
    return this.#waiting[0]?.atMs;
  }

  /** Puts a frame on the line. Frames arrive in order, however long each one needs. */
  put(bytes: Uint8Array, nowMs: number, delayMs: number, { bufferBytes, bytesPerMs }: LineState): void {
    this.#busyUntilMs = Math.max(this.#busyUntilMs, nowMs) + bytes.length / bytesPerMs;
    this.#lastAtMs = Math.max(this.#lastAtMs, this.#busyUntilMs + delayMs);
    this.#waiting.push({ bytes, atMs: this.#lastAtMs });
    this.#bytes += bytes.length;
    this.isFull ||= this.#bytes >= bufferBytes;
  }

  take(): Uint8Array | undefined {
    const next = this.#waiting.shift();
    this.#bytes -= next?.bytes.length ?? 0;
    return next?.bytes;
  }

  /** Whether there is room again. True once after the line was full. */
  drained(bufferBytes: number): boolean {
    if (!this.isFull || this.#bytes > bufferBytes / 2) return false;
    this.isFull = false;
    return true;
  }
}
