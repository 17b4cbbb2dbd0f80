import { readFileSync } from 'node:fs';

/**
 * How long, in milliseconds, the main thread of a process waited for a processor. The second number of the kernel's schedstat has this time in ns. With it, a
 * test can keep other work on the machine from affecting a measurement.
 */
export function waitedMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
}
