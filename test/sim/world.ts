/**
 * A tree on virtual time: its machines, its network and the record of its events. Events run one at a time. Between two events, only resolved promises
 * continue. So a seed decides everything.
 */
import { createHash } from 'node:crypto';
import { withReplica } from '../../core/identity/replica.ts';
import { VirtualClock } from '../../core/runtime/clock.ts';
import { SeededRandom } from '../../core/runtime/random.ts';
import type { MemoryStore } from '../../core/store/memory/memory-store.ts';
import type { Frame } from '../../core/wire/generated/mesh.ts';
import type { NodeConfig } from '../../relay/config/config.ts';
import type { Change, StoreFaults } from './disk.ts';
import { configOfPlanned, Host } from './host.ts';
import type { PlannedNode } from './plan/tree.ts';
import { seedOf } from './seeds.ts';
import { type Connection, type Side, SimNetwork } from './sim-network.ts';
import { Talks } from './talk/talks.ts';
import { Watches } from './watches.ts';

/** A check watches a world and reports violations. All of its knowledge comes from rows and frames. */
export interface Check {
  /** The text of the invariant. */
  readonly name: string;
  /** Called after each commit of a process. */
  committed?(host: Host, changes: readonly Change[], before: MemoryStore): void;
  /** Called before a frame is sent. */
  sent?(connection: Connection, from: Side, frame: Frame): void;
  /** Called before (`receiving`) and after (`received`) the delivery of a frame. */
  receiving?(connection: Connection, to: Side, frame: Frame): void;
  received?(connection: Connection, to: Side, frame: Frame): void;
  /** Called when a host gets another disk, or an empty one. */
  replaced?(host: Host): void;
  ended?(host: Host): void;
  /** Called when a liar's frame arrives. The other methods are not called for the frame, because no promise holds for a liar. */
  receivedFromLiar?(connection: Connection, to: Side, frame: Frame): void;
}

export interface Violation {
  readonly check: string;
  readonly message: string;
  readonly atMs: number;
}

/** The number of events that a report shows. */
const lastMax = 60;
/** A process with more timers than this has a leak: one timer for each child, key and session gives a few hundred in these trees. */
export const timersMax = 3_000;

export class World {
  readonly seed: number;
  readonly clock = new VirtualClock();
  readonly network: SimNetwork;
  readonly hosts = new Map<string, Host>();
  readonly clones = new Map<string, Host>();
  readonly talks = new Talks(this);
  readonly watches = new Watches(this);
  readonly violations: Violation[] = [];
  readonly checks: Check[] = [];
  /** The newest events, for people. */
  readonly last: string[] = [];
  /** The frame that is being delivered. */
  delivery: { readonly connection: Connection; readonly to: Side; readonly frame: Frame } | undefined;
  storeFaults: ((host: Host) => StoreFaults | undefined) | undefined;
  /** Called when a node has started and its spaces can be read. */
  onStarted: (host: Host) => void = () => {};
  /** True: a node with spaces has lost some of its objects. */
  originWasPutBack = false;
  /** Titles of the objects that people have deleted since the loss. */
  readonly deletedSinceLoss = new Set<string>();
  steps = 0;
  readonly #trace = createHash('sha256');
  readonly #chance: SeededRandom;
  readonly #startMs: number;

  constructor(seed: number, nodes: readonly PlannedNode[]) {
    this.seed = seed;
    this.#startMs = this.clock.monotonicMs();
    this.#chance = new SeededRandom(seedOf(seed, 'world'));
    this.network = new SimNetwork(this, new SeededRandom(seedOf(seed, 'network')));
    for (const node of nodes) {
      for (let replica = 0; replica < (node.replicas ?? 1); replica++) {
        const host = new Host(this, node, { replica });
        this.hosts.set(host.id, host);
      }
    }
  }

  get nowMs(): number {
    return this.clock.monotonicMs() - this.#startMs;
  }

  chance(): number {
    return this.#chance.fraction();
  }

  /** The replicas of a host's parent. The replica that the host dials first is the first. */
  parentsOf(host: Host): Host[] {
    const { parentPath } = host;
    const first = parentPath === undefined ? undefined : this.hosts.get(parentPath);
    if (!first) return [];
    const count = first.planned.replicas ?? 1;
    const home = count === 1 ? 0 : seedOf(this.seed, 'home', host.id) % count;
    return Array.from({ length: count }, (_, i) => this.hosts.get(withReplica(first.path, (home + i) % count))!);
  }

  /** The parent with which the host has its newest session. Before any session, the first parent. */
  parentOf(host: Host): Host | undefined {
    let newest: Connection | undefined;
    for (const connection of this.network.open) {
      if (connection.child !== host || connection.sessionSequence === undefined) continue;
      if (!newest || connection.id > newest.id) newest = connection;
    }
    return newest?.parent ?? this.parentsOf(host)[0];
  }

  /** Whether the line of the host to some parent is not cut. */
  receivesFromAbove(host: Host): boolean {
    return this.parentsOf(host).some((parent) => !this.network.line(host, parent).cut);
  }

  /** Whether the connection has the newest session of the child. */
  isNewest(connection: Connection): boolean {
    const { child, parent, id, sessionSequence = 0 } = connection;
    for (const other of this.network.open) {
      const isOfBoth = other.child.id === child.id && other.parent === parent && other.id !== id;
      if (isOfBoth && (other.sessionSequence ?? 0) > sessionSequence) return false;
    }
    return true;
  }

  childrenOf(host: Host): Host[] {
    return [...this.hosts.values()].filter(({ parentPath }) => parentPath === host.path);
  }

  configOf(host: Host): NodeConfig {
    const children = this.childrenOf(host);
    const relays = children.filter(({ role }) => role === 'relay').map(({ name }) => name);
    const agents = children.filter(({ role, isGone }) => role === 'agent' && !isGone);
    return configOfPlanned(
      host,
      this.parentsOf(host),
      relays,
      agents.map(({ planned }) => planned),
      this.seed % 3 > 0,
    );
  }

  /** Runs events until this time, or until a violation. */
  async run(untilMs: number): Promise<void> {
    const atMs = this.#startMs + untilMs;
    await settled();
    while (this.violations.length === 0 && this.clock.fireNext(atMs)) {
      this.steps++;
      await settled();
    }
    this.clock.advance(Math.max(0, atMs - this.clock.monotonicMs()));
  }

  hash(): string {
    return this.#trace.copy().digest('hex').slice(0, 16);
  }

  // ---------------------------------------------------------------------------------------------- the record of events

  note(text: string): void {
    const line = `${(this.nowMs / 1000).toFixed(3)} s: ${text}`;
    this.#trace.update(line);
    this.last.push(line);
    if (this.last.length > lastMax) this.last.shift();
  }

  violation(check: string, message: string): void {
    this.note(`VIOLATION: ${check}: ${message}`);
    this.violations.push({ check, message, atMs: this.nowMs });
  }

  committed(host: Host, changes: readonly Change[], before: MemoryStore): void {
    for (const { key, value } of changes) {
      this.#trace.update(key);
      if (value) this.#trace.update(value);
    }
    for (const check of this.checks) check.committed?.(host, changes, before);
  }

  sent(connection: Connection, from: Side, frame: Frame, bytes: Uint8Array): void {
    this.#trace.update(bytes);
    this.note(`${connection.host(from).title} sends ${describe(frame)} (${connection.id})`);
    if (connection.hasLiar) return;
    for (const check of this.checks) check.sent?.(connection, from, frame);
  }

  delivering(connection: Connection, to: Side, frame: Frame, deliver: () => void): void {
    if (!connection.simProcessOf(to).alive) return;
    const isTrue = !connection.hasLiar;
    if (!isTrue) connection.host(to).deceived.add(to === 'child' ? 'upstream' : `reported/${connection.child.name}`);
    for (const check of this.checks) (isTrue ? check.receiving : check.receivedFromLiar)?.(connection, to, frame);
    this.delivery = { connection, to, frame };
    deliver();
    this.delivery = undefined;
    if (isTrue && connection.simProcessOf(to).alive)
      for (const check of this.checks) check.received?.(connection, to, frame);
  }

  started(host: Host): void {
    this.note(`${host.title} serves`);
    this.onStarted(host);
  }

  ended(host: Host): void {
    this.note(`${host.title} ends, ${host.disk.unflushed} commits not flushed`);
    this.network.ended(host);
    for (const check of this.checks) check.ended?.(host);
  }

  replaced(host: Host): void {
    this.originWasPutBack ||= host.planned.spaces.length > 0;
    for (const check of this.checks) check.replaced?.(host);
  }
}

/** Runs all promises that can continue. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function describe({ frame }: Frame): string {
  switch (frame?.$case) {
    case 'batch': {
      const { entries, from, to, head } = frame.value;
      const keys = entries.map(({ key, tombstone, keyHash }) =>
        tombstone ? `-${keyHash.toString('hex', 0, 3)}` : key,
      );
      return `batch ${from}-${to} of ${head} [${keys.slice(0, 6).join(' ')}${keys.length > 6 ? ' …' : ''}]`;
    }
    case 'ack':
      return `ack ${frame.value.cursor}`;
    case 'beat':
      return `beat ${frame.value.head}${frame.value.ready ? ' ready' : ''}`;
    case 'hello':
      return `hello boot ${frame.value.bootCounter}, cursor ${frame.value.down?.cursor}`;
    case 'welcome':
      return `welcome ${frame.value.sessionSequence}${frame.value.downResumes ? ' resumes' : ''}${frame.value.ready ? ' ready' : ''}`;
    case 'retry':
      return `retry: ${frame.value.reason}`;
    case 'resume':
      return `resume: ${frame.value.resumes}`;
    case 'reconcileReply':
      return `reply with ${frame.value.entries.length} entries, head ${frame.value.head}`;
    default:
      return frame?.$case ?? 'nothing';
  }
}
