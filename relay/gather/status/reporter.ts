/**
 * Decides when the state of a placement is reported: up to the parent, into the status of an own EdgePlacement, and to the read-only views. A placement
 * that changes now and then is reported at once. A placement that changes all the time is reported at most once a second after a short burst, but an urgent
 * report does not wait. The same class reports the summaries that users define, and exact statuses at a rate of their own.
 */

import type { PlacementId } from '../../../core/entries/placement-id.ts';
import type { Clock, Timer } from '../../../core/runtime/clock.ts';
import { CoalescedTask } from '../../../core/runtime/coalesced-task.ts';
import { TokenBucket } from '../../../core/runtime/token-bucket.ts';
import { lacksRoom, roomAgainMs } from '../../../core/store/room.ts';

/** How often one key is reported. */
export interface ReportRate {
  /** Limit for reports without delay. It is high enough for all stages of one change (stored, applied, available). */
  readonly burst: number;
  /** After the burst: one report in this time, while the key goes on changing. */
  readonly intervalMs: number;
}

/** The rate for sums. A sum changes with each destination, and nobody follows each of its values. */
const sumRate: ReportRate = { burst: 6, intervalMs: 1_000 };
/**
 * The rate for one object at one destination that somebody has asked to follow. While the object changes all the time, a tree of five levels adds a delay of a
 * quarter of a second.
 */
export const exactRate: ReportRate = { burst: 6, intervalMs: 50 };

export interface ReporterPorts {
  readonly clock: Clock;
  readonly rate?: ReportRate;
  /** Runs the function in a later turn, after the work that already waits. */
  defer(run: () => void): void;
  /** Returns whether the report of the key must not wait for its turn by the rate. Absent: no report is urgent. */
  isUrgent?(id: PlacementId): boolean;
  /** Reports all of these together. If it throws because the disk is full, all of them are reported again. */
  report(ids: readonly PlacementId[]): void;
  /** Called when `report` throws any other error: the store is broken. */
  failed(error: unknown): void;
}

/**
 * Limit for the placements reported in one turn; then other work runs. A status in an own space takes half a millisecond, and a child that connects or
 * disconnects may change a thousand of them at once.
 */
const perTurnMax = 64;
/** Time between two sweeps. A bucket that is not used is full again after a few sweeps. */
const sweepMs = 1_000;

export class StatusReporter {
  readonly #ports: ReporterPorts;
  readonly #rate: ReportRate;
  readonly #dirty = new Set<PlacementId>();
  /** Keys that have changed again too early: they wait for the timer. */
  readonly #waiting = new Set<PlacementId>();
  readonly #buckets = new Map<PlacementId, TokenBucket>();
  #timer: Timer | undefined;
  #wakesAtMs = 0;
  /** After a report for which the disk had no room, nothing is urgent until this time. */
  #roomAtMs = Number.NEGATIVE_INFINITY;
  #sweptAtMs = Number.NEGATIVE_INFINITY;
  readonly #turn: CoalescedTask;

  constructor(ports: ReporterPorts) {
    this.#ports = ports;
    this.#rate = ports.rate ?? sumRate;
    this.#turn = new CoalescedTask(
      (run) => ports.defer(run),
      () => this.#run(),
    );
  }

  mark(id: PlacementId): void {
    if (this.#waiting.has(id) && !this.#ports.isUrgent) return;
    this.#dirty.add(id);
    this.#turn.ask();
  }

  stop(): void {
    this.#turn.stop();
    this.#timer?.stop();
  }

  #run(): void {
    const nowMs = this.#ports.clock.monotonicMs();
    const { burst, intervalMs } = this.#rate;
    const due: PlacementId[] = [];
    let waitMs = Number.POSITIVE_INFINITY;
    for (const id of this.#dirty) {
      if (due.length === perTurnMax) {
        this.#turn.ask();
        break;
      }
      this.#dirty.delete(id);
      const bucket = this.#buckets.get(id) ?? new TokenBucket(burst, intervalMs, nowMs);
      this.#buckets.set(id, bucket);
      const isWaiting = this.#waiting.has(id);
      const delayMs = isWaiting ? Number.POSITIVE_INFINITY : bucket.take(nowMs);
      if (delayMs === 0 || this.#isUrgent(id, nowMs)) {
        this.#waiting.delete(id);
        due.push(id);
      } else if (!isWaiting) {
        this.#waiting.add(id);
        waitMs = Math.min(waitMs, delayMs);
      }
    }
    this.#sweep(nowMs);
    if (due.length > 0) this.#report(due, nowMs);
    if (Number.isFinite(waitMs)) this.#await(nowMs + waitMs);
  }

  #isUrgent(id: PlacementId, nowMs: number): boolean {
    return nowMs >= this.#roomAtMs && this.#ports.isUrgent?.(id) === true;
  }

  #report(due: readonly PlacementId[], nowMs: number): void {
    try {
      this.#ports.report(due);
    } catch (error) {
      if (!lacksRoom(error)) return this.#ports.failed(error);
      for (const id of due) this.#waiting.add(id);
      this.#roomAtMs = nowMs + roomAgainMs;
      this.#await(this.#roomAtMs);
    }
  }

  /** Deletes the buckets that nobody needs any more. It does not run in every turn, because every recently reported placement has a bucket. */
  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptAtMs < sweepMs) return;
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
