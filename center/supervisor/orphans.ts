/**
 * Orphans: nodes that outlived their supervisor. They continue to run, which is right until somebody needs their place. The next `up` or `down` on the same
 * data directory ends them first. A process is an orphan if its status file names it, and its command line names its configuration.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { type DataDirectory, readJson, removeFile } from './data-directory.ts';

/** A proper end takes at most this long. After that, the process is killed. */
const endWithinMs = 10_000;
const lookEveryMs = 50;

interface Orphan {
  readonly node: string;
  readonly pid: number;
  readonly statusFile: string;
}

/** Ends all orphans. Returns their names. */
export async function endOrphans(data: DataDirectory, clock: Clock): Promise<string[]> {
  const orphans = findOrphans(data);
  for (const { pid } of orphans) process.kill(pid, 'SIGTERM');
  const deadline = clock.monotonicMs() + endWithinMs;
  let running = orphans;
  while (running.length > 0) {
    await new Promise((done) => setTimeout(done, lookEveryMs));
    running = running.filter((orphan) => isOrphan(data, orphan));
    const pastDeadlineMs = clock.monotonicMs() - deadline;
    if (pastDeadlineMs > endWithinMs) {
      const named = running.map(({ node, pid }) => `${node} (process ${pid})`).join(', ');
      throw new BanyanError(
        'Timeout',
        `${data.root}: these nodes of an earlier run do not end: ${named}; end them by hand`,
      );
    }
    if (pastDeadlineMs > 0) for (const { pid } of running) process.kill(pid, 'SIGKILL');
  }
  for (const { statusFile } of orphans) removeFile(statusFile);
  return orphans.map(({ node }) => node);
}

function findOrphans(data: DataDirectory): Orphan[] {
  const found: Orphan[] = [];
  for (const file of statusFiles(data)) {
    const statusFile = join(data.run, file);
    const pid = readJson<{ pid?: number }>(statusFile)?.pid;
    const orphan = { node: basename(file, '.json'), pid: pid ?? 0, statusFile };
    if (pid !== undefined && isOrphan(data, orphan)) found.push(orphan);
  }
  return found;
}

function statusFiles(data: DataDirectory): string[] {
  try {
    return readdirSync(data.run).filter((file) => file.endsWith('.json'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Whether the process is the orphan. The system uses pids again, so the process must have been started with this node's configuration. */
function isOrphan(data: DataDirectory, { node, pid }: Orphan): boolean {
  try {
    process.kill(pid, 0);
    const command = execFileSync('ps', ['-ww', '-o', 'args=', '-p', String(pid)], { encoding: 'utf8' });
    return command.includes(join(data.root, 'config', `${node}.yaml`));
  } catch (error) {
    // The process has ended, or belongs to another user. It is no orphan in either case. `ps` ends with 1 if the process does not exist.
    const { code, status } = error as NodeJS.ErrnoException & { status?: number };
    if (code === 'ESRCH' || code === 'EPERM' || status === 1) return false;
    throw error;
  }
}
