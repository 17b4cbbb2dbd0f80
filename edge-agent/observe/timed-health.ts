/**
 * Health that changes only because time passes: a pod without a node fails after some time (core/object/health.ts), and no event reports this. A timer judges
 * each such object again when its time has passed. All other changes cause events, for example when an autoscaler adds a node.
 *
 * The creation time of the object comes from the cluster's clock, which may differ from the agent's clock. So no object waits longer than the whole window,
 * counted from the first event about the object.
 *
 * Bound: one timer for each object that waits, and each timer fires once.
 */
import { health, type ObjectHealth } from '../../core/object/health.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';

interface HealthTimer {
  readonly uid: string;
  timer: Timer | undefined;
  /** True: the object has failed. Further states of the object count as failed too, until its health does not depend on time any more. */
  isOverdue: boolean;
}

export class TimedHealth {
  readonly #clock: Clock;
  readonly #failed: (key: string) => void;
  /** Keyed by object key. */
  readonly #waiting = new Map<string, HealthTimer>();

  /** `failed` is called when the object has failed because its time has passed. No event about the object has arrived since the last call of `of`. */
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
