/** Candidates before one Lease, on virtual time: requests that are late, lost or refused, processes that stand still, clocks of other rates. */
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import type { Random } from '../../../../core/runtime/random.ts';
import {
  candidate,
  type ElectionEffect,
  type ElectionInput,
  type ElectionState,
  holds,
  nextElectionTickMs,
  stepElection,
} from '../../../../edge-agent/lease/election.ts';
import { answerMs } from '../../../../edge-agent/lease/elector.ts';
import type { LeaseRecord } from '../../../../edge-agent/lease/lease.ts';

export class LeaseWorld {
  readonly clock = new VirtualClock();
  readonly random: Random;
  readonly candidates: Candidate[] = [];
  record: LeaseRecord | undefined;
  /** The parts of all requests: never answered, answered late, answered with an error. */
  isTroubled = true;
  /** Each moment at which more than one candidate believed that it held the Lease. */
  readonly doubles: string[] = [];
  #version = 0;

  constructor(random: Random) {
    this.random = random;
  }

  write(effect: ElectionEffect & { readonly type: 'write' }): LeaseRecord | 'refused' {
    if (this.record?.version !== effect.over?.version) return 'refused';
    const { holder, durationMs, transitions, handover } = effect;
    this.record = { version: String(++this.#version), holder, durationMs, transitions, handover };
    return this.record;
  }

  holders(): string[] {
    return this.candidates.filter((one) => one.holds()).map(({ name }) => name);
  }

  check(): void {
    const holders = this.holders();
    if (holders.length > 1) this.doubles.push(`${this.clock.monotonicMs()}: ${holders.join(', ')}`);
  }

  advance(ms: number): void {
    const untilMs = this.clock.monotonicMs() + ms;
    while (this.clock.fireNext(untilMs)) this.check();
    this.clock.advance(untilMs - this.clock.monotonicMs());
    this.check();
  }
}

export class Candidate {
  name = '';
  readonly #world: LeaseWorld;
  readonly #rate: number;
  readonly #offsetMs: number;
  #starts = 0;
  #state!: ElectionState;
  #question = 0;
  #timers = 0;
  /** The candidate stands still until then: later timers fire afterwards. */
  #stillUntilMs = 0;

  constructor(world: LeaseWorld, number: number) {
    this.#world = world;
    this.#rate = 0.97 + 0.06 * world.random.fraction();
    this.#offsetMs = 1e6 * world.random.fraction();
    world.candidates.push(this);
    this.restart(number);
  }

  /** Another process; the requests of the former one may still arrive. */
  restart(number: number): void {
    this.name = `${number}_${++this.#starts}`;
    this.#question++;
    this.#state = candidate(this.name, 'eu:shop', this.#now());
    this.#input({ type: 'tick' });
  }

  get state(): ElectionState {
    return this.#state;
  }

  /** Whether it would believe that it holds the Lease if it ran now. */
  holds(): boolean {
    return holds(this.#state, this.#now());
  }

  input(input: ElectionInput): void {
    this.#after(0, () => this.#input(input));
  }

  standStill(ms: number): void {
    this.#stillUntilMs = Math.max(this.#stillUntilMs, this.#world.clock.monotonicMs() + ms);
  }

  #now(): number {
    return this.#offsetMs + this.#rate * this.#world.clock.monotonicMs();
  }

  /** By its own action: not while it stands still. */
  #after(ms: number, act: () => void): void {
    const { clock } = this.#world;
    const start = this.#starts;
    const run = () => {
      if (start !== this.#starts) return;
      if (clock.monotonicMs() < this.#stillUntilMs) clock.after(this.#stillUntilMs - clock.monotonicMs(), run);
      else act();
    };
    clock.after(ms, run);
  }

  #input(input: ElectionInput): void {
    const { state, effect } = stepElection(this.#state, input, this.#now());
    this.#state = state;
    if (effect) this.#ask(effect);
    const dueMs = nextElectionTickMs(state);
    const timer = ++this.#timers;
    if (dueMs === undefined) return;
    this.#after(Math.max(0, (dueMs - this.#now()) / this.#rate) + 0.001, () => {
      if (timer === this.#timers) this.#input({ type: 'tick' });
    });
  }

  #ask(effect: ElectionEffect): void {
    const { clock, random, isTroubled } = this.#world;
    const question = ++this.#question;
    const answered = (input: ElectionInput) => {
      if (question !== this.#question) return;
      this.#question++;
      this.#input(input);
    };
    // A candidate that stood still may read the answer before it notices that the answer is late.
    const patienceMs = random.fraction() < 0.9 ? answerMs : 10 * answerMs;
    this.#after(patienceMs, () => answered({ type: 'failed' }));
    const fate = isTroubled ? random.fraction() : 1;
    if (fate < 0.1) return;
    // Some requests reach the server long after nobody waits for them any more.
    const thereMs = fate < 0.2 ? random.fraction() * 20_000 : random.fraction() * 200;
    clock.after(thereMs, () => {
      const input = fate < 0.25 ? { type: 'failed' as const } : this.#carryOut(effect);
      this.#world.check();
      if (fate < 0.3) return;
      this.#after(random.fraction() * (fate < 0.4 ? 5_000 : 100), () => answered(input));
    });
  }

  #carryOut(effect: ElectionEffect): ElectionInput {
    if (effect.type === 'read') return { type: 'read', record: this.#world.record };
    const record = this.#world.write(effect);
    return record === 'refused' ? { type: 'refused' } : { type: 'written', record };
  }
}
