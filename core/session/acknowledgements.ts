/**
 * Writes what peers have acknowledged into the store. Only tombstones wait for this write, and stay a little longer. A crash that loses the write costs just
 * as little. So each acknowledgement is written a moment after it came: one transaction for all sessions of a node writes the newest cursor of each session.
 */
import type { Clock, Timer } from '../runtime/clock.ts';
import { BanyanError } from '../runtime/errors.ts';
import type { Store, Transaction } from '../store/store.ts';

/** Half of the time that a person perceives as immediate, and long compared to the time between two messages of one session. */
export const acknowledgedWithinMs = 50;
/** Sessions whose acknowledgements one transaction writes, in some 2 ms. The other sessions wait for the next turn. */
const sessionsPerTurn = 512;

/** The session whose peer acknowledges. */
export interface AcknowledgingSession {
  /** Either writes everything, or throws a BanyanError before it has written anything. */
  write(t: Transaction, cursor: number): void;
  /** Called after the commit of a transaction in which `write` did not throw. From now on, readers of the store find the acknowledgement. */
  written(): void;
  /** `write` threw, or the store takes nothing: a newer session has taken over, or the store is closed. */
  failed(error: BanyanError): void;
}

export class Acknowledgements {
  readonly #store: Store;
  readonly #clock: Clock;
  /**
   * The highest cursor of each session, which includes all lower ones. The flushes of a child may complete in another order than they were requested. Bound:
   * one entry for each session.
   */
  #cursors = new Map<AcknowledgingSession, number>();
  #timer: Timer | undefined;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  note(session: AcknowledgingSession, cursor: number): void {
    this.#cursors.set(session, Math.max(cursor, this.#cursors.get(session) ?? 0));
    this.#timer ??= this.#clock.after(acknowledgedWithinMs, () => this.#turn());
  }

  /** Writes the pending acknowledgement of one session at once. */
  settle(session: AcknowledgingSession): void {
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

  #write(pending: readonly (readonly [AcknowledgingSession, number])[]): void {
    const written: AcknowledgingSession[] = [];
    const failures: [AcknowledgingSession, BanyanError][] = [];
    try {
      this.#store.write((t) => {
        for (const [session, cursor] of pending) {
          const error = refusal(() => session.write(t, cursor));
          if (error) failures.push([session, error]);
          else written.push(session);
        }
      });
    } catch (error) {
      if (!(error instanceof BanyanError)) throw error;
      for (const [session] of pending) session.failed(error);
      return;
    }
    for (const session of written) session.written();
    for (const [session, error] of failures) session.failed(error);
  }
}

/** An error of the store itself passes through, because the transaction is over. */
function refusal(act: () => void): BanyanError | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    if (error instanceof BanyanError && (error.code === 'Conflict' || error.code === 'Protocol')) return error;
    throw error;
  }
}
