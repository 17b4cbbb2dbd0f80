/** The start of the process of a role: flags for V8 and settings for the C library. Both read them only at the start. */
import type { ProgramRole } from './programs.ts';

export interface Launch {
  /** Flags for node, before the program. */
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * An agent is one of many programs on a small machine: docs/decisions/0038-agents-compile-little.md. Node starts without its snapshot, so the pages of the
 * snapshot in the program file are never read. V8 prefers size to speed from the beginning. It compiles nothing to machine code, not even regular
 * expressions, and drops the bytecode of unused functions. The C library uses one heap for all threads, and returns the free end of the heap.
 */
export const agentLaunch: Launch = {
  flags: [
    '--no-node-snapshot',
    '--optimize-for-size',
    '--no-sparkplug',
    '--no-maglev',
    '--no-turbofan',
    '--regexp-interpret-all',
    '--bytecode-old-age=1',
    '--compact-on-every-full-gc',
  ],
  env: { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '65536', MALLOC_MMAP_THRESHOLD_: '65536' },
};

/**
 * A center or relay that has served much load keeps free memory between the bytes that stay: buffers of 2 to 256 KiB come and go with each request. With fixed
 * thresholds, the C library gives long buffers back at once, and does not raise the thresholds to the length of the longest buffer. One heap for all threads has
 * fewer gaps: docs/decisions/0078-lists-and-events-from-bytes.md.
 */
export const relayLaunch: Launch = {
  flags: [],
  env: { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '131072', MALLOC_MMAP_THRESHOLD_: '131072' },
};

export function launchOf(role: ProgramRole): Launch {
  return role === 'agent' ? agentLaunch : relayLaunch;
}
