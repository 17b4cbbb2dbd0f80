/** The resources of a run, which are removed when it ends: directories, processes, and other disposables. */
import { type ChildProcess, fork, type Serializable, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A node drains within two seconds; a process that needs longer is killed. */
const endWithinMs = 10_000;

export class Scratch implements AsyncDisposable {
  readonly #directories: string[] = [];
  readonly #processes = new Set<ChildProcess>();
  readonly #others: AsyncDisposable[] = [];
  #ended = false;

  constructor() {
    // The last resort, when the run ends with an error that nobody awaits: no waiting is possible, and a process with children of its own must be able to end
    // them.
    process.once('exit', () => {
      for (const child of this.#processes) child.kill('SIGTERM');
      this.#removeDirectories();
    });
  }

  directory(): string {
    const directory = mkdtempSync(join(tmpdir(), 'banyan-bench-'));
    this.#directories.push(directory);
    return directory;
  }

  /** A program of this project, by its URL, that communicates by messages. */
  fork(program: URL): ChildProcess {
    return this.#hold(fork(program, { serialization: 'advanced', stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }));
  }

  /** Node with these arguments, and with these variables beside those of this process; its output is dropped. */
  node(args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
    return this.#hold(spawn(process.execPath, args, { stdio: 'ignore', env: { ...process.env, ...env } }));
  }

  /** Disposed of before processes end and directories are removed; the last one first. */
  use<T extends AsyncDisposable>(resource: T): T {
    this.#others.push(resource);
    return resource;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    try {
      for (const resource of this.#others.reverse()) await resource[Symbol.asyncDispose]();
    } finally {
      await Promise.all([...this.#processes].map((child) => endProcess(child, 'SIGTERM')));
      this.#removeDirectories();
    }
  }

  #hold(child: ChildProcess): ChildProcess {
    this.#processes.add(child);
    child.once('exit', () => this.#processes.delete(child));
    return child;
  }

  #removeDirectories(): void {
    for (const directory of this.#directories.splice(0)) rmSync(directory, { recursive: true, force: true });
  }
}

/** Resolves when the process is gone. */
export async function endProcess(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill(signal);
  const killer = setTimeout(() => child.kill('SIGKILL'), endWithinMs);
  await gone;
  clearTimeout(killer);
}

/** Sends a message and waits for the one answer; a process that ends instead is an error. */
export function ask<T>(child: ChildProcess, question: Serializable): Promise<T> {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error(`process ${child.pid} ended instead of answering`));
    child.once('exit', onExit);
    child.once('message', (answer) => {
      child.off('exit', onExit);
      resolve(answer as T);
    });
    child.send(question, (error) => {
      if (error) reject(error);
    });
  });
}
