/**
 * Watches how much the agent uses of its own limits, and reports when its work waits for one of them. The message stays the same while this lasts, so only
 * the beginning and the end are sent to the parent. The numbers are metrics.
 */

import type { TroubleAttributes } from '../../core/entries/up-attributes.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { LimitUse } from './limit-use.ts';

export interface OwnLimitsPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  uses(): readonly LimitUse[];
  /** The report has changed. */
  changed(): void;
}

const lookEveryMs = 10_000;
/** Looks in a row with pressure: the pressure of a burst of objects ends sooner. */
const pressedLooks = 3;
/** Looks in a row without pressure: pressure that comes and goes is one report. */
const easyLooks = 6;
/** For a limit without waiting work, this share in use counts as all. */
const nearlyAll = 0.9;

interface Watched {
  waitedMs: number;
  /** Looks in a row with pressure, or as a negative number without pressure. */
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

  /** Which limits are reached. The reason is that of the first one. Undefined: none is reached. */
  get reported(): TroubleAttributes | undefined {
    const [first] = this.#reached;
    return first && { reason: first.reason, message: this.#reached.map(messageOf).join('; ') };
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

/** On average, at least one request waits for the limit all the time. */
function pressed({ max, used, waitedMs }: LimitUse, waitedMsBefore: number): boolean {
  return waitedMs === undefined ? used >= max * nearlyAll : waitedMs - waitedMsBefore >= lookEveryMs;
}

function messageOf({ field, shown, waitedMs, remedy }: LimitUse): string {
  const what = waitedMs === undefined ? 'nearly all of it is in use' : 'requests wait for it all the time';
  return `${field} is ${shown}, and ${what}: ${remedy}`;
}

function sameFields(a: readonly LimitUse[], b: readonly LimitUse[]): boolean {
  return a.length === b.length && a.every(({ field }, i) => field === b[i]!.field);
}
