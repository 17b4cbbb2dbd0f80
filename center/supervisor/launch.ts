/** How the process of a role is started, beside its program: what V8 and the C library have to be told before anything runs. */
import type { ProgramRole } from './programs.ts';

export interface Launch {
  /** Of node, before the program. */
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * An agent is one of many things on a small machine: docs/decisions/0038-agents-compile-little.md. Without the snapshot of node's own start its pages in the
 * program's file are never read; size counts before speed from the first line on, and V8 compiles nothing to machine code, regular expressions neither,
 * and lets go of what rests; the C library keeps one heap for all threads and gives back from its end what is free.
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

export function launchOf(role: ProgramRole): Launch {
  return role === 'agent' ? agentLaunch : { flags: [], env: {} };
}
