/** A tree of whole nodes in one process: the product's own assemblies, on memory stores, memory links and virtual time. Replicas have names such as `eu~1`. */

import type { NodeUrls } from '../../core/apiserver/http/node-urls.ts';
import type { Space } from '../../core/apiserver/space.ts';
import type { PeerIdentity } from '../../core/identity/peer-identity.ts';
import { splitReplica } from '../../core/identity/replica.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { VirtualClock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { silentLogger } from '../../core/runtime/logger.ts';
import { SeededRandom } from '../../core/runtime/random.ts';
import { failoverDialer } from '../../core/session/failover-dialer.ts';
import { MemoryStore } from '../../core/store/memory/memory-store.ts';
import type { Accept, LinkEvents } from '../../core/wire/link.ts';
import { type MemoryDialer, memoryDialer } from '../../core/wire/memory/memory-link.ts';
import { type AssembledAgent, assembleAgent } from '../../edge-agent/agent/assembly.ts';
import { assembleCluster } from '../../edge-agent/cluster/embedded/assemble.ts';
import { nodeConfigSchema } from '../../relay/config/config.ts';
import { Node } from '../../relay/node/node.ts';
import type { NodeAnswers, NodeApi } from '../../relay/node/node-ports.ts';
import { onClock, ProcessClock } from '../transcripts/process.ts';

export interface TreePlan {
  /** `''` is the center. Each replica of a relay has an entry. */
  readonly relays: readonly string[];
  readonly agents: readonly string[];
  readonly labels?: (agent: string) => Record<string, string>;
}

interface Running {
  store: MemoryStore;
  /** The clock of the running process. Undefined: no process runs. */
  clock: ProcessClock | undefined;
  accept: Accept | undefined;
  readonly spaces: Map<string, Space>;
  node: Node | undefined;
  agent: AssembledAgent | undefined;
  readonly dialers: Map<string, MemoryDialer>;
}

/** Virtual time advances in steps of `stepMs`. After each step, `turns` turns of the microtask queue let the due work run. */
const stepMs = 5;
const turns = 10;
/** Pods of these clusters start fast, because no test looks at their speed. */
const pace = { stepMinMs: 1, stepMaxMs: 2, progressDeadlineMaxMs: 5_000 };

export class WholeTree {
  readonly clock = new VirtualClock(1_700_000_000_000);
  /** Finds the read-only spaces of each running node, by prefix. */
  readonly views = new Map<string, (prefix: string) => Space | undefined>();
  /** Serves the URLs of each running node that are no objects of a space, for example `/fleet/...`. */
  readonly urls = new Map<string, NodeUrls>();
  readonly #plan: TreePlan;
  /** Whether each node refuses a certificate of a user that is valid from a time on. */
  readonly isRevoked = new Map<string, NodeAnswers['isRevoked']>();
  readonly #nodes = new Map<string, Running>();
  readonly #cut = new Set<string>();
  readonly #calls = new Map<string, number>();
  #seed = 1;

  constructor(plan: TreePlan) {
    this.#plan = plan;
  }

  async start(...ids: readonly string[]): Promise<this> {
    const all = ids.length > 0 ? ids : [...this.#plan.relays, ...this.#plan.agents];
    for (const id of all) {
      if (this.#plan.agents.includes(id)) await this.#startAgent(id);
      else await this.#startNode(id);
    }
    return this;
  }

  /** Kills the process. Both ends of its lines are notified. Its store stays. */
  kill(id: string): void {
    const running = this.#nodes.get(id)!;
    running.accept = undefined;
    running.clock?.kill();
    running.clock = undefined;
    for (const dialer of running.dialers.values()) dialer.cut();
    for (const { dialers } of this.#nodes.values()) dialers.get(id)?.cut();
    running.node = undefined;
    running.agent = undefined;
    running.spaces.clear();
    running.store.crash();
    // The next start has its own copy of the store, because the dead process has subscribed to the old one.
    running.store = running.store.copy();
  }

  /** Stops the process, as SIGSTOP does. Its lines stay. */
  stop(id: string): void {
    this.#nodes.get(id)!.clock!.stop();
  }

  /** Lets a stopped process continue, as SIGCONT does. */
  goOn(id: string): void {
    this.#nodes.get(id)!.clock!.goOn();
  }

  empty(id: string): void {
    this.#nodes.get(id)!.store = new MemoryStore();
  }

  backup(id: string): MemoryStore {
    return this.#nodes.get(id)!.store.copy();
  }

  /** Puts a backup in the place of the store of a killed process. */
  restore(id: string, backup: MemoryStore): void {
    this.#nodes.get(id)!.store = backup;
  }

  /** Cuts the line between a node and one of its parents, by their ids. */
  cut(child: string, parent: string): void {
    this.#cut.add(`${child} ${parent}`);
    this.#nodes.get(child)?.dialers.get(parent)?.cut();
  }

  mend(child: string, parent: string): void {
    this.#cut.delete(`${child} ${parent}`);
  }

  /** How often a parent has answered a call of the child. */
  calls(child: string): number {
    return this.#calls.get(child) ?? 0;
  }

  space(id: string, name = ''): Space {
    const mounted = this.#nodes.get(id)!.spaces.get(name);
    return mounted ?? this.views.get(id)!(`/spaces/${name}`)!;
  }

  /** The objects on an agent's cluster. */
  cluster(id: string): Space {
    return this.#nodes.get(id)!.agent!.space!;
  }

  apply(id: string, space: string, ...objects: KubeObject[]): void {
    for (const object of objects) this.space(id, space).apply(object, { fieldManager: 'test', force: true });
  }

  async run(ms: number): Promise<void> {
    for (let done = 0; done < ms; done += stepMs) {
      this.clock.advance(stepMs);
      for (let i = 0; i < turns; i++) await Promise.resolve();
    }
  }

  async until(what: string, holds: () => boolean, ms = 60_000): Promise<void> {
    for (let done = 0; done < ms && !holds(); done += stepMs) await this.run(stepMs);
    if (!holds()) throw new Error(`not within ${ms} ms: ${what}`);
  }

  // ------------------------------------------------------------------------------------------------------ details

  #running(id: string): Running {
    const known = this.#nodes.get(id);
    if (known) return known;
    const made: Running = {
      store: new MemoryStore(),
      clock: undefined,
      accept: undefined,
      spaces: new Map(),
      node: undefined,
      agent: undefined,
      dialers: new Map(),
    };
    this.#nodes.set(id, made);
    return made;
  }

  #replicasOf(path: string): string[] {
    return this.#plan.relays.filter((id) => splitReplica(id).name === path);
  }

  #identity(id: string): PeerIdentity {
    if (this.#plan.agents.includes(id)) return { path: id, role: 'agent' };
    const { name: path, replica } = splitReplica(id);
    return { path, role: path === '' ? 'center' : 'relay', ...(replica === 0 ? {} : { replica }) };
  }

  /** The dialer tries the replicas in the order of their numbers. So the first replica is the home of all children. */
  #dialer(id: string, running: Running) {
    const clock = running.clock!;
    const above = parentOf(splitReplica(id).name);
    const dialers = this.#replicasOf(above).map((parent) => {
      const network = {
        clock: this.clock,
        delayMs: 1,
        isCut: () => this.#cut.has(`${id} ${parent}`) || this.#nodes.get(parent)?.accept === undefined,
      };
      const dialer = memoryDialer(network, this.#identity(id), this.#identity(parent), (link) => {
        const { accept, clock: its } = this.#running(parent);
        if (!accept) throw new BanyanError('Unavailable', 'nobody answers');
        this.#calls.set(id, this.calls(id) + 1);
        return onClock(its!, accept(link));
      });
      running.dialers.set(parent, dialer);
      return { dial: (events: LinkEvents, timeoutMs: number) => dialer.dial(onClock(clock, events), timeoutMs) };
    });
    return failoverDialer({ clock, random: new SeededRandom(this.#seed++) }, dialers);
  }

  async #startNode(id: string): Promise<void> {
    const running = this.#running(id);
    const { name: path, replica } = splitReplica(id);
    running.clock = new ProcessClock(this.clock, () => 0);
    const below = (one: string) => parentOf(splitReplica(one).name) === path && splitReplica(one).name !== path;
    const replicas = this.#replicasOf(path).length;
    const { labels = () => ({ env: 'prod' }) } = this.#plan;
    const config = nodeConfigSchema.parse({
      path,
      data: '',
      pki: { ca: '', cert: '', key: '' },
      api: {},
      mesh: {},
      ...(path === '' ? { spaces: [{ name: 'retail' }] } : { parent: { address: 'parent:1', path: parentOf(path) } }),
      ...(replicas > 1 ? { replica, replicas } : {}),
      relays: this.#plan.relays.filter((one) => one !== '' && below(one)).map(nameOf),
      inventory: this.#plan.agents.filter(below).map((one) => ({ name: nameOf(one), labels: labels(one) })),
    });
    running.node = new Node(config, {
      ...this.#base(running),
      authority: () => '',
      software: 'test',
      log: silentLogger,
      network: {
        listen: async (accept) => {
          running.accept = accept;
          return { address: '', async [Symbol.asyncDispose]() {} };
        },
        dialer: () => this.#dialer(id, running),
      },
      api: ({ urls, isRevoked }: NodeAnswers) => {
        this.urls.set(id, urls);
        this.isRevoked.set(id, isRevoked);
        return this.#api(id, running);
      },
      fatal: (error) => {
        throw error;
      },
    });
    await running.node.start();
  }

  #api(id: string, { spaces }: Running): NodeApi {
    return {
      mount: (name, space) => void spaces.set(name, space),
      resolveWith: (resolve: (prefix: string) => Space | undefined) => void this.views.set(id, resolve),
      take() {},
      revocationsChanged() {},
      listen: async () => '',
      async [Symbol.asyncDispose]() {},
    };
  }

  async #startAgent(id: string): Promise<void> {
    const running = this.#running(id);
    running.clock = new ProcessClock(this.clock, () => 0);
    const { defer: schedule, ...base } = this.#base(running);
    const dialer = this.#dialer(id, running);
    const agent = await assembleAgent({
      ...base,
      path: id,
      version: 'test',
      fromAbove: 'grants',
      openCluster: (ports) => assembleCluster({ ...ports, pace, path: id, fromAbove: 'grants' }),
      dialer,
      logger: silentLogger,
      schedule,
    });
    running.agent = agent;
    running.agent.start();
  }

  /** The parts that each process needs. The timers of a killed process do not fire any more. */
  #base(running: Running) {
    const { store } = running;
    const clock = running.clock!;
    return {
      store,
      clock,
      random: new SeededRandom(this.#seed++),
      defer: (run: () => void) => void clock.after(0, run),
    };
  }
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf(':')));
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf(':') + 1);
}
