/** A simulated machine. Its disk and its configuration stay; its processes start and end. The processes run the product's own assembly. */
import type { Space } from '../../core/apiserver/space.ts';
import { withReplica } from '../../core/identity/replica.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { describeError } from '../../core/runtime/errors.ts';
import { silentLogger } from '../../core/runtime/logger.ts';
import { SeededRandom } from '../../core/runtime/random.ts';
import { failoverDialer } from '../../core/session/failover-dialer.ts';
import { openFormatted } from '../../core/store/format.ts';
import type { MemoryStore } from '../../core/store/memory/memory-store.ts';
import { lacksRoom } from '../../core/store/room.ts';
import type { StreamRouter } from '../../core/stream/router.ts';
import type { StreamCounts } from '../../core/stream/stream-counts.ts';
import { type AssembledAgent, assembleAgent } from '../../edge-agent/agent/assembly.ts';
import type { ClusterPorts } from '../../edge-agent/cluster/cluster.ts';
import { assembleCluster } from '../../edge-agent/cluster/embedded/assemble.ts';
import { type NodeConfig, nodeConfigSchema } from '../../relay/config/config.ts';
import { Node } from '../../relay/node/node.ts';
import type { NodeApi } from '../../relay/node/node-ports.ts';
import { type Change, Disk, SimStore, type StoreFaults } from './disk.ts';
import { Liar, type LiarOptions } from './liar/liar.ts';
import type { PlannedNode } from './plan/tree.ts';
import { seedOf } from './seeds.ts';
import { SimProcess, simProcessClock } from './sim-process.ts';
import type { World } from './world.ts';

/** When a process has ended by itself, its supervisor starts the next one within this time. */
const restartMaxMs = 2_000;
/** Pods of simulated clusters start fast, because no check looks at their speed. */
const pace = { stepMinMs: 5, stepMaxMs: 20, progressDeadlineMaxMs: 5_000 };

/** The properties of every agent at first, so that expressions always find a value. */
export const firstProperties = { tills: '1' };

export class Host {
  /** The path of the node and the number of its replica. The world and the node's parent know the node by this id. */
  readonly id: string;
  readonly path: string;
  readonly replica: number;
  readonly role: 'center' | 'relay' | 'agent';
  /** True: this host is a copy of another host and runs beside it. */
  readonly isClone: boolean;
  readonly disk: Disk;
  readonly planned: PlannedNode;
  readonly world: World;
  simProcess: SimProcess;
  skewMs = 0;
  skewMaxMs = 0;
  /** When the node's certificate expires, by the wall clock of the machine that signs. */
  certifiedUntilMs = Number.POSITIVE_INFINITY;
  /** True: the process has to run, and a supervisor starts it again. */
  wanted = true;
  /** Tables of the node that contain entries from a liar. */
  readonly deceived = new Set<string>();
  /** Rows that are newer than a received tombstone, as table and key hash in hex. These rows stay although the tombstone is acknowledged. */
  readonly outlived = new Set<string>();
  /** Present if a liar runs on this machine instead of the product. */
  liar: LiarOptions | undefined;
  /** When the last lie ended, in virtual time. */
  liarUntilMs = Number.NEGATIVE_INFINITY;
  /** True: the node has left the tree for good. */
  isGone = false;
  /** The number of the clone, if one path has several clones one after the other. */
  cloneNumber = 0;
  /** The spaces, keyed by the name under which clients reach them. The system space has the empty name. */
  spaces = new Map<string, Space>();
  agent: AssembledAgent | undefined;
  /** The state of the running process. */
  streams: StreamRouter | undefined;
  #streamCounts: StreamCounts | undefined;
  #node: Node | undefined;
  #store: SimStore | undefined;
  #clock: Clock | undefined;
  #resolver: ((prefix: string) => Space | undefined) | undefined;
  #isEnding = false;
  #isStarting = false;
  #boots = 0;
  #survives: number | undefined;
  #config: NodeConfig | undefined;

  constructor(
    world: World,
    planned: PlannedNode,
    { disk = new Disk(), isClone = false, replica = 0 }: { disk?: Disk; isClone?: boolean; replica?: number } = {},
  ) {
    this.world = world;
    this.planned = planned;
    this.path = planned.path;
    this.replica = replica;
    this.id = withReplica(planned.path, replica);
    this.isGone = planned.isVacant ?? false;
    this.role = planned.role;
    this.disk = disk;
    this.isClone = isClone;
    this.simProcess = new SimProcess(() => {});
    this.simProcess.end();
  }

  get title(): string {
    return `${this.path === '' ? 'center' : this.id}${this.isClone ? ' (clone)' : ''}`;
  }

  /** The name that the parent uses for the node. */
  get name(): string {
    return this.id.slice(this.id.lastIndexOf(':') + 1);
  }

  get parentPath(): string | undefined {
    if (this.path === '') return undefined;
    const cut = this.path.lastIndexOf(':');
    return cut < 0 ? '' : this.path.slice(0, cut);
  }

  /** The configuration with the destinations that the topology names directly below this relay. */
  set config(config: NodeConfig) {
    this.#config = config;
  }

  get config(): NodeConfig {
    this.#config ??= this.world.configOf(this);
    return this.#config;
  }

  start(): void {
    if (this.simProcess.alive || this.isGone) return;
    this.wanted = true;
    const simProcess = new SimProcess(() => this.#ended());
    this.simProcess = simProcess;
    this.#boots++;
    this.world.note(`${this.title} starts (${this.#boots})`);
    this.#isStarting = true;
    const run = this.#run(simProcess).then(() => {
      if (this.simProcess === simProcess) this.#isStarting = false;
    });
    run.catch((error: unknown) => this.failed(error));
  }

  #run(simProcess: SimProcess): Promise<void> {
    if (this.liar !== undefined) return new Liar(this, simProcess, this.liar).start();
    return this.role === 'agent' ? this.#startAgent(simProcess) : this.#startNode(simProcess);
  }

  /** Ends the process at its present place. `survives` is the share of the unflushed data that is on the disk. */
  crash(survives: number): void {
    if (!this.simProcess.alive) return;
    this.#survives = survives;
    this.simProcess.end();
  }

  /**
   * Ends the process properly, as SIGTERM does: it finishes its work, and its data are on the disk. A liar, or a process that does not serve yet, just ends.
   */
  endInOrder(): void {
    const { simProcess } = this;
    const process = this.agent ?? (this.spaces.has('') ? this.#node : undefined);
    if (!simProcess.alive || this.#isEnding) return;
    if (!process) return this.crash(1);
    this.world.note(`${this.title} gets SIGTERM`);
    this.#isEnding = true;
    simProcess.run(
      () => this.#dispose(process, simProcess).catch((error: unknown) => this.failed(error)),
      (error) => this.failed(error),
    );
  }

  async #dispose(process: AsyncDisposable, simProcess: SimProcess): Promise<void> {
    await process[Symbol.asyncDispose]();
    await this.#store?.[Symbol.asyncDispose]();
    if (!simProcess.alive) return;
    const { unflushed } = this.disk;
    if (unflushed > 0)
      this.world.violation('an orderly end loses nothing', `${this.title} leaves ${unflushed} commits unflushed`);
    this.crash(1);
  }

  /** The clock of the running process. Everything that waits for it ends together with the process. */
  get clock(): Clock {
    return this.#clock ?? this.world.clock;
  }

  /** The time by the machine's own wall clock. */
  get wallMs(): number {
    return this.world.clock.wallMs() + this.skewMs;
  }

  /** Called when an unexpected error has reached the top of the process. The product would end. */
  failed(error: unknown): void {
    if (!this.simProcess.alive || (error as Error).name === 'Crash') return;
    // A full disk ends the process only during its start or its proper end. At other times, the process waits for room.
    if ((this.#isStarting || this.#isEnding) && lacksRoom(error)) {
      this.world.note(`${this.title} ends: ${describeError(error)}`);
      this.crash(this.world.chance());
      return;
    }
    this.world.violation(
      'no process ends by itself',
      `${this.title}: ${(error as Error).stack ?? describeError(error)}`,
    );
    this.crash(1);
  }

  /** The store as the process sees it. */
  get rows(): MemoryStore {
    return this.disk.newest;
  }

  #ended(): void {
    this.spaces = new Map();
    this.agent = undefined;
    this.streams = undefined;
    this.#streamCounts = undefined;
    this.#node = undefined;
    this.#store = undefined;
    this.#resolver = undefined;
    this.#isEnding = false;
    this.world.ended(this);
    this.disk.crash(this.#survives ?? this.world.chance());
    this.#survives = undefined;
    if (this.wanted) this.world.clock.after(restartMaxMs * this.world.chance(), () => this.wanted && this.start());
  }

  #ports(simProcess: SimProcess) {
    const { world } = this;
    const clock = simProcessClock({
      world: world.clock,
      simProcess,
      skewMs: () => this.skewMs,
      failed: (error) => this.failed(error),
    });
    const random = new SeededRandom(seedOf(world.seed, ...this.#self));
    const store = new SimStore({
      disk: this.disk,
      simProcess,
      clock,
      random: new SeededRandom(seedOf(world.seed, ...this.#self, 'disk')),
      committed: (changes: readonly Change[], before: MemoryStore) => world.committed(this, changes, before),
      storeFaults: this.storeFaults,
    });
    this.#store = store;
    this.#clock = clock;
    const defer = (run: () => void) => void clock.after(0, run);
    return { store, clock, random, defer, version: 'simulated' };
  }

  /** Names for the random stream of this start. No other start has the same stream. */
  get #self(): (string | number)[] {
    return [`${this.title}${this.cloneNumber === 0 ? '' : this.cloneNumber}`, this.#boots];
  }

  get storeFaults(): StoreFaults | undefined {
    return this.world.storeFaults?.(this);
  }

  async #startNode(simProcess: SimProcess): Promise<void> {
    const { store, clock, random, defer, version: software } = this.#ports(simProcess);
    const { network } = this.world;
    openFormatted(store, clock);
    this.#node = new Node(this.config, {
      store,
      clock,
      random,
      defer,
      software,
      authority: () => '',
      log: silentLogger,
      network: network.of(this),
      api: () => this.#api(),
      fatal: (error) => this.failed(error),
    });
    this.#serves(this.#node);
    await this.#node.start();
    this.world.started(this);
  }

  async #startAgent(simProcess: SimProcess): Promise<void> {
    const { store, clock, random, defer, version } = this.#ports(simProcess);
    openFormatted(store, clock);
    const { path } = this;
    const dialers = this.world.parentsOf(this).map((parent) => this.world.network.dialer(this, parent));
    const dialer = failoverDialer({ clock, random }, dialers);
    const logger = silentLogger;
    const rights = { path, fromAbove: 'cluster-admin' } as const;
    const openCluster = (ports: ClusterPorts) => assembleCluster({ ...ports, ...rights, pace });
    const shared = { ...rights, version, store, dialer, clock, random, logger, schedule: defer };
    const agent = await assembleAgent({ ...shared, openCluster });
    this.agent = agent;
    this.#serves(agent);
    this.spaces.set('', agent.space!);
    agent.start();
    this.world.started(this);
  }

  #serves({ streams, streamCounts }: { readonly streams: StreamRouter; readonly streamCounts: StreamCounts }): void {
    this.streams = streams;
    this.#streamCounts = streamCounts;
    this.world.talks.serve(this, streams);
  }

  /** Opens a space that is not open before somebody asks for it. */
  resolve(prefix: string): Space | undefined {
    return this.#resolver?.(prefix);
  }

  /** The number of open ends of streams, including ends of streams that continue to another node. */
  get streamsOpen(): number {
    return this.#streamCounts?.open ?? 0;
  }

  #api(): NodeApi {
    return {
      mount: (name, space) => void this.spaces.set(name, space),
      resolveWith: (resolver) => {
        this.#resolver = resolver;
        for (const name of this.planned.spaces) this.spaces.set(name, resolver(`/spaces/${name}`)!);
      },
      take: () => {},
      revocationsChanged: () => {},
      listen: async () => '',
      [Symbol.asyncDispose]: async () => {
        this.spaces = new Map();
      },
    };
  }
}

/** `parents`: the hosts of the parent's replicas, the home first. */
export function configOfPlanned(
  { planned: node, replica }: Host,
  parents: readonly Host[],
  relays: readonly string[],
  agents: readonly PlannedNode[],
  streamsFromBelow: boolean,
): NodeConfig {
  const [home, ...others] = parents;
  const { replicas } = node;
  const config = nodeConfigSchema.parse({
    path: node.path,
    data: '',
    labels: node.labels,
    pki: { ca: '', cert: '', key: '' },
    api: {},
    mesh: {},
    streams: { fromBelow: streamsFromBelow },
    access: { fromAbove: 'cluster-admin' },
    ...(replicas === undefined ? {} : { replica, replicas }),
    spaces: node.spaces.map((name) => ({ name })),
    relays,
    inventory: agents.map(({ path, labels }) => ({
      name: path.slice(path.lastIndexOf(':') + 1),
      labels,
      properties: firstProperties,
    })),
  });
  // The simulated network knows hosts by their ids. The schema takes real addresses alone.
  return home
    ? { ...config, parent: { address: home.id, path: home.path, replicas: others.map(({ id }) => id) } }
    : config;
}
