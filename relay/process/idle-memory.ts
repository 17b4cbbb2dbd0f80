/**
 * Makes V8 give memory back while the node has nothing to do. On its own V8 takes the last allocation rate for the present one, also minutes after a
 * node went quiet in the middle of much work. Its collections for idle processes are only for processes that allocate little, so V8 gives nothing back.
 * With the setting that memory counts more than speed, V8 begins collections within eight seconds, in steps, and makes the young generation small
 * again.
 */
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import type { Clock } from '../../core/runtime/clock.ts';

const lookEveryMs = 5_000;
/** The share of the time in which the process did something, below which it is idle. Beats and timers take less; a write every second takes more. */
const idleBelow = 0.01;

export interface IdleMemoryPorts {
  readonly clock: Clock;
  /** The share of the time since the last call in which the process did something: 0 to 1. */
  busyShare(): number;
  /** The process has become idle, or busy again. */
  idle(isIdle: boolean): void;
}

/** Looks until the process ends. */
export function watchIdleness({ clock, busyShare, idle }: IdleMemoryPorts): void {
  let wasIdle = false;
  const look = () => {
    const isIdle = busyShare() < idleBelow;
    if (isIdle !== wasIdle) idle(isIdle);
    wasIdle = isIdle;
    clock.after(lookEveryMs, look);
  };
  clock.after(lookEveryMs, look);
}

/** For a process that is busy and idle by turns. Agents do not use this: they set V8 to save memory all the time. */
export function giveMemoryBackWhenIdle(clock: Clock): void {
  let previous = performance.eventLoopUtilization();
  watchIdleness({
    clock,
    busyShare: () => {
      const current = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(current, previous);
      previous = current;
      return utilization;
    },
    idle: (isIdle) => setFlagsFromString(isIdle ? '--optimize-for-size' : '--no-optimize-for-size'),
  });
}
