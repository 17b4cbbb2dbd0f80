/** The exit codes that every command keeps. */
import { CommanderError } from 'commander';
import { BanyanError } from '../../core/runtime/errors.ts';
import { UsageError } from './usage-error.ts';

export const exitCode = { done: 0, failed: 1, usage: 2, timeout: 3, changes: 4 } as const;

/** For the reference page. */
export const exitCodeMeanings: Readonly<Record<keyof typeof exitCode, string>> = {
  done: 'done',
  failed: 'failed while running, or the thing that you asked for does not exist',
  usage: 'bad usage or configuration; nothing was started or changed',
  timeout: 'time-out',
  changes: 'there are differences, and nothing was changed; only with `plan --exit-code` and `topology diff`',
};

/** The exit code of a command that ended with this error. */
export function codeOfError(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.usage;
  if (error instanceof UsageError) return exitCode.usage;
  if (error instanceof BanyanError && error.code === 'Timeout') return exitCode.timeout;
  return exitCode.failed;
}
