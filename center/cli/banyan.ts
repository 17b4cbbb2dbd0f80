#!/usr/bin/env node
/** The `banyan` command. */
import { CommanderError } from 'commander';
import { describeError } from '../../core/runtime/errors.ts';
import { codeOfError, exitCode } from './exit-codes.ts';
import { makeProgram } from './program.ts';
import { ownScreen } from './screen.ts';

let code: number = exitCode.done;
const program = makeProgram({
  screen: ownScreen(),
  print: (line) => console.log(line),
  warn: (line) => console.error(`banyan: ${line}`),
  exitWith: (chosen) => {
    code = chosen;
  },
});
try {
  await program.parseAsync();
} catch (error) {
  code = codeOfError(error);
  if (!(error instanceof CommanderError)) console.error(`banyan: ${describeError(error)}`);
}
process.exit(code);
