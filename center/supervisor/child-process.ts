/** One node as a process: started, watched, started again with growing pauses when it dies, ended in order. */
import { type ChildProcess, spawn } from 'node:child_process';
import { dottedPath } from '../../core/identity/node-path.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { LogRotation } from '../../core/runtime/log-rotation.ts';
import type { Launch } from './launch.ts';
import { SaidLog } from './said-log.ts';

/** A node that ran this long is healthy: its next death starts again from the shortest pause. */
const healthyMs = 10_000;
const firstPauseMs = 100;
const pauseMaxMs = 15_000;
/** A drain takes a second or two; a node that needs longer is stuck. */
const endWithinMs = 10_000;

export interface ProcessSpec {
  readonly path: string;
  readonly program: string;
  readonly launch: Launch;
  readonly args: readonly string[];
  readonly log: { readonly file: string; readonly rotation?: LogRotation | undefined };
  readonly compileCache: string;
  /** Written anew before each start, so that what was removed meanwhile is there again. */
  prepare(): void;
}

export interface ProcessEvents {
  started(pid: number): void;
  /** `restartInMs` is absent when it is not started again. */
  ended(how: string, restartInMs?: number): void;
}

export class NodeProcess {
  readonly spec: ProcessSpec;
  readonly #clock: Clock;
  readonly #events: ProcessEvents;
  readonly #restart: boolean;
  #process: ChildProcess | undefined;
  #pauseMs = firstPauseMs;
  #startedAtMs = 0;
  #timer: Timer | undefined;
  #ending = false;

  constructor(spec: ProcessSpec, options: { restart: boolean; clock: Clock; events: ProcessEvents }) {
    this.spec = spec;
    this.#clock = options.clock;
    this.#events = options.events;
    this.#restart = options.restart;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  start(): void {
    this.spec.prepare();
    // What node has compiled is kept for the next start: a node that died is back sooner, and no source text stays in its memory. Who has
    // many trees on one machine can have them share it.
    const { path, program, launch, args, compileCache, log } = this.spec;
    const env = { NODE_COMPILE_CACHE: compileCache, ...launch.env, ...process.env };
    const child = spawn(process.execPath, [...launch.flags, program, ...args], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said = new SaidLog(log, { node: dottedPath(path), pid: child.pid, clock: this.#clock });
    for (const output of [child.stdout, child.stderr]) said.take(output);
    this.#process = child;
    this.#startedAtMs = this.#clock.monotonicMs();
    child.once('error', (error) => this.#ended(child, error.message));
    child.once('exit', (code, signal) => this.#ended(child, signal ?? `exit code ${code}`));
    if (child.pid !== undefined) this.#events.started(child.pid);
  }

  /** Resolves when the process is gone. */
  async end(): Promise<void> {
    this.#ending = true;
    this.#timer?.stop();
    const child = this.#process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill('SIGTERM');
    const killer = this.#clock.after(endWithinMs, () => child.kill('SIGKILL'));
    await gone;
    killer.stop();
  }

  #ended(child: ChildProcess, how: string): void {
    if (child !== this.#process) return;
    this.#process = undefined;
    if (this.#ending || !this.#restart) {
      this.#events.ended(how);
      return;
    }
    if (this.#clock.monotonicMs() - this.#startedAtMs >= healthyMs) this.#pauseMs = firstPauseMs;
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(pauseMaxMs, pauseMs * 2);
    this.#events.ended(how, pauseMs);
    this.#timer = this.#clock.after(pauseMs, () => this.start());
  }
}
