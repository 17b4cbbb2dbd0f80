/** Reads the keys that a configuration names, from a file or from the output of a program. */
import { spawnSync } from 'node:child_process';
import { readBytes } from '../runtime/config-file.ts';
import { BanyanError } from '../runtime/errors.ts';
import type { EncryptionConfig } from './encryption-config.ts';
import { parseKeys, type SealingKey } from './sealing-keys.ts';

/** A program that asks a key service over a network needs seconds. A program that hangs must not keep a node from saying why it does not start. */
const commandMsMax = 30_000;
/** A key file has at most 16 lines with keys, and some comments. */
const keysBytesMax = 64 * 1024;

/** Throws BadRequest that names the file or program, and the remedy. The message never has the output of the program: it may be a key. */
export function readKeys(
  { keyFile, keyCommand }: Pick<EncryptionConfig, 'keyFile' | 'keyCommand'>,
  msMax = commandMsMax,
): readonly SealingKey[] {
  return keyFile === undefined ? keysOfCommand(keyCommand ?? [], msMax) : keysOfFile(keyFile);
}

function keysOfFile(file: string): readonly SealingKey[] {
  const from = `encryption.keyFile: ${file}`;
  let bytes: Buffer;
  try {
    bytes = readBytes(file);
  } catch (cause) {
    const remedy =
      'put the file with the keys of this node there, or correct the path; a new key opens no sealed store';
    throw new BanyanError('BadRequest', `encryption.keyFile: ${(cause as Error).message}; ${remedy}`, {}, { cause });
  }
  if (bytes.length > keysBytesMax)
    throw wrong(`${from} has ${bytes.length} bytes; a key file has at most ${keysBytesMax}`);
  return parseKeys(bytes.toString('utf8'), from);
}

function keysOfCommand([program = '', ...args]: readonly string[], msMax: number): readonly SealingKey[] {
  const from = `encryption.keyCommand: ${program}`;
  const ran = spawnSync(program, args, {
    encoding: 'utf8',
    timeout: msMax,
    killSignal: 'SIGKILL',
    maxBuffer: keysBytesMax,
    // What the program prints about its mistakes goes where the node's own messages go.
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const remedy = 'run it by hand as the user of the node, and see that it prints the keys and ends with 0';
  const code = (ran.error as NodeJS.ErrnoException | undefined)?.code;
  if (code === 'ETIMEDOUT') throw wrong(`${from} has not ended within ${msMax / 1000} s; ${remedy}`);
  if (code === 'ENOBUFS') throw wrong(`${from} prints more than ${keysBytesMax} bytes; ${remedy}`);
  if (ran.error) throw wrong(`${from} can't be run: ${code ?? ran.error.message}; ${remedy}`);
  if (ran.status !== 0) throw wrong(`${from} ended with ${ran.status ?? ran.signal}; ${remedy}`);
  return parseKeys(ran.stdout, `the output of ${from}`);
}

function wrong(message: string): BanyanError {
  return new BanyanError('BadRequest', message);
}
