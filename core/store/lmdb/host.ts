/** Facts about the machine that the store needs: whether the machine was restarted, and whether another process still runs. */
import { readFileSync, readlinkSync } from 'node:fs';
import { isAlive, startOf } from '../../runtime/process-alive.ts';

export interface ProcessIdentity {
  readonly pid: number;
  /** The start time of the process, in ticks of the kernel. It distinguishes the process from a newer process with the same pid. Empty if unknown. */
  readonly started: string;
  /** The pid namespace. A pid has a meaning only within its namespace: each container has its own pid 1. Empty if unknown. */
  readonly namespace: string;
}

export interface Host {
  /** Changes with every start of the machine. Empty if unknown: then the store acts as if the machine was restarted. */
  readonly bootId: string;
  readonly self: ProcessIdentity;
  /** The running process with this pid in this namespace. */
  find(pid: number): ProcessIdentity | undefined;
}

/** Reads the facts from /proc, if the system has it: https://man7.org/linux/man-pages/man5/proc.5.html */
export function localHost(): Host {
  const namespace = readOr('', () => readlinkSync('/proc/self/ns/pid'));
  return {
    bootId: readOr('', () => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
    self: { pid: process.pid, started: startOf(process.pid), namespace },
    find: (pid) => (isAlive(pid) ? { pid, started: startOf(pid), namespace } : undefined),
  };
}

/** Reads a file, or returns `otherwise`, the caller's value for "unknown". A system without /proc does not have the file. */
function readOr(otherwise: string, read: () => string): string {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
