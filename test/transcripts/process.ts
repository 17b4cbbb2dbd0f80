/** The environment of a node in a transcript: its time stops when its process is killed, and its log has the lines that a person would look for. */
import type { Clock, Timer, VirtualClock } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { LinkEvents } from '../../core/wire/link.ts';

/** The shared time as one process sees it: its wall clock may be wrong, and no timer fires while it is dead or stopped. */
export class ProcessClock implements Clock {
  readonly #shared: VirtualClock;
  readonly #wallOffsetMs: () => number;
  #alive = true;
  #stopped: (() => void)[] | undefined;

  constructor(shared: VirtualClock, wallOffsetMs: () => number) {
    this.#shared = shared;
    this.#wallOffsetMs = wallOffsetMs;
  }

  wallMs(): number {
    return this.#shared.wallMs() + this.#wallOffsetMs();
  }

  monotonicMs(): number {
    return this.#shared.monotonicMs();
  }

  after(delayMs: number, fire: () => void): Timer {
    return this.#shared.after(delayMs, () => this.run(fire));
  }

  /** Runs now if the process runs, when it continues if it is stopped, never if it is dead. */
  run(act: () => void): void {
    if (!this.#alive) return;
    if (this.#stopped) this.#stopped.push(act);
    else act();
  }

  kill(): void {
    this.#alive = false;
  }

  /** SIGSTOP. */
  stop(): void {
    this.#stopped ??= [];
  }

  /** SIGCONT: timers that were due meanwhile fire now. */
  goOn(): void {
    const due = this.#stopped ?? [];
    this.#stopped = undefined;
    for (const act of due) act();
  }
}

/** Warnings and errors, one line each. */
export function lineLogger(write: (line: string) => void): Logger {
  const log = (fields: object, message: string) => {
    const { reason, message: why } = fields as { reason?: string; message?: string };
    write(`${message}${reason === undefined ? '' : `: ${reason}`}${why === undefined ? '' : `: ${why}`}`);
  };
  const logger: Logger = { debug() {}, info() {}, warn: log, error: log, child: () => logger };
  return logger;
}

/** Events reach a process only while it runs. */
export function onClock(clock: ProcessClock, events: LinkEvents): LinkEvents {
  const { onStream } = events;
  return {
    // A new stream needs its answer at once. The frames of the stream reach the process only while it runs.
    ...(onStream ? { onStream: (id, stream) => onClock(clock, onStream(id, stream)) } : {}),
    onFrame: (frame) => clock.run(() => events.onFrame(frame)),
    onBytes: (count) => clock.run(() => events.onBytes(count)),
    onDrain: () => clock.run(() => events.onDrain()),
    onClose: (error) => clock.run(() => events.onClose(error)),
  };
}
