/**
 * Logs connections that never become a session: port scanners, probes of load balancers, failed handshakes. Anybody can open any number of them. So the
 * number of log lines about them is bounded. An operator still sees a child that cannot connect, and the reason.
 */
import type { Clock } from '../runtime/clock.ts';
import { describeError } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logger.ts';

/** Interval of the summary. An operator who searches for a child waits at most this long. */
export const summaryEveryMs = 60_000;
/** Number of connections per interval that get a line at once: the first one of each reason. */
const atOnceMax = 4;
/** Number of reasons per interval. A stranger may choose parts of a reason, so this number needs a bound. */
const reasonsMax = 16;
const otherReasons = 'other reasons';
const reasonCharsMax = 300;

/** The connections that were refused for the same reason. */
export interface StrangersOfReason {
  readonly reason: string;
  readonly connections: number;
  /** The address of the newest of these connections. */
  readonly example: string;
}

/** The refused connections of one interval of the log. A call of `summary` ends the interval. */
export class Strangers {
  readonly #reasons = new Map<string, { connections: number; example: string }>();
  #atOnce = 0;
  #unlogged = 0;

  /** Returns true if the connection gets a log line at once. Otherwise the summary counts it. */
  add(remote: string, reason: string): boolean {
    const isNew = !this.#reasons.has(reason) && this.#reasons.size < reasonsMax;
    const key = isNew || this.#reasons.has(reason) ? reason : otherReasons;
    this.#reasons.set(key, { connections: (this.#reasons.get(key)?.connections ?? 0) + 1, example: remote });
    const isLogged = isNew && this.#atOnce < atOnceMax;
    if (isLogged) this.#atOnce++;
    else this.#unlogged++;
    return isLogged;
  }

  /** Returns the summary and begins the next interval. Undefined: each connection had a line of its own. */
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

/** Logs the strangers of one listener: at debug level one line for each, at other levels as `Strangers` decides. */
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
    this.#log.warn(fields, `${connections} connections became no session, most of them because: ${reasons[0]!.reason}`);
  }
}
