/**
 * The memory limits of the agent. At the limit of the container, the kernel ends the agent; this class only reports how much of that limit is used. The limit
 * of the configuration is enforced here: the agent ends properly, and its supervisor starts it again. So on a small machine, the kernel ends no other program
 * because of the agent.
 */
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { shownBytes } from './byte-quantity.ts';
import type { LimitUse } from './limit-use.ts';

export interface MemoryLimitPorts {
  readonly clock: Clock;
  /** The limit of the configuration. */
  readonly configuredBytes?: number | undefined;
  /** The memory limit of the container or another control group. Undefined: there is none. */
  readonly containerBytes?: number | undefined;
  residentBytes(): number;
  /** Called when the process has used more than the configured limit for some time, and must end. */
  exceeded(why: string): void;
}

const lookEveryMs = 10_000;
/** So many measurements in a row must be above the limit. Garbage that is collected soon does not count. */
const exceededLooks = 3;
/**
 * Shortest time between two restarts. An agent that is above its limit whenever it works must not restart again and again. During this time, it only reports
 * the problem.
 */
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

  /** The use of the smaller limit. Undefined: the agent has no memory limit. */
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
