/**
 * Connections that never become a session, in the log: port scanners, probes of load balancers, failed handshakes. Anybody can open any number of them. So
 * the log has a bounded number of lines about them, and an operator still sees a child that cannot connect, and the reason.
 */
import type { Clock } from '../runtime/clock.ts';
import { describeError } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logger.ts';

/** An operator who looks for a child waits at most this long for the summary. */
export const summaryEveryMs = 60_000;
/** Connections of an interval that get a line at once: the first of each reason. */
const atOnceMax = 4;
/** Reasons of an interval. A stranger may choose parts of a reason, so the number of reasons has a bound. */
const reasonsMax = 16;
const otherReasons = 'other reasons';
const reasonCharsMax = 300;

/** The connections that were refused for one reason. */
export interface StrangersOfReason {
  readonly reason: string;
  readonly connections: number;
  /** The address of the newest of them. */
  readonly example: string;
}

/** The connections of one interval of the log. Asking for the summary ends the interval. */
export class Strangers {
  readonly #reasons = new Map<string, { connections: number; example: string }>();
  #atOnce = 0;
  #unlogged = 0;

  /** True: the connection gets a line at once. False: the summary counts it. */
  add(remote: string, reason: string): boolean {
    const isNew = !this.#reasons.has(reason) && this.#reasons.size < reasonsMax;
    const key = isNew || this.#reasons.has(reason) ? reason : otherReasons;
    this.#reasons.set(key, { connections: (this.#reasons.get(key)?.connections ?? 0) + 1, example: remote });
    const isLogged = isNew && this.#atOnce < atOnceMax;
    if (isLogged) this.#atOnce++;
    else this.#unlogged++;
    return isLogged;
  }

  /** Undefined: each connection had a line of its own. The next interval begins. */
  summary(): readonly StrangersOfReason[] | undefined {
    const all = [...this.#reasons];
    const isOfUse = this.#unlogged > 0;
    this.#reasons.clear();
    this.#atOnce = 0;
    this.#unlogged = 0;
    if (!isOfUse) return undefined;
    return all
      .map(([reason, { connections, example }]) => ({ reason, connections, example }))
      .sort((a, b) => b.connections - a.connections);
  }
}

/** The strangers of one listener in its log: at debug level every one, otherwise as `Strangers` has it. */
export class StrangersLog {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #strangers = new Strangers();
  #isCounting = false;

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  refused(remote: string, error: unknown, what = 'a child was refused'): void {
    const reason = describeError(error).slice(0, reasonCharsMax);
    const isLogged = this.#strangers.add(remote, reason);
    if (isLogged) this.#log.warn({ remote, reason }, what);
    else this.#log.debug({ remote, reason }, what);
    if (this.#isCounting) return;
    this.#isCounting = true;
    this.#clock.after(summaryEveryMs, () => this.#summarize());
  }

  #summarize(): void {
    this.#isCounting = false;
    const reasons = this.#strangers.summary();
    if (!reasons) return;
    const connections = reasons.reduce((sum, one) => sum + one.connections, 0);
    const fields = { connections, seconds: summaryEveryMs / 1_000, reasons };
    this.#log.warn(fields, `${connections} connections came to no session, most because: ${reasons[0]!.reason}`);
  }
}
