/**
 * The agent by a Lease: it begins when the Lease is held, with what those before have left, and may write only while it is held. What the parent must know it by is
 * in the Lease before it dials; that its store is up to date, only when it is.
 */
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import { readNodeIdentity } from '../../core/session/node-identity.ts';
import type { Store } from '../../core/store/store.ts';
import type { Dialer } from '../../core/wire/link.ts';
import type { Heir } from '../agent/assembly.ts';
import { Elector } from './elector.ts';
import type { LeasePort, LeaseRecord } from './lease.ts';
import { noteInLeaseMemory, openLeaseMemory } from './lease-memory.ts';
import { type Succession, successionOf } from './succession.ts';

export interface AgentHooks {
  readonly heir: Heir;
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
  /** Once at most. Not started. */
  assemble(hooks: AgentHooks): Promise<Led>;
  /** Resolves when what the agent has applied by other stores is on record, as far as it can be known now, or `isOver`. */
  scanAppliedInventory(agent: Led, isOver: () => boolean): Promise<void>;
  /** Another one is active: this process is to end, and to come back as a standby. */
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
        won: (left) => {
          this.#beginning = this.#begin(left).catch((error: unknown) => {
            // Without an agent there is nothing to hold the Lease for.
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

  /** `active`, or who is. */
  get standing(): string {
    return this.#elector.standing;
  }

  /** Why nothing may be written at this very moment. */
  refusal(): BanyanError | undefined {
    if (this.#elector.holds) return undefined;
    return new BanyanError(
      'Unavailable',
      `this agent does not hold its Lease now, and changes nothing: another one may be active (${this.standing})`,
    );
  }

  /** One that may not write has nothing to say to the parent either, who would take two for copies of one. */
  dialer(dialer: Dialer): Dialer {
    return {
      dial: (events, timeoutMs) => {
        const refusal = this.refusal();
        return refusal ? Promise.reject(refusal) : dialer.dial(events, timeoutMs);
      },
    };
  }

  /** Ends the agent, and then says that nobody is active. */
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

  async #begin(left: LeaseRecord): Promise<Led | undefined> {
    const { store, random, clock, log } = this.#ports;
    const memory = openLeaseMemory(store, random);
    const succession = successionOf(left.words, memory);
    const { forebear, catchUp } = succession;
    log.info({ catchUp }, 'this agent is active now');
    if (!memory.leased) noteInLeaseMemory(store, random, { leased: true });
    const waitsFor = catchUp && `${catchUp}; nothing is applied before the parent has said what is wanted`;
    const agent: Led = await this.#ports.assemble({
      heir: {
        ...(forebear ? { forebear } : {}),
        ...(waitsFor === undefined ? {} : { waiting: { sinceMs: clock.wallMs(), for: waitsFor } }),
      },
      attached: () => this.#attached(),
      caughtUp: () => void this.#caughtUp(agent, succession, memory.store),
    });
    // What the parent is to know it by, and which store its objects come from, stand there before anything is done.
    const { bootCounter } = this.#identity();
    await this.#elector.say({ bootCounter, ...(catchUp === undefined ? { store: memory.store } : {}) });
    if (!this.#isOver) agent.start();
    return agent;
  }

  #attached(): void {
    const { bootCounter, attachedNonce } = this.#identity();
    const words = { bootCounter, ...(attachedNonce === undefined ? {} : { attachedNonce }) };
    this.#elector.say(words).catch((error: unknown) => {
      this.#ports.log.warn({ error: describeError(error) }, 'a successor may have to wait for the parent');
    });
  }

  /** Told at every attachment; the first one counts. */
  async #caughtUp(agent: Led, succession: Succession, ownStore: string): Promise<void> {
    if (this.#catchingUp) return;
    this.#catchingUp = true;
    const { store, log, scanAppliedInventory } = this.#ports;
    try {
      await scanAppliedInventory(agent, () => this.#isOver);
      if (this.#isOver || succession.catchUp === undefined) return;
      await store.flushed();
      await this.#elector.say({ store: ownStore });
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
