/** What the store must know of the machine it runs on: whether it was restarted, and whether another process is still alive. */
import { readFileSync, readlinkSync } from 'node:fs';

export interface ProcessIdentity {
  readonly pid: number;
  /** When the process began, in ticks of the kernel; tells a process from a later one with the same pid. Empty where unknown. */
  readonly started: string;
  /** Pids mean something only within one namespace: each container has its own pid 1. Empty where unknown. */
  readonly namespace: string;
}

export interface Host {
  /** Changes with every start of the machine; empty where it can't be told, which the store takes for "restarted". */
  readonly bootId: string;
  readonly self: ProcessIdentity;
  /** A living process of this namespace. */
  find(pid: number): ProcessIdentity | undefined;
}

/** The machine itself, by /proc where there is one: https://man7.org/linux/man-pages/man5/proc.5.html */
export function localHost(): Host {
  const namespace = readOr('', () => readlinkSync('/proc/self/ns/pid'));
  return {
    bootId: readOr('', () => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
    self: { pid: process.pid, started: startOf(process.pid), namespace },
    find: (pid) => (isAlive(pid) ? { pid, started: startOf(pid), namespace } : undefined),
  };
}

/** Field 22 of /proc/PID/stat, counted behind the command, which is in parentheses and may hold any character. */
function startOf(pid: number): string {
  const stat = readOr('', () => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is there and belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Systems without /proc have no such file: the caller's rule for "unknown" applies. */
function readOr(otherwise: string, read: () => string): string {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
