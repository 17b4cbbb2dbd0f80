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
  /** Those that have changed again too early: nobody looks at them before the timer. */
  readonly #waiting = new Set<PlacementId>();
  readonly #buckets = new Map<PlacementId, TokenBucket>();
  #timer: Timer | undefined;
  #wakesAtMs = 0;
  #sweptAtMs = Number.NEGATIVE_INFINITY;
  readonly #turn: Turn;

  constructor(ports: ReporterPorts) {
    this.#ports = ports;
    this.#turn = new Turn(
      (run) => ports.soon(run),
      () => this.#run(),
    );
  }

  mark(id: PlacementId): void {
    if (this.#waiting.has(id)) return;
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
      if (delayMs === 0) {
        due.push(id);
      } else {
        this.#waiting.add(id);
        waitMs = Math.min(waitMs, delayMs);
      }
    }
    this.#dirty.clear();
    this.#sweep(nowMs);
    if (due.length > 0) this.#ports.report(due);
    if (Number.isFinite(waitMs)) this.#await(nowMs + waitMs);
  }

  /** Of the buckets that nobody needs any more: at most once an interval, for there is one for each placement that was told of lately. */
  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptAtMs < intervalMs) return;
    this.#sweptAtMs = nowMs;
    for (const [id, bucket] of this.#buckets) {
      if (!this.#waiting.has(id) && bucket.isIdle(nowMs)) this.#buckets.delete(id);
    }
  }

  #await(atMs: number): void {
    if (this.#timer && this.#wakesAtMs <= atMs) return;
    this.#timer?.stop();
    this.#wakesAtMs = atMs;
    this.#timer = this.#ports.clock.after(Math.max(0, atMs - this.#ports.clock.monotonicMs()), () => {
      this.#timer = undefined;
      for (const id of this.#waiting) this.#dirty.add(id);
      this.#waiting.clear();
      this.#turn.ask();
    });
  }
}
