/**
 * Lets another process ask the supervisor of a data directory to take another tree: the process writes the tree into a file and sends a signal, and the supervisor
 * answers in another file. Whoever may write into the directory may ask. The supervisor goes on with a request whose sender has ended.
 */
import { cliCommand } from '../../core/runtime/cli-command.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import { isAlive } from '../../core/runtime/process-alive.ts';
import type { Random } from '../../core/runtime/random.ts';
import { writeWhole } from '../../core/runtime/whole-file.ts';
import { hex } from '../../core/store/bytes.ts';
import { type DataDirectory, readJson, removeFile } from './data-directory.ts';
import { assignPorts } from './ports.ts';
import { ensureKeys } from './sealing-keys.ts';
import type { Supervisor } from './supervisor.ts';
import { ensureTreePki } from './tree-pki.ts';
import { moveStores, nextRecord, readRecord, setStoresAside, type WantedTree, writeRecord } from './tree-record.ts';

/** The signal of a request. Node itself uses SIGUSR1. */
const signal = 'SIGUSR2';
const lookEveryMs = 50;

interface ChangeRequest {
  readonly id: string;
  readonly wanted: WantedTree;
  readonly timeoutMs: number;
}

interface Answer {
  readonly id: string;
  /** Absent: everything is done. */
  readonly error?: { readonly code: BanyanError['code']; readonly message: string };
}

export interface ChangePorts {
  readonly data: DataDirectory;
  readonly clock: Clock;
  readonly random: Random;
}

/** Requests are served one after the other. Call it when the tree is ready. */
export function serveChanges(supervisor: Supervisor, ports: ChangePorts & { print(line: string): void }): void {
  const { data, print } = ports;
  let turn = Promise.resolve();
  const serve = async () => {
    const request = readJson<ChangeRequest>(data.wanted);
    if (!request || readJson<Answer>(data.answer)?.id === request.id) return;
    const answer = (error?: Answer['error']) =>
      writeWhole(data.answer, JSON.stringify({ id: request.id, ...(error ? { error } : {}) }));
    try {
      await change(supervisor, request, ports);
      answer();
    } catch (error) {
      print(`a change of the topology failed: ${describeError(error)}`);
      answer({ code: error instanceof BanyanError ? error.code : 'Internal', message: describeError(error) });
    }
  };
  const asked = () => {
    turn = turn.then(serve);
  };
  process.on(signal, asked);
  // From now on, the signal does not end this process.
  writeWhole(data.supervisor, JSON.stringify({ pid: process.pid, takesChanges: true }));
}

async function change(
  supervisor: Supervisor,
  { wanted, timeoutMs }: ChangeRequest,
  { data, clock, random }: ChangePorts,
): Promise<void> {
  const before = readRecord(data);
  const record = nextRecord(before, wanted, clock.wallMs());
  const { nodes, name, logs, removedAtMs } = record;
  const ports = await assignPorts(nodes, data, { running: supervisor.running });
  const pki = await ensureTreePki(data, name, nodes, clock, removedAtMs);
  // From here on, a supervisor that is started again goes on with the new tree.
  writeRecord(data, record);
  await supervisor.take({ nodes, ports, pki, logs }, () => {
    moveStores(data, record.moved);
    const ids = new Set(nodes.map(({ id }) => id));
    const gone = (before?.nodes ?? []).filter(({ id }) => !ids.has(id)).map(({ id }) => id);
    setStoresAside(data, gone, clock.wallMs());
    ensureKeys(nodes, data, random);
    writeRecord(data, { ...record, moved: {} });
  });
  if (await supervisor.ready(timeoutMs)) return;
  throw new BanyanError(
    'Unavailable',
    `${data.root}: the tree was ended meanwhile: start it with ${cliCommand('up', '-f', 'TOPOLOGY')}, and run the command again`,
  );
}

/**
 * Asks the supervisor with this process id, and waits for its answer. Throws the error of the answer; Unavailable if the supervisor ends meanwhile; and Timeout
 * if there is no answer: the supervisor then still works on the request.
 */
export async function requestChange(
  pid: number,
  wanted: WantedTree,
  timeoutMs: number,
  { data, clock, random }: ChangePorts,
): Promise<void> {
  if (readJson<{ takesChanges?: boolean }>(data.supervisor)?.takesChanges !== true) {
    throw new BanyanError(
      'Unavailable',
      `${data.root}: the tree is still starting: wait until it is ready, and run the command again`,
    );
  }
  const id = hex(random.bytes(8));
  removeFile(data.answer);
  writeWhole(data.wanted, JSON.stringify({ id, wanted, timeoutMs } satisfies ChangeRequest));
  if (isAlive(pid)) process.kill(pid, signal);
  // The supervisor gives up first: its message says which nodes are missing.
  const deadline = clock.monotonicMs() + 2 * timeoutMs;
  for (;;) {
    const answer = readJson<Answer>(data.answer);
    if (answer?.id === id) {
      if (answer.error) throw new BanyanError(answer.error.code, answer.error.message);
      return;
    }
    const remedy = `start it again with ${cliCommand('up', '-f', 'TOPOLOGY')}, then run the command again`;
    if (!isAlive(pid)) throw new BanyanError('Unavailable', `the supervisor of ${data.root} has ended: ${remedy}`);
    if (clock.monotonicMs() > deadline) {
      throw new BanyanError('Timeout', `${data.root}: the supervisor is still at work; its log is in ${data.logs}`);
    }
    await new Promise((done) => setTimeout(done, lookEveryMs));
  }
}
