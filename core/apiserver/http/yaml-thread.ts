/**
 * Parses long YAML texts in a separate thread, one text after the other, with bounds for time and memory. The parser needs 3 s for 1.5 MB of short items,
 * and minutes for 1.5 MB of quotes. Because of the thread, the node continues to serve, and its sessions with children stay connected.
 */
import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { BanyanError, describeError, type ErrorCode } from '../../runtime/errors.ts';

export type YamlAnswer = { readonly json: string } | { readonly code: ErrorCode; readonly message: string };

/** On an idle processor, parsing a body with the maximal number of values takes 2 s, a fifth of this limit. */
const parseMsMax = 10_000;
/** Memory of the thread. For a text of short items, the parser needs about 300 bytes of memory per byte. A node with 256 MB must survive this. */
const heapMbMax = 128;
/** Maximal number of texts that wait. Each has at most 1.5 MB. In the worst case, the last text waits for a minute. */
const waitingMax = 6;
/** An idle thread is kept for this time. Starting a thread takes 0.1 s; an idle thread needs 10 MB. */
const idleMs = 10_000;

interface YamlJob {
  readonly text: string;
  resolve(json: string): void;
  reject(error: BanyanError): void;
}

export class YamlThread {
  readonly #clock: Clock;
  readonly #jobs: YamlJob[] = [];
  #worker: Worker | undefined;
  #timer: Timer | undefined;
  #isBusy = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The JSON of a YAML text. Throws BadRequest if the text is not valid, TooLarge if parsing needs too much time or memory, TooManyRequests if too many
   * texts wait.
   */
  read(text: string): Promise<string> {
    if (this.#jobs.length > waitingMax) {
      const message = `${waitingMax} large bodies in YAML wait to be read: send the body as JSON, or try again later`;
      return Promise.reject(new BanyanError('TooManyRequests', message, { retryAfterSeconds: 1 }));
    }
    return new Promise((resolve, reject) => {
      this.#jobs.push({ text, resolve, reject });
      this.#next();
    });
  }

  /** Refuses the waiting texts, and ends the thread. */
  end(): void {
    const jobs = this.#jobs.splice(0);
    this.#timer?.stop();
    void this.#worker?.terminate();
    this.#worker = undefined;
    for (const job of jobs) job.reject(new BanyanError('Unavailable', 'the node ends'));
  }

  #next(): void {
    const [job] = this.#jobs;
    if (this.#isBusy || !job) return;
    this.#isBusy = true;
    this.#timer?.stop();
    const worker = this.#worker ?? this.#started();
    worker.ref();
    worker.postMessage(job.text);
    this.#timer = this.#clock.after(parseMsMax, () => this.#fail(tooMuch(`more than ${parseMsMax} ms`)));
  }

  #started(): Worker {
    // In the bundle, the thread has a file of its own.
    const file = import.meta.url.endsWith('.ts') ? './yaml-worker.ts' : './yaml-worker.js';
    const worker = new Worker(new URL(file, import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax },
    });
    worker.on('message', (answer: YamlAnswer) => {
      if (worker === this.#worker) this.#settle(answer);
    });
    worker.on('error', (error: NodeJS.ErrnoException) => {
      if (worker !== this.#worker) return;
      const isFull = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      this.#fail(
        isFull ? tooMuch(`more than ${heapMbMax} MB of memory`) : new BanyanError('Internal', describeError(error)),
      );
    });
    this.#worker = worker;
    return worker;
  }

  #settle(answer: YamlAnswer): void {
    const job = this.#jobs.shift();
    if ('json' in answer) job?.resolve(answer.json);
    else job?.reject(new BanyanError(answer.code, answer.message));
    this.#rest();
  }

  #fail(error: BanyanError): void {
    void this.#worker?.terminate();
    this.#worker = undefined;
    this.#jobs.shift()?.reject(error);
    this.#rest();
  }

  /** Gives the thread the next text, or makes the thread idle. An idle thread does not keep the process alive. */
  #rest(): void {
    this.#isBusy = false;
    this.#timer?.stop();
    this.#worker?.unref();
    if (this.#jobs.length > 0) return this.#next();
    this.#timer = this.#clock.after(idleMs, () => {
      void this.#worker?.terminate();
      this.#worker = undefined;
    });
  }
}

function tooMuch(what: string): BanyanError {
  return new BanyanError(
    'TooLarge',
    `Request entity too large: to read this YAML takes ${what}: send the body as JSON`,
  );
}
