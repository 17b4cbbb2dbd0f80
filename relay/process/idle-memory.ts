/**
 * When a node has nothing to do, V8 is told so. Otherwise it takes the rate at which memory was allocated last for the present one, also minutes after a node
 * went quiet in the middle of much work, and gives nothing back: its collections of an idle process are for those that allocate little. Told that memory counts
 * more than speed it begins them within eight seconds, in steps, and makes the young generation small again.
 */
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import type { Clock } from '../../core/runtime/clock.ts';

const lookEveryMs = 5_000;
/** Of the time, in which the process did something: beats and timers take less, and a write every second more. */
const idleBelow = 0.01;

export interface IdleMemoryPorts {
  readonly clock: Clock;
  /** The part of the time since the last call in which the process did something: 0 to 1. */
  busyPart(): number;
  /** The process is idle from now on, or is so no more. */
  idle(isIdle: boolean): void;
}

/** Looks as long as the process runs. */
export function watchIdleness({ clock, busyPart, idle }: IdleMemoryPorts): void {
  let wasIdle = false;
  const look = () => {
    const isIdle = busyPart() < idleBelow;
    if (isIdle !== wasIdle) idle(isIdle);
    wasIdle = isIdle;
    clock.after(lookEveryMs, look);
  };
  clock.after(lookEveryMs, look);
}

/** For a process that may be busy and idle in turns: agents are told to be small all the time. */
export function giveMemoryBackWhenIdle(clock: Clock): void {
  let last = performance.eventLoopUtilization();
  watchIdleness({
    clock,
    busyPart: () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      return utilization;
    },
    idle: (isIdle) => setFlagsFromString(isIdle ? '--optimize-for-size' : '--no-optimize-for-size'),
  });
}
