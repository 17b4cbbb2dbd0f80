/**
 * `rekey`: gives nodes a new first key, and waits until everything is sealed with this key. A running node reads its key file again by itself; the command
 * watches the node's store. If the node does not run, the command does the same work itself.
 *
 * A second run after an interrupted one adds no key, and waits for the end of the first one.
 */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { encryptionConfigSchema } from '../../core/encryption/encryption-config.ts';
import { openNodeStore } from '../../core/encryption/open-store.ts';
import { readKeys } from '../../core/encryption/read-keys.ts';
import { formatKeys, newSealingKey, type SealingKey } from '../../core/encryption/sealing-keys.ts';
import { readSealingRecord, type SealingRecord } from '../../core/encryption/sealing-record.ts';
import { shownPath } from '../../core/identity/node-path.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { parseConfig, readBytes } from '../../core/runtime/config-file.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { type Logger, silentLogger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import { writeWhole } from '../../core/runtime/whole-file.ts';
import { DirectoryLock } from '../../core/store/lmdb/directory-lock.ts';
import { localHost } from '../../core/store/lmdb/host.ts';
import { LmdbStore } from '../../core/store/lmdb/lmdb-store.ts';
import type { DataDirectory } from '../supervisor/data-directory.ts';
import { UsageError } from './usage-error.ts';

export interface RekeyOptions {
  /** Removes the former keys from the key file at the end. */
  readonly dropOld: boolean;
  readonly timeoutSeconds: number;
}

export interface RekeyPorts {
  readonly clock: Clock;
  readonly random: Random;
  print(line: string): void;
}

/** The parts of a node's configuration that matter here. A relay's other parts are checked when it starts. */
const configSchema = z.looseObject({
  path: z.string(),
  data: z.string(),
  encryption: encryptionConfigSchema.optional(),
  /** Only agents have a cluster. Their store is a folder of the data directory. */
  cluster: z.unknown().optional(),
});

interface SealedNode {
  readonly shown: string;
  readonly directory: string;
  readonly resources: readonly string[];
  readonly keyFile: string;
}

const askEveryMs = 500;

/** The configuration files of a local tree: of one node, or of all of them. */
export function configsOf(data: DataDirectory, path: string | undefined): string[] {
  if (path !== undefined) return [data.config(path)];
  const folder = join(data.root, 'config');
  const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.yaml')) : [];
  if (files.length > 0) return files.sort().map((file) => join(folder, file));
  throw new UsageError(
    `${data.root}: no tree was started here; name the data directory with --data, or the configuration of one node with --config`,
  );
}

/**
 * Reads all configurations before it changes the first key file. A node whose keys are not in a file is left alone, with a line that says why. Throws
 * UsageError if all nodes are of this kind.
 */
export async function rekey(configs: readonly string[], options: RekeyOptions, ports: RekeyPorts): Promise<void> {
  const nodes = configs.map(sealedNode);
  const sealed = nodes.filter((node) => 'keyFile' in node);
  const others = nodes.filter((node) => 'why' in node).map(({ why }) => why);
  if (sealed.length === 0) throw new UsageError(others.join('\n'));
  for (const why of others) ports.print(`left alone: ${why}`);
  for (const node of sealed) await rekeyNode(node, options, ports);
}

function sealedNode(file: string): SealedNode | { readonly why: string } {
  if (!existsSync(file)) throw new UsageError(`${file}: there is no such configuration of a node`);
  const config = parseConfig(readBytes(file).toString('utf8'), file, configSchema, 'configuration of a node');
  const { encryption, path, data, cluster } = config;
  if (!encryption || encryption.resources.length === 0)
    return { why: `${file}: encryption: this node seals nothing, so it has no key to change` };
  const { keyFile, resources } = encryption;
  if (keyFile === undefined) {
    const remedy = 'let the program print a new first key before the former ones, and start the node again';
    return { why: `${file}: encryption.keyCommand: the command can't change keys that a program prints; ${remedy}` };
  }
  return { shown: shownPath(path), directory: cluster === undefined ? data : join(data, 'store'), resources, keyFile };
}

/** Only one command at a time changes a key file: of two new first keys, one would be lost, together with everything that the node has sealed with it meanwhile. */
async function rekeyNode(node: SealedNode, options: RekeyOptions, ports: RekeyPorts): Promise<void> {
  const lock = lockBeside(node);
  try {
    await rekeyLocked(node, options, ports);
  } finally {
    lock?.release();
  }
}

/** Undefined: the folder of the key file does not exist, and nothing will be written. The lock of a command that was killed does not count. */
function lockBeside({ keyFile, shown }: SealedNode): DirectoryLock | undefined {
  const folder = dirname(keyFile);
  if (!existsSync(folder)) return undefined;
  try {
    return DirectoryLock.take(folder, localHost());
  } catch (cause) {
    if (!(cause instanceof BanyanError)) throw cause;
    const message = `${shown}: another rekey works with the key files in ${folder}: wait for its end, and run the command again`;
    throw new BanyanError('Unavailable', message, {}, { cause });
  }
}

async function rekeyLocked(
  node: SealedNode,
  { dropOld, timeoutSeconds }: RekeyOptions,
  ports: RekeyPorts,
): Promise<void> {
  const { keyFile, shown } = node;
  const keys = keysAfter(node, readKeys({ keyFile }), await recordOf(node), ports.random);
  writeWhole(keyFile, formatKeys(keys));
  const first = keys[0]!.id;
  ports.print(`${shown}: the first key is ${first}`);
  const deadlineMs = ports.clock.monotonicMs() + timeoutSeconds * 1_000;
  const inTime = async () => {
    if (ports.clock.monotonicMs() > deadlineMs) throw notEnded(node, timeoutSeconds);
    await pause(ports.clock);
  };
  const resealed = (await resealHere(node, ports, inTime)) ?? (await follow(node, first, ports, inTime));
  const isDropped = dropOld && dropFormer(keyFile, keys);
  if (dropOld && !isDropped)
    ports.print(`${shown}: somebody has changed ${keyFile} meanwhile: no key was removed; run the command again`);
  const former = isDropped ? 'former keys were removed from' : 'former keys open older backups, and stay in';
  ports.print(`${shown}: ended, ${resealed} values are sealed anew; ${former} ${keyFile}`);
}

/** False: the file has other keys than this command has written. A person may have put a new first key there, which the node uses by now. */
function dropFormer(keyFile: string, keys: readonly SealingKey[]): boolean {
  if (formatKeys(readKeys({ keyFile })) !== formatKeys(keys)) return false;
  writeWhole(keyFile, formatKeys(keys.slice(0, 1)));
  return true;
}

/** The keys with a new first one. If an earlier change of keys has not ended, the keys as they are. */
function keysAfter(
  { directory, shown }: SealedNode,
  keys: readonly SealingKey[],
  record: SealingRecord | undefined,
  random: Random,
): readonly SealingKey[] {
  if (!record) {
    throw new UsageError(`${shown}: the store in ${directory} is not sealed yet; start the node once`);
  }
  return record.settled && record.keys[0] === keys[0]!.id ? [newSealingKey(random), ...keys] : keys;
}

/** Does the work in this process. Undefined: the node runs, and has the lock of its store. */
async function resealHere(
  { directory, resources, keyFile, shown }: SealedNode,
  { clock, random, print }: RekeyPorts,
  inTime: () => Promise<void>,
): Promise<number | undefined> {
  const error = (fields: object, message: string) => print(`${shown}: ${message}: ${JSON.stringify(fields)}`);
  const log: Logger = { ...silentLogger, error };
  const options = { directory, encryption: { resources: [...resources], keyFile }, clock, random, log };
  const store = await openNodeStore(options).catch(unlessInUse);
  if (!store) return undefined;
  print(`${shown}: the node does not run: its store is sealed anew here`);
  let record = store.read(readSealingRecord);
  try {
    for (; record && !record.settled; record = store.read(readSealingRecord)) await inTime();
  } finally {
    await store[Symbol.asyncDispose]();
  }
  // Another opening writes the file without the free pages that the pass has left.
  await (await openNodeStore(options))[Symbol.asyncDispose]();
  return record?.resealed ?? 0;
}

function unlessInUse(error: unknown): undefined {
  if (!(error instanceof BanyanError) || error.code !== 'Unavailable') throw error;
}

/** Watches the record until the running node has sealed everything. */
async function follow(
  node: SealedNode,
  first: string,
  { print }: RekeyPorts,
  inTime: () => Promise<void>,
): Promise<number> {
  let shownValues = -1;
  for (;;) {
    // A node that starts meanwhile may be replacing the files.
    const record = await recordOf(node).catch(ofStartingNode);
    const ours = record?.keys[0] === first ? record : undefined;
    const values = ours?.resealed ?? 0;
    if (ours?.settled) return values;
    if (values !== shownValues) print(`${node.shown}: ${values} values are sealed with the first key`);
    shownValues = values;
    await inTime();
  }
}

function ofStartingNode(error: unknown): undefined {
  if (!(error instanceof BanyanError) || error.code !== 'StoreCorrupt') throw error;
}

function notEnded({ shown }: SealedNode, timeoutSeconds: number): BanyanError {
  const remedy = 'see the log of the node; the same command goes on, and --timeout SECONDS waits longer';
  return new BanyanError('Timeout', `${shown}: not ended within ${timeoutSeconds} s; ${remedy}`);
}

/** The record as the node has it now, also while the node runs. */
async function recordOf({ directory }: SealedNode): Promise<SealingRecord | undefined> {
  if (!existsSync(directory)) return undefined;
  const store = LmdbStore.open({ directory, readOnly: true }, silentLogger);
  try {
    return store.read(readSealingRecord);
  } finally {
    await store[Symbol.asyncDispose]();
  }
}

/** Keeps the process alive, as the timers of the clock do not. */
async function pause(clock: Clock): Promise<void> {
  const alive = setInterval(() => {}, askEveryMs);
  await new Promise<void>((resolve) => clock.after(askEveryMs, resolve));
  clearInterval(alive);
}
