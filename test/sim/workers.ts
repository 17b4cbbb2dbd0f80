/** Processes that run seeds, so that all cores have work. Results arrive in the order of the seeds. */
import { type ChildProcess, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import type { Mode, Plan } from './plan/plan.ts';
import type { Counted } from './reach/counts.ts';
import type { Outcome } from './simulate.ts';

/** A list of seeds. It computes a seed from its index, so that a million seeds need no memory. */
export interface SeedList {
  readonly length: number;
  at(index: number): number;
}

export interface WorkerOptions {
  readonly mode: Mode;
  readonly coverage: boolean;
  readonly canary?: string;
}

export type Request =
  | { readonly do: 'run'; readonly index: number; readonly seed: number }
  | { readonly do: 'shrink'; readonly seed: number }
  | { readonly do: 'coverage' };

export type Answer =
  | { readonly did: 'run'; readonly index: number; readonly outcome: Outcome }
  | { readonly did: 'shrink'; readonly plan: Plan; readonly outcome: Outcome }
  | { readonly did: 'coverage'; readonly counted: Counted };

/** How many runs a worker may be ahead of the consumer. A long run must not stop the other workers, and results must not pile up. */
const aheadMax = 64;

/** A run makes many snapshots that are garbage soon. With a small young generation, a tenth of the time would be spent on copying them. */
const execArgv = [...process.execArgv, '--max-semi-space-size=64'];

export class Workers implements AsyncDisposable {
  readonly #processes: readonly ChildProcess[];

  constructor({ mode, coverage, canary }: WorkerOptions) {
    const args = [mode, canary ?? '', coverage ? 'coverage' : ''];
    const count = Math.min(availableParallelism(), 8);
    const file = new URL('worker.ts', import.meta.url);
    this.#processes = Array.from({ length: count }, () => fork(file, args, { serialization: 'advanced', execArgv }));
  }

  /** Runs the seeds. Ends early when the consumer stops, or when `isOver` returns true. */
  async *run(seeds: SeedList, isOver: () => boolean): AsyncGenerator<Outcome> {
    const done = new Map<number, Outcome>();
    let next = 0;
    let taken = 0;
    let failure: Error | undefined;
    let arrived = () => {};
    const idle = new Set<ChildProcess>(this.#processes);
    const feed = () => {
      for (const process of idle) {
        if (next >= seeds.length || next - taken >= aheadMax * this.#processes.length || isOver()) return;
        idle.delete(process);
        process.send({ do: 'run', index: next, seed: seeds.at(next) } satisfies Request);
        next++;
      }
    };
    const stops = this.#processes.map((process) => {
      const onMessage = (answer: Answer) => {
        if (answer.did !== 'run') return;
        done.set(answer.index, answer.outcome);
        idle.add(process);
        feed();
        arrived();
      };
      const onExit = (code: number | null) => {
        failure = new Error(`a worker of the simulation ended with code ${code}`);
        arrived();
      };
      process.on('message', onMessage).once('exit', onExit);
      return () => process.off('message', onMessage).off('exit', onExit);
    });
    try {
      feed();
      while (taken < seeds.length) {
        const outcome = done.get(taken);
        if (failure) throw failure;
        if (outcome) {
          done.delete(taken++);
          yield outcome;
          feed();
        } else if (taken === next && isOver()) {
          return;
        } else {
          await new Promise<void>((resolve) => {
            arrived = resolve;
          });
        }
      }
    } finally {
      for (const stop of stops) stop();
    }
  }

  /** Returns a smaller plan that fails in the same way. */
  shrink(seed: number): Promise<Answer & { did: 'shrink' }> {
    return ask(this.#processes[0]!, { do: 'shrink', seed }, 'shrink');
  }

  coverage(): Promise<readonly Counted[]> {
    return Promise.all(
      this.#processes.map(async (process) => (await ask(process, { do: 'coverage' }, 'coverage')).counted),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const process of this.#processes) process.kill();
  }
}

function ask<D extends Answer['did']>(process: ChildProcess, request: Request, did: D): Promise<Answer & { did: D }> {
  return new Promise((resolve, reject) => {
    const onMessage = (answer: Answer) => {
      if (answer.did !== did) return;
      process.off('message', onMessage);
      resolve(answer as Answer & { did: D });
    };
    process.on('message', onMessage).once('exit', () => reject(new Error('a worker of the simulation ended')));
    process.send(request);
  });
}
