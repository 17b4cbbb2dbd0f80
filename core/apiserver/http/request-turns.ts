/**
 * Gives the thread to one request at a time. Between two requests, the thread handles everything else that has come: frames of sessions, timers, other
 * connections. So a client that sends many heavy requests delays the rest of the node by one of them at most.
 */
import { type Asking, FairQueue } from './fair-queue.ts';

interface Turn {
  go(): void;
  /** True if the client has closed the connection. */
  isGone(): boolean;
}

export class RequestTurns {
  readonly #queue = new FairQueue<Turn>();
  readonly #afterOthers: (act: () => void) => void;
  #isTaken = false;

  /** `afterOthers` calls `act` after the thread has handled everything that has come until then. */
  constructor(afterOthers: (act: () => void) => void = setImmediate) {
    this.#afterOthers = afterOthers;
  }

  /**
   * Resolves when the request has its turn: the synchronous work that follows. Rejects with TooManyRequests if too many requests wait. Never resolves if the
   * client closes the connection before.
   */
  take(asking: Asking, isGone: () => boolean): Promise<void> {
    if (!this.#isTaken) {
      this.#begin();
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#queue.add(asking, { go: resolve, isGone }));
  }

  #begin(): void {
    this.#isTaken = true;
    this.#afterOthers(() => this.#end());
  }

  #end(): void {
    this.#isTaken = false;
    for (let turn = this.#queue.next(); turn; turn = this.#queue.next()) {
      if (turn.isGone()) continue;
      this.#begin();
      turn.go();
      return;
    }
  }
}
