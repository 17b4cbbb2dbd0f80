/** The processor time of a process: https://docs.kernel.org/filesystems/proc.html, `stat`. */
import { readFileSync } from 'node:fs';

/** The unit of Linux, on every machine that runs this. */
const ticksPerSecond = 100;

/** Seconds since its start, in user and in system mode. */
export function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name, in parentheses, may have any character in it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}
