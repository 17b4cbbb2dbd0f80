/**
 * What peers have acknowledged, on its way into the store. Nothing waits for it but tombstones, which stay that much longer, and a crash that takes it
 * costs as little: so it is written a moment later, once for what came meanwhile, for all sessions of a node in one transaction.
 */
import type { Clock, Timer } from '../runtime/clock.ts';
import { BanyanError } from '../runtime/errors.ts';
import type { Store, Transaction } from '../store/store.ts';

/** Half of what a person takes for at once, and long against the time between two messages of one session. */
export const acknowledgedWithinMs = 50;
/** Sessions whose acknowledgements are written in one transaction; the next ones have the next turn. Some 2 ms. */
const sessionsPerTurn = 512;

/** A session, as who acknowledges. */
export interface Acknowledged {
  /** Throws a BanyanError before it has written anything, or not at all. */
  write(t: Transaction, cursor: number): void;
  /** After the transaction in which it did not throw: whoever reads finds it. */
  written(): void;
  /** It threw, or the store takes nothing: a newer session has taken over, or the store is gone. */
  failed(error: BanyanError): void;
}

export class Acknowledgements {
  readonly #store: Store;
  readonly #clock: Clock;
  /** The greatest of each session says all: flushes of the child may be done in another order than they were asked for. Bound: one for each session. */
  #cursors = new Map<Acknowledged, number>();
  #timer: Timer | undefined;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  note(session: Acknowledged, cursor: number): void {
    this.#cursors.set(session, Math.max(cursor, this.#cursors.get(session) ?? 0));
    this.#timer ??= this.#clock.after(acknowledgedWithinMs, () => this.#turn());
  }

  /** Writes what is left of a session now. */
  settle(session: Acknowledged): void {
    const cursor = this.#cursors.get(session);
    if (cursor === undefined) return;
    this.#cursors.delete(session);
    this.#write([[session, cursor]]);
  }

  #turn(): void {
    const all = [...this.#cursors];
    this.#cursors = new Map(all.slice(sessionsPerTurn));
    this.#timer = this.#cursors.size > 0 ? this.#clock.after(0, () => this.#turn()) : undefined;
    this.#write(all.slice(0, sessionsPerTurn));
  }

  #write(noted: readonly (readonly [Acknowledged, number])[]): void {
    const written: Acknowledged[] = [];
    const failures: [Acknowledged, BanyanError][] = [];
    try {
      this.#store.write((t) => {
        for (const [session, cursor] of noted) {
          const error = refusal(() => session.write(t, cursor));
          if (error) failures.push([session, error]);
          else written.push(session);
        }
      });
    } catch (error) {
      if (!(error instanceof BanyanError)) throw error;
      for (const [session] of noted) session.failed(error);
      return;
    }
    for (const session of written) session.written();
    for (const [session, error] of failures) session.failed(error);
  }
}

/** Of the store itself passes through: the transaction is over. */
function refusal(act: () => void): BanyanError | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    if (error instanceof BanyanError && (error.code === 'Conflict' || error.code === 'Protocol')) return error;
    throw error;
  }
}
