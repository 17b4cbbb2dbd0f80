import { readFileSync } from 'node:fs';

/**
 * Milliseconds for which the main thread of a process wanted a processor and had none: sched-stats of the kernel, the second figure, in ns. Other work on the
 * machine must not affect the measurement.
 */
export function waitedMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
}
