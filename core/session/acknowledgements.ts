/**
 * Writes the acknowledgements of peers into the store. Only the removal of tombstones waits for this write, so the write is not urgent, and a crash may lose
 * it. So acknowledgements are collected for a short time. Then one transaction, for all sessions of the node, writes the newest cursor of each session.
 */
import type { Clock, Timer } from '../runtime/clock.ts';
import { BanyanError } from '../runtime/errors.ts';
import type { Store, Transaction } from '../store/store.ts';

/** Delay of the write. 50 ms are half of the time that a person perceives as immediate, and much longer than the time between two messages of a session. */
export const acknowledgedWithinMs = 50;
/** Limit for the sessions in one transaction, which takes about 2 ms. The other sessions wait for the next turn. */
const sessionsPerTurn = 512;

/** A session whose peer sends acknowledgements. */
export interface AcknowledgingSession {
  /** Writes the acknowledgement. If it throws a BanyanError, it has written nothing. */
  write(t: Transaction, cursor: number): void;
  /** Called after the commit of a transaction in which `write` did not throw. From now on, readers of the store find the acknowledgement. */
  written(): void;
  /** Called when `write` threw (for example because a newer session has taken over), or when the store refused the transaction (for example closed). */
  failed(error: BanyanError): void;
}

export class Acknowledgements {
  readonly #store: Store;
  readonly #clock: Clock;
  /**
   * The highest acknowledged cursor of each session; it includes all lower ones. A lower cursor may arrive after a higher one, because the flushes of a child
   * may complete in any order. Bound: one entry for each session.
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

/** Runs the write of one session and returns its error. Other errors are of the store itself: they pass through, because they end the whole transaction. */
function refusal(act: () => void): BanyanError | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    if (error instanceof BanyanError && (error.code === 'Conflict' || error.code === 'Protocol')) return error;
    throw error;
  }
}
