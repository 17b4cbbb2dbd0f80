/**
 * Makes V8 give memory back while the node has nothing to do. Without this, V8 assumes that the last allocation rate is still true, even minutes after a node
 * stopped in the middle of much work. V8 also has collections for idle processes, but only for processes that allocate little, so it gives nothing back. With
 * `--optimize-for-size`, V8 begins collections within eight seconds, in steps, and makes the young generation small again.
 */
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import type { Clock } from '../../core/runtime/clock.ts';

const lookEveryMs = 5_000;
/** A process is idle if it did something in less than this share of the time. Beats and timers need less; a write every second needs more. */
const idleBelow = 0.01;

export interface IdleMemoryPorts {
  readonly clock: Clock;
  /** Returns the share of the time since the last call in which the process did something: 0 to 1. */
  busyShare(): number;
  /** Called when the process has become idle, or busy again. */
  idle(isIdle: boolean): void;
}

/** Checks again and again until the process ends. */
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

/** For a process that is sometimes busy and sometimes idle. Agents do not use this: they set V8 to save memory all the time. */
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
