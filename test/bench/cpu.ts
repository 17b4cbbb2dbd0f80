/** What a process has taken of the processors: https://docs.kernel.org/filesystems/proc.html, `stat`. */
import { readFileSync } from 'node:fs';

/** What Linux tells times in, on every machine that this runs on. */
const ticksPerSecond = 100;

/** Seconds since it began, in user and in system mode. */
export function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name, in parentheses, may have any character in it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}
