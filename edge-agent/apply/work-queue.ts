/**
 * Keys that need work. For each key, one worker call runs at a time. The queue is level-based: if a key is added while its work runs, the work runs once more
 * afterwards. However often a key is added, it waits once. After failed work, the key waits for a full-jitter backoff of its own: no key delays another key.
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
  /** Works on the key. 'retry': the key is added again after a backoff. Must not throw. */
  readonly work: (key: string) => Promise<'done' | 'retry'>;
  /**
   * `any`: runs beside other keys of `any`. `doubtful`: runs beside other keys of `doubtful`. `apart`: runs alone. The last two run after all other keys
   * that wait. Absent: `any`.
   */
  readonly companyOf?: (key: string) => Company;
  /** No work begins before `resume`. */
  readonly isHeldBack?: boolean;
  /** Called when the work on a key has ended. */
  readonly ended?: (key: string) => void;
}

/** Shortest backoff. A cluster that has just refused something is not asked again at once. */
export const retryMinMs = 1_000;
/** Longest backoff. After many failures, the work is tried again every few minutes, without an end. */
export const retryMaxMs = 300_000;

/** The order in which the companies run. */
const companies: readonly Company[] = ['any', 'doubtful', 'apart'];
/** Greater than any result of `priority`. */
const lastPriority = 1_000_000;
/**
 * Added to the priority of keys that have failed. The work on many failed keys may take long each time, for example when a webhook does not answer. Without
 * this number, these keys would always be before others.
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

  /** Adds a key to work on. With `fresh`, earlier failures do not count any more, because the desired state has changed. */
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

  /** Lets work begin. */
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

  /** Resolves when no key waits that could be worked on now, and no work runs. Retries and delays may still be pending. */
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

  /** Starts work after the present call stack. So the keys of a batch are worked on by priority, and not in the order in which they are added. */
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
          // A worker must not throw. If it does, the process ends with the stack trace, instead of continuing without the key.
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

  /** Takes the first waiting key. Undefined: this key has to wait until running work ends. */
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
