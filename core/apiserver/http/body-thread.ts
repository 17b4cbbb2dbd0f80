/**
 * Reads long bodies, and encodes long answers, in a separate thread, one after the other, with bounds for time and memory. The YAML parser needs 3 s for 1.5 MB of short items, and
 * minutes for 1.5 MB of quotes. A write of an object with 45,000 keys needs 0.3 s. Because of the thread, the node continues to serve, and its sessions with
 * children stay connected.
 */
import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { BanyanError, type ErrorCode, type ErrorDetails } from '../../runtime/errors.ts';
import { type Asking, FairQueue, type QueueBounds } from './fair-queue.ts';
import type { Encoding } from './negotiate.ts';
import type { ThreadWrite, ThreadWritten } from './thread-write.ts';

interface ToEncode {
  readonly encoding: Encoding;
  readonly json: Uint8Array;
}
export type BodyQuestion =
  | { readonly type: 'yaml'; readonly text: string }
  | { readonly type: 'write'; readonly write: ThreadWrite }
  | ({ readonly type: 'encode' } & ToEncode);
export type BodyAnswer =
  | { readonly json: string }
  | { readonly written: ThreadWritten }
  | { readonly encoded: Uint8Array | undefined }
  | { readonly code: ErrorCode; readonly message: string; readonly details: ErrorDetails };

/** Processor time of one body. The worst body takes 2 s, a tenth of this limit. */
const workMsMax = 20_000;
/** On a busy machine, the thread gets a part of a processor only. After so many times `workMsMax`, clients wait no longer. */
const looksMax = 6;
/** Memory of the thread. For a text of short items, the YAML parser needs about 300 bytes of memory per byte. A node with 256 MB must survive this. */
const heapMbMax = 128;
/**
 * Bounds of what waits: five bodies of the maximal length for each flow, and 20 for all. They are half of the bounds of the other thread, because both can be
 * reached at once. All bodies take long, so none is light.
 */
const waitingBounds: QueueBounds = {
  flowWaiting: 100,
  waiting: 400,
  flowBytes: 8 * 1024 * 1024,
  bytes: 32 * 1024 * 1024,
  heavyBytes: 0,
};
/** An idle thread is kept for this time. Starting a thread takes up to 0.5 s; an idle thread needs 10 to 30 MB. */
const idleMs = 10_000;

/** What the program of the thread sends. `usedMs`: the processor time that the thread has used since its start. */
export interface FromThread {
  readonly answer: BodyAnswer;
  readonly usedMs: number;
}

/** What the thread does for a job, and what a client can do if this takes too much. */
interface Heavy {
  readonly doing: string;
  readonly remedy: string;
}
const reading: Heavy = { doing: 'to read this body', remedy: 'split the object, or send JSON instead of YAML' };
const encoding: Heavy = {
  doing: 'to encode this answer',
  remedy: 'list in chunks (limit), or accept application/json',
};

interface Job {
  /** Called when the thread is free. So the question contains the newest state of what it is about. */
  question(): BodyQuestion;
  isGone(): boolean;
  readonly heavy: Heavy;
  resolve(answer: BodyAnswer): void;
  reject(error: unknown): void;
}

export class BodyThread {
  readonly #clock: Clock;
  readonly #usedMsOf: (worker: Worker) => Promise<number>;
  readonly #waiting = new FairQueue<Job>(waitingBounds);
  #job: Job | undefined;
  #worker: Worker | undefined;
  #timer: Timer | undefined;
  /** The processor time of the thread before the present body. */
  #usedBeforeMs = 0;

  /** `usedMsOf`: the processor time that a thread has used since its start. */
  constructor(clock: Clock, usedMsOf = processorMsOf) {
    this.#clock = clock;
    this.#usedMsOf = usedMsOf;
  }

  /**
   * The JSON of a YAML text. Throws BadRequest if the text is not valid, TooLarge if parsing needs too much time or memory, TooManyRequests if too many
   * bodies wait.
   */
  async readYaml(asking: Asking, text: string, isGone: () => boolean): Promise<string> {
    const answer = await this.#ask(asking, () => ({ type: 'yaml', text }), isGone);
    return (answer as { json: string }).json;
  }

  /** Does the write as far as the thread can. `write` is called when the thread is free. Throws like `readYaml`, and every error of the write. */
  async write(asking: Asking, write: () => ThreadWrite, isGone: () => boolean): Promise<ThreadWritten> {
    const answer = await this.#ask(asking, () => ({ type: 'write', write: write() }), isGone);
    return (answer as { written: ThreadWritten }).written;
  }

  /** The JSON of an object in another encoding. Undefined: its kind has no such form. Throws like `readYaml`. */
  async encode(asking: Asking, what: ToEncode, isGone: () => boolean): Promise<Buffer | undefined> {
    const answer = await this.#ask(asking, () => ({ type: 'encode', ...what }), isGone, encoding);
    const { encoded } = answer as { encoded: Uint8Array | undefined };
    return encoded && Buffer.from(encoded);
  }

  /** Refuses the waiting bodies, and ends the thread. */
  end(): void {
    this.#timer?.stop();
    void this.#worker?.terminate();
    this.#worker = undefined;
    const error = new BanyanError('Unavailable', 'the node ends');
    this.#job?.reject(error);
    this.#job = undefined;
    for (let job = this.#waiting.next(); job; job = this.#waiting.next()) job.reject(error);
  }

  /** Never resolves if the client closes the connection before the thread begins. */
  #ask(asking: Asking, question: () => BodyQuestion, isGone: () => boolean, heavy = reading): Promise<BodyAnswer> {
    return new Promise((resolve, reject) => {
      this.#waiting.add(asking, { question, isGone, heavy, resolve, reject });
      this.#next();
    });
  }

  #next(): void {
    while (!this.#job) {
      const job = this.#waiting.next();
      if (!job) return;
      if (job.isGone()) continue;
      try {
        const question = job.question();
        this.#begin(job, question);
      } catch (error) {
        job.reject(error);
      }
    }
  }

  #begin(job: Job, question: BodyQuestion): void {
    this.#timer?.stop();
    const worker = this.#worker ?? this.#started();
    worker.ref();
    worker.postMessage(question);
    this.#job = job;
    this.#limit(job, worker, 1);
  }

  #limit(job: Job, worker: Worker, looks: number): void {
    this.#timer = this.#clock.after(workMsMax, () => void this.#look(job, worker, looks));
  }

  async #look(job: Job, worker: Worker, looks: number): Promise<void> {
    // If the thread has ended meanwhile, its error says why.
    const usedMs = await this.#usedMsOf(worker).catch(() => 0);
    if (job !== this.#job) return;
    if (looks < looksMax && usedMs - this.#usedBeforeMs < workMsMax) this.#limit(job, worker, looks + 1);
    else this.#fail(tooMuch(job, `more than ${workMsMax} ms`));
  }

  #started(): Worker {
    // In the bundle, the thread has a file of its own.
    const file = import.meta.url.endsWith('.ts') ? './body-worker.ts' : './body-worker.js';
    const worker = new Worker(new URL(file, import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax },
    });
    worker.on('message', ({ answer, usedMs }: FromThread) => {
      if (worker !== this.#worker) return;
      this.#usedBeforeMs = usedMs;
      this.#settle(answer);
    });
    worker.on('error', (error: NodeJS.ErrnoException) => {
      if (worker !== this.#worker) return;
      // Any other error is one of the program. Who asked gets it as it is, so that it is logged.
      const job = this.#job;
      const isFull = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      this.#fail(job && isFull ? tooMuch(job, `more than ${heapMbMax} MB of memory`) : error);
    });
    this.#worker = worker;
    this.#usedBeforeMs = 0;
    return worker;
  }

  #settle(answer: BodyAnswer): void {
    const job = this.#job;
    this.#job = undefined;
    if ('code' in answer) job?.reject(new BanyanError(answer.code, answer.message, answer.details));
    else job?.resolve(answer);
    this.#rest();
  }

  #fail(error: Error): void {
    void this.#worker?.terminate();
    this.#worker = undefined;
    this.#job?.reject(error);
    this.#job = undefined;
    this.#rest();
  }

  /** Gives the thread the next body, or makes the thread idle. An idle thread does not keep the process alive. */
  #rest(): void {
    this.#timer?.stop();
    this.#worker?.unref();
    this.#next();
    if (this.#job) return;
    this.#timer = this.#clock.after(idleMs, () => {
      void this.#worker?.terminate();
      this.#worker = undefined;
    });
  }
}

async function processorMsOf(worker: Worker): Promise<number> {
  const { user, system } = await worker.cpuUsage();
  return (user + system) / 1_000;
}

function tooMuch({ heavy: { doing, remedy } }: Job, what: string): BanyanError {
  return new BanyanError('TooLarge', `Request entity too large: ${doing} takes ${what}: ${remedy}`);
}
