/**
 * Connections that come to no session, for the log: scanners of ports, probes of load balancers, handshakes that fail. Anybody can make as many as they like, so the log has
 * a bounded number of lines of them, and an operator still reads of a child that can't get in, and why.
 */
import type { Clock } from '../runtime/clock.ts';
import { describeError } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logger.ts';

/** A person who looks for a child of theirs waits no longer for the summary. */
export const summaryEveryMs = 60_000;
/** Of an interval: the first connection of each reason is told at once. */
const atOnceMax = 4;
/** Of an interval: a reason may have words that the stranger chose. */
const reasonsMax = 16;
const otherReasons = 'other reasons';
const reasonCharsMax = 300;

/** The connections that were refused for one reason. */
export interface StrangersOfReason {
  readonly reason: string;
  readonly connections: number;
  /** Of the newest of them. */
  readonly example: string;
}

/** What an interval of the log has seen. It keeps no time: whoever asks for the summary ends the interval. */
export class Strangers {
  readonly #reasons = new Map<string, { connections: number; example: string }>();
  #atOnce = 0;
  #untold = 0;

  /** Whether the connection is to be told of at once; otherwise it is in the summary. */
  came(remote: string, reason: string): boolean {
    const isNew = !this.#reasons.has(reason) && this.#reasons.size < reasonsMax;
    const key = isNew || this.#reasons.has(reason) ? reason : otherReasons;
    this.#reasons.set(key, { connections: (this.#reasons.get(key)?.connections ?? 0) + 1, example: remote });
    const isTold = isNew && this.#atOnce < atOnceMax;
    if (isTold) this.#atOnce++;
    else this.#untold++;
    return isTold;
  }

  /** Undefined: all was told at once. The next interval begins. */
  summary(): readonly StrangersOfReason[] | undefined {
    const all = [...this.#reasons];
    const isOfUse = this.#untold > 0;
    this.#reasons.clear();
    this.#atOnce = 0;
    this.#untold = 0;
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
    const isTold = this.#strangers.came(remote, reason);
    if (isTold) this.#log.warn({ remote, reason }, what);
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
