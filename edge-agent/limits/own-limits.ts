/**
 * Watches what the agent uses of its own limits, and says when one of them is what its work waits for. It is said in words that stay the same while it lasts,
 * so that nothing travels but the beginning and the end of it; the numbers are metrics.
 */

import type { TroubleAttributes } from '../../core/entries/up-attributes.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { LimitUse } from './limit-use.ts';

export interface OwnLimitsPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  uses(): readonly LimitUse[];
  /** What is said is something else now. */
  changed(): void;
}

const lookEveryMs = 10_000;
/** Looks in a row: what comes with a burst of objects is over sooner. */
const pressedLooks = 3;
/** Looks in a row without: what comes and goes is one thing. */
const easyLooks = 6;
/** Of what nothing waits for, this much in use is as good as all. */
const nearlyAll = 0.9;

interface Watched {
  waitedMs: number;
  /** Looks in a row with pressure, or without as a negative number. */
  looks: number;
  isReached: boolean;
}

export class OwnLimits {
  readonly #ports: OwnLimitsPorts;
  readonly #watched = new Map<string, Watched>();
  #reached: readonly LimitUse[] = [];
  #timer: Timer | undefined;

  constructor(ports: OwnLimitsPorts) {
    this.#ports = ports;
  }

  start(): void {
    this.#timer = this.#ports.clock.after(lookEveryMs, () => {
      this.#look();
      this.start();
    });
  }

  stop(): void {
    this.#timer?.stop();
  }

  /** Which limits are reached, the first by its name; undefined: none. */
  get said(): TroubleAttributes | undefined {
    const [first] = this.#reached;
    return first && { reason: first.reason, message: this.#reached.map(words).join('; ') };
  }

  #look(): void {
    const before = this.#reached;
    this.#reached = this.#ports.uses().filter((use) => this.#isReached(use));
    if (sameFields(before, this.#reached)) return;
    for (const use of this.#reached) this.#ports.logger.warn({ ...use }, 'a limit of this agent is reached');
    this.#ports.changed();
  }

  #isReached(use: LimitUse): boolean {
    const watched = this.#watched.get(use.field) ?? { waitedMs: 0, looks: 0, isReached: false };
    this.#watched.set(use.field, watched);
    const isPressed = pressed(use, watched.waitedMs);
    watched.waitedMs = use.waitedMs ?? 0;
    watched.looks = isPressed ? Math.max(0, watched.looks) + 1 : Math.min(0, watched.looks) - 1;
    if (watched.looks >= pressedLooks) watched.isReached = true;
    if (watched.looks <= -easyLooks) watched.isReached = false;
    return watched.isReached;
  }
}

/** One or more wait for it all the time, on average. */
function pressed({ max, used, waitedMs }: LimitUse, waitedMsBefore: number): boolean {
  return waitedMs === undefined ? used >= max * nearlyAll : waitedMs - waitedMsBefore >= lookEveryMs;
}

function words({ field, shown, waitedMs, remedy }: LimitUse): string {
  const what = waitedMs === undefined ? 'nearly all of it is in use' : 'requests wait for it all the time';
  return `${field} is ${shown}, and ${what}: ${remedy}`;
}

function sameFields(a: readonly LimitUse[], b: readonly LimitUse[]): boolean {
  return a.length === b.length && a.every(({ field }, i) => field === b[i]!.field);
}
