/**
 * Watches how much of its own limits the agent uses, and reports when the agent's work waits for a limit. The message stays the same during this time, so the
 * agent reports only the beginning and the end to its parent. The numbers are metrics.
 */

import type { TroubleAttributes } from '../../core/entries/up-attributes.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { LimitUse } from './limit-use.ts';

export interface OwnLimitsPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  uses(): readonly LimitUse[];
  /** Called when the report has changed. */
  changed(): void;
}

const lookEveryMs = 10_000;
/** After so many measurements in a row with pressure, the limit counts as reached. The pressure of a burst of objects ends sooner. */
const pressedLooks = 3;
/**
 * After so many measurements in a row without pressure, the limit does not count as reached any more. So pressure that stops and starts again is one report.
 */
const easyLooks = 6;
/** A limit for which no work waits is under pressure when this share of it is in use. */
const nearlyAll = 0.9;

interface Watched {
  waitedMs: number;
  /** The number of measurements in a row: positive with pressure, negative without pressure. */
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

  /** The limits that are reached, with the reason of the first of them. Undefined: no limit is reached. */
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

/** Whether the limit is under pressure. For a limit with waiting work: on average, at least one request waits all the time. */
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
