/** One node as a process. Starts the process, watches it, starts it again with growing pauses when it dies, and ends it properly. */
import { type ChildProcess, spawn } from 'node:child_process';
import { dottedPath } from '../../core/identity/node-path.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { LogRotation } from '../../core/runtime/log-rotation.ts';
import type { Launch } from './launch.ts';
import { PrintedLog } from './printed-log.ts';

/** A node that ran this long is healthy. After its next death, the pauses begin again with the shortest pause. */
const healthyMs = 10_000;
const firstPauseMs = 100;
const pauseMaxMs = 15_000;
/** A proper end takes a second or two. A node that needs longer than this hangs, and is killed. */
const endWithinMs = 10_000;

export interface ProcessSpec {
  readonly path: string;
  readonly program: string;
  readonly launch: Launch;
  readonly args: readonly string[];
  readonly log: { readonly file: string; readonly rotation?: LogRotation | undefined };
  readonly compileCache: string;
  /** Called before each start, so that files that were removed meanwhile exist again. */
  prepare(): void;
}

export interface ProcessEvents {
  started(pid: number): void;
  /** Called when the process has ended. `restartInMs` absent: the node is not started again. */
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

  /** Whether `end` was called. */
  get isEnding(): boolean {
    return this.#ending;
  }

  start(): void {
    this.spec.prepare();
    // Node keeps its compiled code for the next start. So a node that died starts faster, and no source text stays in its memory. An environment variable can
    // let many trees on one machine share this cache.
    const { path, program, launch, args, compileCache, log } = this.spec;
    const env = { NODE_COMPILE_CACHE: compileCache, ...launch.env, ...process.env };
    const child = spawn(process.execPath, [...launch.flags, program, ...args], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const printed = new PrintedLog(log, { node: dottedPath(path), pid: child.pid, clock: this.#clock });
    for (const output of [child.stdout, child.stderr]) printed.take(output);
    this.#process = child;
    this.#startedAtMs = this.#clock.monotonicMs();
    child.once('error', (error) => this.#ended(child, error.message));
    child.once('exit', (code, signal) => this.#ended(child, signal ?? `exit code ${code}`));
    if (child.pid !== undefined) this.#events.started(child.pid);
  }

  /** Ends the process. Resolves when the process has ended. */
  async end(): Promise<void> {
    this.#ending = true;
    this.#timer?.stop();
    const child = this.#process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill('SIGTERM');
    const killer = this.#clock.after(endWithinMs, () => child.kill('SIGKILL'));
    await exited;
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
