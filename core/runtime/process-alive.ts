/** Whether a process runs, and since when: https://man7.org/linux/man-pages/man5/proc.5.html */
import { readFileSync } from 'node:fs';

/**
 * Whether the process runs. A process of another user runs, although no signal can be sent to it. A process that has ended, and whose parent has not asked for
 * its end, still has its pid: it writes nothing any more, and counts as ended. In a container, nobody may ever ask.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  return !endedStates.has(statOf(pid)[0] ?? '');
}

/** The start time of the process, in ticks of the kernel. Empty if unknown. */
export function startOf(pid: number): string {
  return statOf(pid)[19] ?? '';
}

/** A zombie, and a process that is about to disappear. */
const endedStates = new Set(['Z', 'X']);

/** The fields of /proc/PID/stat after the command, which is in parentheses and may contain any character. None on a system without /proc. */
function statOf(pid: number): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}
