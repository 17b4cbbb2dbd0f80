/**
 * Health that changes by time alone: a pod without a node has failed after a while (core/object/health.ts), and no event tells of that. Each such object is looked
 * at once more when its time has come; what it is later comes with its events, as where an autoscaler adds a node.
 *
 * The time of the object is by the cluster's clock, which may differ from this one: nothing waits longer than the whole window from when it was seen first.
 *
 * Bound: one timer for each object that waits, and each of them once.
 */
import { health, type ObjectHealth } from '../../core/object/health.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';

interface HealthTimer {
  readonly uid: string;
  timer: Timer | undefined;
  /** It has failed; so does what is told of it from now on, until it is otherwise. */
  isOverdue: boolean;
}

export class TimedHealth {
  readonly #clock: Clock;
  readonly #failed: (key: string) => void;
  /** By key. */
  readonly #waiting = new Map<string, HealthTimer>();

  /** `failed`: the object has, and nothing else has been told of it since its health was asked for. */
  constructor(clock: Clock, failed: (key: string) => void) {
    this.#clock = clock;
    this.#failed = failed;
  }

  of(key: string, object: KubeObject): ObjectHealth {
    const judged = health(object);
    const { failsAfterMs } = judged;
    if (failsAfterMs === undefined) {
      this.forget(key);
      return judged;
    }
    return this.#waitFor(key, object, failsAfterMs).isOverdue ? overdue(judged) : judged;
  }

  forget(key: string): void {
    this.#waiting.get(key)?.timer?.stop();
    this.#waiting.delete(key);
  }

  stop(): void {
    for (const { timer } of this.#waiting.values()) timer?.stop();
    this.#waiting.clear();
  }

  #waitFor(key: string, { metadata }: KubeObject, windowMs: number): HealthTimer {
    const { uid = '', creationTimestamp } = metadata;
    const before = this.#waiting.get(key);
    if (before?.uid === uid) return before;
    before?.timer?.stop();
    const ageMs = this.#clock.wallMs() - Date.parse(creationTimestamp ?? '');
    const leftMs = Number.isNaN(ageMs) ? windowMs : Math.min(windowMs - ageMs, windowMs);
    const waiting: HealthTimer = { uid, timer: undefined, isOverdue: leftMs <= 0 };
    if (!waiting.isOverdue) {
      waiting.timer = this.#clock.after(leftMs, () => {
        waiting.isOverdue = true;
        this.#failed(key);
      });
    }
    this.#waiting.set(key, waiting);
    return waiting;
  }
}

/** The same, when it has stayed so for too long. */
export function overdue({ reason, message }: ObjectHealth): ObjectHealth {
  return { state: 'Failed', reason, message };
}
