/** Carries out the decisions of the election. Sends requests to the cluster, each with a time limit, and gives the results to the election. */
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import {
  candidate,
  type ElectionEffect,
  type ElectionInput,
  type ElectionState,
  holds,
  isOfAnother,
  nextElectionTickMs,
  recordsAll,
  stepElection,
} from './election.ts';
import { installedForAnnotation, type LeaseHandover, type LeasePort, type LeaseRecord } from './lease.ts';

/** Time limit for an answer; a later answer does not count. A holder has 8 s, and two requests must fit into this time. */
export const answerMs = 3_000;
/** How long a proper end waits for the release of the Lease. After that, the other agents notice the end by themselves. */
const endMsMax = 3_000;

export interface ElectorPorts {
  readonly lease: LeasePort;
  /** The monotonic time of this clock goes on while the machine sleeps, if the system supports this. */
  readonly clock: Clock;
  readonly log: Logger;
  /** The id of this process. */
  readonly me: string;
  readonly path: string;
}

export interface ElectorEvents {
  /** Called when the agent holds the Lease for the first time. `former`: the record of the previous holders. */
  won(former: LeaseRecord): void;
  /** Called when another agent holds the Lease, or may hold it. */
  lost(why: string): void;
}

export class Elector {
  readonly #ports: ElectorPorts;
  readonly #events: ElectorEvents;
  #state: ElectionState;
  #timer: Timer | undefined;
  /** The number of the present request. The answer to an abandoned request is ignored. */
  #question = 0;
  #hasWon = false;
  #isAbandoned = false;
  #trouble: string | undefined;
  readonly #waiting = new Set<() => void>();

  constructor(ports: ElectorPorts, events: ElectorEvents) {
    this.#ports = ports;
    this.#events = events;
    this.#state = candidate(ports.me, ports.path, ports.clock.monotonicMs());
  }

  start(): void {
    this.#input({ type: 'tick' });
  }

  /** Whether the agent holds the Lease at this moment. */
  get holds(): boolean {
    return holds(this.#state, this.#ports.clock.monotonicMs());
  }

  /** A text for people: which agent is active, or why this agent can't get the Lease. */
  get standing(): string {
    const { role, seen } = this.#state;
    if (this.holds) return 'active';
    if (role === 'lost' || role === 'released') return 'ending: another agent is active, or may be';
    const another = isOfAnother(this.#state);
    if (another !== undefined)
      return `standby: the Lease belongs to agent ${another}; name another Lease in cluster.kubernetes.lease.name, or, if ${another} is the former path of this agent, give the Lease the annotation ${installedForAnnotation}: ${this.#ports.path}`;
    if (this.#trouble !== undefined) return `standby: this agent can't get the Lease: ${this.#trouble}`;
    return seen?.record?.holder ? `standby: ${seen.record.holder} is active` : 'standby';
  }

  /** Writes the values into the Lease, and resolves when the Lease has them. Throws if this agent does not hold the Lease any more. */
  async handOver(handover: LeaseHandover): Promise<void> {
    this.#input({ type: 'handOver', handover });
    const isHandedOver = () => recordsAll(this.#state.seen?.record?.handover ?? {}, handover) && this.holds;
    while (!isHandedOver()) {
      if (this.#isAbandoned) throw new BanyanError('Unavailable', 'the process ends');
      if (this.#state.role !== 'holder')
        throw new BanyanError('Conflict', 'this agent does not hold the Lease any more');
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /** Called when the process ends. `handOver` does not wait any more, and throws. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#wake();
  }

  /** Releases the Lease. Resolves when it is released, or after `endMsMax`. */
  async end(): Promise<void> {
    let isLate = false;
    const late = this.#ports.clock.after(endMsMax, () => {
      isLate = true;
      this.#wake();
    });
    this.#input({ type: 'end' });
    while (!isLate && this.#state.role === 'holder') await new Promise<void>((resolve) => this.#waiting.add(resolve));
    late.stop();
    this.#timer?.stop();
    this.#question++;
  }

  #input(input: ElectionInput): void {
    const { clock } = this.#ports;
    const before = this.#state;
    const { state, effect } = stepElection(before, input, clock.monotonicMs());
    this.#state = state;
    if (effect) void this.#ask(effect);
    this.#scheduleTick();
    this.#notify(before);
    this.#wake();
  }

  #notify(before: ElectionState): void {
    const { role, seen } = this.#state;
    const { log } = this.#ports;
    const another = isOfAnother(this.#state);
    if (another !== undefined && another !== isOfAnother(before)) log.error({ agent: another }, this.standing);
    if (role === 'holder' && !this.#hasWon && seen?.record) {
      this.#hasWon = true;
      this.#events.won(before.seen?.record ?? seen.record);
    }
    if (role === 'lost' && before.role !== 'lost') {
      const holder = seen?.record?.holder;
      this.#events.lost(holder ? `${holder} holds the Lease` : 'the Lease was taken away');
    }
  }

  #scheduleTick(): void {
    this.#timer?.stop();
    const { clock } = this.#ports;
    const dueMs = nextElectionTickMs(this.#state);
    if (dueMs === undefined) return;
    this.#timer = clock.after(Math.max(0, dueMs - clock.monotonicMs()), () => this.#input({ type: 'tick' }));
  }

  async #ask(effect: ElectionEffect): Promise<void> {
    const { clock } = this.#ports;
    const question = ++this.#question;
    const late = clock.after(answerMs, () => this.#answered(question, failed(`no answer within ${answerMs} ms`)));
    try {
      this.#answered(question, await this.#answerTo(effect));
    } catch (error) {
      this.#answered(question, failed(describeError(error)));
    } finally {
      late.stop();
    }
  }

  async #answerTo(effect: ElectionEffect): Promise<Answer> {
    const { lease } = this.#ports;
    if (effect.type === 'read') return { input: { type: 'read', record: await lease.read() } };
    const { type: _type, ...write } = effect;
    const record = await lease.write(write);
    return { input: record === 'refused' ? { type: 'refused' } : { type: 'written', record } };
  }

  #answered(question: number, { input, trouble }: Answer): void {
    if (question !== this.#question) return;
    this.#question++;
    if (trouble !== undefined && trouble !== this.#trouble)
      this.#ports.log.warn({ error: trouble }, "the agent can't read or write the Lease");
    this.#trouble = trouble;
    this.#input(input);
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }
}

interface Answer {
  readonly input: ElectionInput;
  readonly trouble?: string;
}

function failed(trouble: string): Answer {
  return { input: { type: 'failed' }, trouble };
}
