/**
 * The agent's cap on its memory. What its container gives it is watched, and the kernel ends it at that; a cap that its configuration names it keeps by itself:
 * it ends in order and is started again by whoever started it, and nothing else on a small machine is ended for it.
 */
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { shownBytes } from './byte-quantity.ts';
import type { LimitUse } from './limit-use.ts';

export interface MemoryLimitPorts {
  readonly clock: Clock;
  /** What the configuration names. */
  readonly configuredBytes?: number | undefined;
  /** Of the container or another control group; undefined: none. */
  readonly containerBytes?: number | undefined;
  residentBytes(): number;
  /** It is more than what was configured, for some time: the process is to end. */
  exceeded(why: string): void;
}

const lookEveryMs = 10_000;
/** Looks in a row: garbage of a moment is no need. */
const exceededLooks = 3;
/** One that is above its cap as soon as it works would else be started again and again; it says so instead. */
const restartsEveryMs = 600_000;

const ownRemedy =
  'raise it, or place less here; an agent above it ends and is started again, at most every ten minutes';
const containerRemedy = 'raise agent.resources.limits.memory of the chart, or place less here';

export class MemoryLimit implements AsyncDisposable {
  readonly #ports: MemoryLimitPorts;
  readonly #startedMs: number;
  #looks = 0;
  #timer: Timer | undefined;

  constructor(ports: MemoryLimitPorts) {
    this.#ports = ports;
    this.#startedMs = ports.clock.monotonicMs();
  }

  start(): void {
    if (this.#ports.configuredBytes === undefined) return;
    this.#timer = this.#ports.clock.after(lookEveryMs, () => {
      this.#look();
      this.start();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer?.stop();
  }

  /** Of the smaller one; undefined: there is none. */
  use(): LimitUse | undefined {
    const { configuredBytes = Number.POSITIVE_INFINITY, containerBytes = Number.POSITIVE_INFINITY } = this.#ports;
    const max = Math.min(configuredBytes, containerBytes);
    if (max === Number.POSITIVE_INFINITY) return undefined;
    const [field, remedy] =
      max === configuredBytes ? ['limits.memory', ownRemedy] : ['container.memory', containerRemedy];
    return { field, reason: 'Memory', max, shown: shownBytes(max), used: this.#ports.residentBytes(), remedy };
  }

  #look(): void {
    const { clock, configuredBytes = Number.POSITIVE_INFINITY, residentBytes, exceeded } = this.#ports;
    const used = residentBytes();
    this.#looks = used > configuredBytes ? this.#looks + 1 : 0;
    if (this.#looks < exceededLooks || clock.monotonicMs() - this.#startedMs < restartsEveryMs) return;
    this.#looks = 0;
    exceeded(`${used} bytes are resident, more than limits.memory (${shownBytes(configuredBytes)})`);
  }
}
