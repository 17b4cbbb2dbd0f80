/**
 * Runs the agent under a Lease. The agent begins when its process holds the Lease. It begins with the values that the previous holders have left. The agent
 * is allowed to write only while its process holds the Lease. The values by which the parent knows the agent are in the Lease before the agent dials. The id
 * of the agent's store is in the Lease only when the store is up to date.
 */
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import { readNodeIdentity } from '../../core/session/node-identity.ts';
import type { Store } from '../../core/store/store.ts';
import type { Dialer } from '../../core/wire/link.ts';
import type { Successor } from '../agent/assembly.ts';
import { Elector } from './elector.ts';
import { formerPathsIn, handoverTo, type LeasePort, type LeaseRecord } from './lease.ts';
import { noteInLeaseMemory, openLeaseMemory } from './lease-memory.ts';
import { type Succession, successionOf } from './succession.ts';

export interface AgentHooks {
  readonly successor: Successor;
  attached(): void;
  caughtUp(): void;
}

export interface LedAgent extends AsyncDisposable {
  start(): void;
  resume(): void;
}

export interface LeadershipPorts<Led extends LedAgent> {
  readonly lease: LeasePort;
  /** See boot-clock.ts. */
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: Random;
  readonly store: Store;
  readonly me: string;
  readonly path: string;
  /** Makes the agent, and does not start it. Called at most once. */
  assemble(hooks: AgentHooks): Promise<Led>;
  /**
   * Resolves when the objects that the agent has applied with other stores are on record, as far as they can be found now. Also resolves when `isOver`
   * returns true.
   */
  scanAppliedInventory(agent: Led, isOver: () => boolean): Promise<void>;
  /** Called when another agent is active. This process must end, and start again as a standby. */
  lost(why: string): void;
}

export class Leadership<Led extends LedAgent> implements AsyncDisposable {
  readonly #ports: LeadershipPorts<Led>;
  readonly #elector: Elector;
  #beginning: Promise<Led | undefined> | undefined;
  #catchingUp = false;
  #isOver = false;

  constructor(ports: LeadershipPorts<Led>) {
    this.#ports = ports;
    const { lease, clock, log, me, path } = ports;
    this.#elector = new Elector(
      { lease, clock, log, me, path },
      {
        won: (former) => {
          this.#beginning = this.#begin(former).catch((error: unknown) => {
            // Without an agent, the process has no reason to hold the Lease.
            this.#lose(`the agent could not begin: ${describeError(error)}`);
            return undefined;
          });
        },
        lost: (why) => this.#lose(why),
      },
    );
  }

  start(): void {
    this.#elector.start();
  }

  /** `active`, or a text about the agent that is active. */
  get standing(): string {
    return this.#elector.standing;
  }

  /** Why the agent is not allowed to write at this moment. Undefined: it is. */
  refusal(): BanyanError | undefined {
    if (this.#elector.holds) return undefined;
    return new BanyanError(
      'Unavailable',
      `this agent does not hold its Lease now, and changes nothing: another one may be active (${this.standing})`,
    );
  }

  /**
   * Returns a dialer that dials only while the agent is allowed to write. If two agents of one identity talked to the parent, the parent would treat them as
   * copies of one agent.
   */
  dialer(dialer: Dialer): Dialer {
    return {
      dial: (events, timeoutMs) => {
        const refusal = this.refusal();
        return refusal ? Promise.reject(refusal) : dialer.dial(events, timeoutMs);
      },
    };
  }

  /** Ends the agent, and then releases the Lease. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    this.#elector.abandon();
    const agent = await this.#beginning;
    await agent?.[Symbol.asyncDispose]();
    await this.#elector.end();
  }

  #lose(why: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ports.lost(why);
  }

  async #begin(former: LeaseRecord): Promise<Led | undefined> {
    const { store, random, clock, log, path } = this.#ports;
    const memory = openLeaseMemory(store, random);
    const succession = successionOf(former.handover, memory);
    const { forebear, catchUp } = succession;
    const formerPaths = formerPathsIn(handoverTo(former.handover, path));
    log.info({ catchUp, formerPaths }, 'this agent is active now');
    if (!memory.leased) noteInLeaseMemory(store, random, { leased: true });
    const waitsFor = catchUp && `${catchUp}; the agent applies nothing before the parent has sent what is wanted`;
    const agent: Led = await this.#ports.assemble({
      successor: {
        formerPaths,
        ...(forebear ? { forebear } : {}),
        ...(waitsFor === undefined ? {} : { waiting: { sinceMs: clock.wallMs(), for: waitsFor } }),
      },
      attached: () => this.#attached(),
      caughtUp: () => void this.#caughtUp(agent, succession, memory.store),
    });
    // The boot counter and the id of the store must be in the Lease before the agent does anything. The parent knows the agent by the boot counter, and the
    // id names the store that knows the applied objects.
    const { bootCounter } = this.#identity();
    await this.#elector.handOver({ bootCounter, ...(catchUp === undefined ? { store: memory.store } : {}) });
    if (!this.#isOver) agent.start();
    return agent;
  }

  #attached(): void {
    const { bootCounter, attachedNonce } = this.#identity();
    const handover = { bootCounter, ...(attachedNonce === undefined ? {} : { attachedNonce }) };
    this.#elector.handOver(handover).catch((error: unknown) => {
      this.#ports.log.warn({ error: describeError(error) }, 'a successor may have to wait for the parent');
    });
  }

  /** Called at every attachment. Only the first call has an effect. */
  async #caughtUp(agent: Led, succession: Succession, ownStore: string): Promise<void> {
    if (this.#catchingUp) return;
    this.#catchingUp = true;
    const { store, log, scanAppliedInventory } = this.#ports;
    try {
      await scanAppliedInventory(agent, () => this.#isOver);
      if (this.#isOver || succession.catchUp === undefined) return;
      await store.flushed();
      await this.#elector.handOver({ store: ownStore });
      if (this.#isOver) return;
      log.info({}, 'this agent has caught up with its parent: it applies what is wanted');
      agent.resume();
    } catch (error) {
      this.#lose(describeError(error));
    }
  }

  #identity(): { readonly bootCounter: number; readonly attachedNonce?: string } {
    const identity = this.#ports.store.read((reader) => readNodeIdentity(reader));
    if (!identity) throw new Error('a store without an identity');
    return identity;
  }
}
