/** The exit codes of every command. */
import { CommanderError } from 'commander';
import { BanyanError } from '../../core/runtime/errors.ts';
import { UsageError } from './usage-error.ts';

export const exitCode = { done: 0, failed: 1, usage: 2, timeout: 3, changes: 4 } as const;

/** The exit code of a command that ended with this error. */
export function codeOfError(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.usage;
  if (error instanceof UsageError) return exitCode.usage;
  if (error instanceof BanyanError && error.code === 'Timeout') return exitCode.timeout;
  return exitCode.failed;
}
