/** When new rows in the feeds of children are durable, wakes the sessions of these children. One flush is enough for all children that wait for it. */
import type { Clock } from '../runtime/clock.ts';
import { describeError } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Store } from '../store/store.ts';
import type { SessionRunner } from './runner.ts';

export interface WakesPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** The child's present session. */
  runnerOf(child: string): SessionRunner | undefined;
  /** Runs the function in a later turn of the event loop, after the work that waits already. */
  defer(run: () => void): void;
}

/**
 * Number of children whose batches are made in one turn of the event loop. With one entry for each child, they take half a millisecond. Batches leave the
 * process only at the end of the turn, so a larger number delays the first children: with 64, a hundred children waited for most of the whole work.
 */
const childrenPerTurn = 16;

/** Time after which a failed flush is tried again. A full disk may get room although nobody writes to this store. */
export const flushAgainMs = 1_000;

/** A child whose feed is durable up to `head`. */
interface Woken {
  readonly runner: SessionRunner;
  readonly head: number;
}

export class Wakes {
  readonly #ports: WakesPorts;
  readonly #awake = new Set<string>();
  #flushing = false;

  constructor(ports: WakesPorts) {
    this.#ports = ports;
  }

  wake(child: string): void {
    if (!this.#ports.runnerOf(child)) return;
    this.#awake.add(child);
    if (this.#flushing) return;
    this.#flushing = true;
    queueMicrotask(() => this.#flush());
  }

  /** After a failed flush, wakes the children again that still have a session. */
  #again(children: readonly string[]): void {
    const waiting = children.filter((child) => this.#ports.runnerOf(child));
    for (const child of waiting) this.#awake.add(child);
    if (this.#awake.size === 0) return;
    this.#flushing = true;
    this.#ports.clock.after(flushAgainMs, () => this.#flush());
  }

  /** Serves a few children in each turn. So the batches of the first children are already on the line while the batches of the last ones are made. */
  #produced(woken: readonly Woken[]): void {
    for (const { runner, head } of woken.slice(0, childrenPerTurn)) runner.produced(head);
    const rest = woken.slice(childrenPerTurn);
    if (rest.length > 0) this.#ports.defer(() => this.#produced(rest));
  }

  #flush(): void {
    const { store } = this.#ports;
    const awake = [...this.#awake].flatMap((child) => {
      const runner = this.#ports.runnerOf(child);
      return runner ? [{ child, runner }] : [];
    });
    this.#awake.clear();
    if (awake.length === 0) {
      this.#flushing = false;
      return;
    }
    const woken = store.read((reader) => awake.map(({ runner }) => ({ runner, head: runner.producerHead(reader) })));
    store.flushed().then(
      () => {
        this.#flushing = false;
        this.#produced(woken);
        if (this.#awake.size > 0) {
          this.#flushing = true;
          this.#flush();
        }
      },
      (error: unknown) => {
        this.#flushing = false;
        this.#ports.log.error(
          { reason: describeError(error) },
          'new rows could not be made durable: none of them is sent',
        );
        this.#again(awake.map(({ child }) => child));
      },
    );
  }
}
