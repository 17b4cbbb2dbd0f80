/**
 * Tells the node's own partial of each placement: up to the parent, into the status of an own EdgePlacement, and to
 * the read-only views. A placement that changes all the time is told at most once a second after a short burst; one that changes now and then at once.
 */
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { TokenBucket } from '../../core/runtime/token-bucket.ts';
import { Turn } from '../../core/runtime/turn.ts';
import type { PlacementId } from '../../core/wire/entries.ts';

/** Enough that the stages of one change (stored, applied, available) pass without waiting. */
const burst = 6;
/** The brief's "at most one a second per key". */
const intervalMs = 1_000;

export interface ReporterPorts {
  readonly clock: Clock;
  /** Calls back soon, after what waits already. */
  soon(run: () => void): void;
  /** Tells all of these in one transaction. */
  report(ids: readonly PlacementId[]): void;
}

export class Reporter {
  readonly #ports: ReporterPorts;
  readonly #dirty = new Set<PlacementId>();
  readonly #buckets = new Map<PlacementId, TokenBucket>();
  #timer: Timer | undefined;
  readonly #turn: Turn;

  constructor(ports: ReporterPorts) {
    this.#ports = ports;
    this.#turn = new Turn(
      (run) => ports.soon(run),
      () => this.#run(),
    );
  }

  mark(id: PlacementId): void {
    this.#dirty.add(id);
    this.#turn.ask();
  }

  stop(): void {
    this.#turn.stop();
    this.#timer?.stop();
  }

  #run(): void {
    const nowMs = this.#ports.clock.monotonicMs();
    const due: PlacementId[] = [];
    let waitMs = Number.POSITIVE_INFINITY;
    for (const id of this.#dirty) {
      const bucket = this.#buckets.get(id) ?? new TokenBucket(burst, intervalMs, nowMs);
      this.#buckets.set(id, bucket);
      const delayMs = bucket.take(nowMs);
      if (delayMs === 0) due.push(id);
      else waitMs = Math.min(waitMs, delayMs);
    }
    for (const id of due) this.#dirty.delete(id);
    for (const [id, bucket] of this.#buckets)
      if (!this.#dirty.has(id) && bucket.isIdle(nowMs)) this.#buckets.delete(id);
    if (due.length > 0) this.#ports.report(due);
    this.#timer?.stop();
    if (this.#dirty.size > 0) this.#timer = this.#ports.clock.after(waitMs, () => this.#turn.ask());
  }
}
