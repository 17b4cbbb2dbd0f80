/** The stream routers of a few nodes on memory links and virtual time, without sessions around them. */
import { splitReplica } from '../../core/identity/replica.ts';
import { VirtualClock } from '../../core/runtime/clock.ts';
import { type Endpoint, StreamRouter } from '../../core/stream/router.ts';
import { streamRules } from '../../core/stream/rules.ts';
import type { ByteStream, StreamHandler, StreamRequest, StreamReset } from '../../core/stream/stream.ts';
import { StreamCounts } from '../../core/stream/stream-counts.ts';
import type { SessionStreams } from '../../core/stream/streams.ts';
import type { Frame } from '../../core/wire/generated/mesh.ts';
import { type MemoryDialer, memoryDialer } from '../../core/wire/memory/memory-link.ts';

interface TreeNode {
  readonly router: StreamRouter;
  readonly counts: StreamCounts;
  /** The streams of the sessions with children, keyed by path. */
  readonly children: Map<string, SessionStreams>;
  parent: SessionStreams | undefined;
  uplink: MemoryDialer | undefined;
}

export interface SentFrame {
  readonly atMs: number;
  readonly from: string;
  readonly to: string;
  readonly frame: Frame;
}

export class StreamTree {
  readonly clock = new VirtualClock();
  readonly nodes = new Map<string, TreeNode>();
  readonly frames: SentFrame[] = [];
  readonly #known: ReadonlySet<string>;
  /** If this function returns true for a node, all frames of the node are lost, and nobody is notified. */
  isSilent: (path: string) => boolean = () => false;

  constructor(paths: readonly string[], { fromBelow = false } = {}) {
    this.#known = new Set(paths);
    for (const path of ['', ...paths]) this.#add(path, fromBelow);
  }

  /** Starts the sessions of all children with their parents. */
  async attach(): Promise<this> {
    for (const path of this.nodes.keys()) if (path !== '') await this.dial(path);
    return this;
  }

  /** Starts the session of a node. `above`: its parent, or a replica of it such as `a~1`. */
  async dial(path: string, above = cut(path)[0]): Promise<void> {
    const [, name] = cut(path);
    const [child, parent] = [this.nodes.get(path)!, this.nodes.get(above)!];
    const network = {
      clock: this.clock,
      delayMs: 1,
      bufferBytes: 128 * 1024,
      isCut: () => false,
      passes: (frame: Frame, from: 'child' | 'parent') => {
        const [sender, receiver] = from === 'child' ? [path, above] : [above, path];
        this.frames.push({ atMs: this.clock.monotonicMs(), from: sender, to: receiver, frame });
        return true;
      },
    };
    const silent = (frame: Frame, to: string, taken: (frame: Frame) => void) => {
      if (!this.isSilent(to)) taken(frame);
    };
    child.uplink = memoryDialer(network, { path, role: 'relay' }, { path: above, role: 'relay' }, (link) => {
      const streams = parent.router.sessionWith({ child: name }, link);
      parent.children.set(name, streams);
      return {
        onFrame: (frame) => silent(frame, above, (seen) => streams.receive(seen)),
        onBytes() {},
        onDrain() {},
        onClose: () => {
          parent.children.delete(name);
          streams.end('the line broke');
        },
        onStream: (id, stream) => streams.accept(id, stream),
      };
    });
    const link = await child.uplink.dial(
      {
        onFrame: (frame) => silent(frame, path, (seen) => child.parent?.receive(seen)),
        onBytes() {},
        onDrain() {},
        onClose: () => {
          child.parent?.end('the line broke');
          child.parent = undefined;
        },
      },
      1_000,
    );
    child.parent = child.router.sessionWith('parent', link);
  }

  /** Breaks the line of a node to its parent. */
  cut(path: string): void {
    this.nodes.get(path)!.uplink!.cut();
  }

  register(path: string, kind: string, endpoint: Endpoint): void {
    this.nodes.get(path)!.router.register(kind, endpoint);
  }

  open(from: string, request: Partial<StreamRequest> & { path: string }): StreamLog {
    return new StreamLog((handler) => this.nodes.get(from)!.router.open(requestOf(request), handler));
  }

  /** The number of open ends of all nodes. */
  openEnds(): number {
    return [...this.nodes.values()].reduce((sum, { counts }) => sum + counts.open, 0);
  }

  /** Advances virtual time, with the microtasks between its steps. */
  async run(ms: number, stepMs = 1): Promise<void> {
    for (let done = 0; done < ms; done += stepMs) {
      this.clock.advance(stepMs);
      for (let i = 0; i < 8; i++) await Promise.resolve();
    }
  }

  #add(path: string, fromBelow: boolean): void {
    const counts = new StreamCounts();
    const children = new Map<string, SessionStreams>();
    const router = new StreamRouter({
      path: splitReplica(path).name,
      clock: this.clock,
      observer: counts,
      authorize: streamRules({
        path: splitReplica(path).name,
        fromBelow,
        refusal: ({ name, groups }) =>
          groups.some((group) => group.endsWith(':system:masters')) ? undefined : `${name} has no rights here`,
      }),
      child: (name) => {
        const named = [...children].filter(([child]) => splitReplica(child).name === name);
        const [streams, ...others] = named.map(([, of]) => of);
        if (streams) return { streams, others };
        const known = this.#known.has(path === '' ? name : `${path}:${name}`);
        return { known, ...(known ? { silentMs: 7_000 } : {}) };
      },
      parent: () => {
        if (path === '') return undefined;
        const streams = this.nodes.get(path)!.parent;
        return streams ? { streams } : { known: true };
      },
    });
    this.nodes.set(path, { router, counts, children, parent: undefined, uplink: undefined });
  }
}

export function requestOf(request: Partial<StreamRequest> & { path: string }): StreamRequest {
  return {
    kind: 'test',
    header: new Uint8Array(0),
    voucher: '',
    user: 'admin',
    groups: ['system:masters'],
    deadlineMs: 5_000,
    bulk: false,
    ...request,
  };
}

/** An end that records its events. It consumes data by itself, unless the test sets `stalled`. */
export class StreamLog implements StreamHandler {
  readonly stream: ByteStream;
  readonly events: string[] = [];
  readonly chunks: Uint8Array[] = [];
  writtenBytes = 0;
  receivedBytes = 0;
  reset: StreamReset | undefined;
  closed = false;
  stalled = false;

  constructor(join: (handler: StreamHandler) => ByteStream) {
    this.stream = join(this);
  }

  get text(): string {
    return Buffer.concat(this.chunks).toString();
  }

  onAccepted(): void {
    this.events.push('accepted');
  }

  onData(bytes: Uint8Array): void {
    this.chunks.push(Buffer.from(bytes));
    this.receivedBytes += bytes.length;
    if (!this.stalled) this.stream.consumed(bytes.length);
  }

  onWritten(bytes: number): void {
    this.writtenBytes += bytes;
  }

  onEnd(): void {
    this.events.push('end');
  }

  onClosed(reset?: StreamReset): void {
    if (this.closed) throw new Error('closed twice');
    this.closed = true;
    this.reset = reset;
    this.events.push(reset ? `reset ${reset.code}` : 'closed');
  }
}

function cut(path: string): [string, string] {
  const at = path.lastIndexOf(':');
  return [at < 0 ? '' : path.slice(0, at), path.slice(at + 1)];
}
