/**
 * Health that changes by time alone: a pod without a node fails after a while (core/object/health.ts), and no event reports this. A timer looks at each such
 * object once more when its time is over. Later changes come with events, for example when an autoscaler adds a node.
 *
 * The creation time of the object comes from the cluster's clock, which may differ from this one. So no object waits longer than the whole window, counted
 * from the first event about it.
 *
 * Bound: one timer for each object that waits, and each timer fires once.
 */
import { health, type ObjectHealth } from '../../core/object/health.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';

interface HealthTimer {
  readonly uid: string;
  timer: Timer | undefined;
  /** The object has failed. Later states of the object count as failed too, until its health no longer depends on time. */
  isOverdue: boolean;
}

export class TimedHealth {
  readonly #clock: Clock;
  readonly #failed: (key: string) => void;
  /** By key. */
  readonly #waiting = new Map<string, HealthTimer>();

  /** `failed`: the object has failed by time. No event about it has come since the last call of `of`. */
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

/** The health of an object that has stayed in this state for too long. */
export function overdue({ reason, message }: ObjectHealth): ObjectHealth {
  return { state: 'Failed', reason, message };
}
