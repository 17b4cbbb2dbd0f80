/**
 * Keys that need work, with one worker call for each key at a time. Level-based: a key that is added while its work runs is worked on again afterwards.
 * However often a key is added, it waits once. Failed work comes back with a full-jitter backoff for its key alone: no key delays another.
 *
 * Bounds: `concurrency` calls at once; at most one waiting entry and one timer for each key, so the queue is never larger than the set of keys.
 */
import type { Company } from '../../core/crash/crash-guard.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { Random } from '../../core/runtime/random.ts';

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly concurrency: number;
  /** A waiting key with a smaller number is worked on first. */
  readonly priority: (key: string) => number;
  /** 'retry': the key comes back after a backoff. Must not throw. */
  readonly work: (key: string) => Promise<'done' | 'retry'>;
  /**
   * `any`: runs beside other keys of `any`. `doubtful`: runs beside other keys of `doubtful`. `apart`: runs alone. The last two run after all other keys
   * that wait. Absent: `any`.
   */
  readonly companyOf?: (key: string) => Company;
  /** No work begins before `resume`. */
  readonly isHeldBack?: boolean;
  /** The work on a key has ended. */
  readonly ended?: (key: string) => void;
}

/** A cluster that has just refused something is not asked again at once … */
export const retryMinMs = 1_000;
/** … and work that has failed for long is tried every few minutes, for as long as it takes. */
export const retryMaxMs = 300_000;

/** The order in which the companies run. */
const companies: readonly Company[] = ['any', 'doubtful', 'apart'];
/** Greater than any result of `priority`. */
const lastPriority = 1_000_000;
/**
 * Failed keys come behind `priority` too. The work on many failed keys may take long each time, for example when a webhook does not answer. Otherwise these
 * keys would always be before others.
 */
const failedPriority = 1_000;

interface RetryState {
  attempts: number;
  timer?: Timer;
}

export class WorkQueue {
  readonly #options: WorkQueueOptions;
  /** Waiting keys by priority. A key is in one of the sets: `#waitingAt` has its priority. */
  readonly #waiting = new Map<number, Set<string>>();
  readonly #waitingAt = new Map<string, number>();
  readonly #running = new Map<string, { again: boolean; readonly company: Company }>();
  readonly #retries = new Map<string, RetryState>();
  readonly #delayed = new Map<string, Timer>();
  #idle: (() => void)[] = [];
  #scheduled = false;
  #isHeldBack: boolean;
  #stopped = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#isHeldBack = options.isHeldBack ?? false;
  }

  /** Enqueues work on the key. With `fresh`, past failures do not count any more, because the desired state has changed. */
  add(key: string, fresh = false): void {
    if (this.#stopped) return;
    const retry = this.#retries.get(key);
    retry?.timer?.stop();
    if (fresh) {
      this.#retries.delete(key);
      this.#unwait(key);
    }
    const running = this.#running.get(key);
    if (running) running.again = true;
    else this.#wait(key);
    this.#schedule();
  }

  /** Work may begin. */
  resume(): void {
    this.#isHeldBack = false;
    this.#schedule();
  }

  isRunning(key: string): boolean {
    return this.#running.has(key);
  }

  /** Adds the key after a delay. An earlier `addAfter` of the key stays as it is. */
  addAfter(key: string, delayMs: number): void {
    if (this.#stopped || this.#delayed.has(key)) return;
    this.#delayed.set(
      key,
      this.#options.clock.after(delayMs, () => {
        this.#delayed.delete(key);
        this.add(key);
      }),
    );
  }

  /** Resolves when no key waits that may be worked on, and no work runs. Retries and delays may still be pending. */
  idle(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Starts no more work. Resolves when the running work has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waiting.clear();
    this.#waitingAt.clear();
    for (const retry of this.#retries.values()) retry.timer?.stop();
    for (const timer of this.#delayed.values()) timer.stop();
    await this.idle();
  }

  /** Starts work after the present call stack, so that a batch is worked on by priority and not in the order in which it is added. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#start();
    });
  }

  #start(): void {
    while (
      !this.#stopped &&
      !this.#isHeldBack &&
      this.#running.size < this.#options.concurrency &&
      this.#waitingAt.size > 0
    ) {
      const key = this.#takeFirst();
      if (key === undefined) break;
      const running = { again: false, company: this.#companyOf(key) };
      this.#running.set(key, running);
      this.#options.work(key).then(
        (result) => this.#ended(key, running.again, result),
        (error: unknown) => {
          // A worker that throws is a broken invariant. The process ends with its stack trace instead of going on without the key.
          queueMicrotask(() => {
            throw error;
          });
        },
      );
    }
    if (this.#isIdle()) {
      for (const resolve of this.#idle.splice(0)) resolve();
    }
  }

  #isIdle(): boolean {
    return (this.#waitingAt.size === 0 || this.#isHeldBack) && this.#running.size === 0;
  }

  #ended(key: string, again: boolean, result: 'done' | 'retry'): void {
    this.#running.delete(key);
    if (result === 'done') this.#retries.delete(key);
    if (again && !this.#stopped) this.#wait(key);
    else if (result === 'retry' && !this.#stopped) this.#backOff(key);
    this.#options.ended?.(key);
    this.#start();
  }

  #backOff(key: string): void {
    const retry = this.#retries.get(key) ?? { attempts: 0 };
    const windowMs = Math.min(retryMaxMs, retryMinMs * 2 ** (retry.attempts + 1));
    retry.attempts = Math.min(retry.attempts + 1, 16);
    const delayMs = retryMinMs + this.#options.random.fraction() * (windowMs - retryMinMs);
    retry.timer = this.#options.clock.after(delayMs, () => this.add(key));
    this.#retries.set(key, retry);
  }

  #wait(key: string): void {
    if (this.#waitingAt.has(key)) return;
    const { priority: priorityOf } = this.#options;
    const failed = this.#retries.has(key) ? failedPriority : 0;
    const priority = priorityOf(key) + failed + lastPriority * companies.indexOf(this.#companyOf(key));
    this.#waitingAt.set(key, priority);
    const set = this.#waiting.get(priority) ?? new Set();
    this.#waiting.set(priority, set.add(key));
  }

  #companyOf(key: string): Company {
    return this.#options.companyOf?.(key) ?? 'any';
  }

  /** Undefined: the first waiting key has to wait for running work. */
  #takeFirst(): string | undefined {
    const priority = Math.min(...this.#waiting.keys());
    const set = this.#waiting.get(priority)!;
    const [key] = set;
    const company = this.#companyOf(key!);
    for (const running of this.#running.values()) {
      if (running.company !== company || company === 'apart') return undefined;
    }
    this.#unwait(key!);
    return key!;
  }

  #unwait(key: string): void {
    const priority = this.#waitingAt.get(key);
    if (priority === undefined) return;
    this.#waitingAt.delete(key);
    const set = this.#waiting.get(priority)!;
    set.delete(key);
    if (set.size === 0) this.#waiting.delete(priority);
  }
}
