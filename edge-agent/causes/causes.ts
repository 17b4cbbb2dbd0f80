/**
 * Finds out why placed objects do not become available. For a workload, the object itself says only that some pods are missing. The cause is in its pods, and
 * the agent does not watch those: a watch of all pods of a cluster would cost more than everything else that the agent does. So the agent asks, and only about
 * a workload that has not been available for some time.
 *
 * Bounds: one look at a time, at most one look a second, at most four requests a look, and at most `podsMax` pods in memory. The looks at one workload become
 * rarer while the cause stays the same.
 */
import type { ObjectHealth } from '../../core/object/health.ts';
import { parseKey } from '../../core/object/key.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { describeError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Cluster } from '../cluster/cluster.ts';
import {
  commonTrouble,
  podsOf,
  presentPods,
  type WaitCause,
  warningOf,
  workloadCause,
  workloadResources,
} from './workload-cause.ts';

export interface CausesPorts {
  readonly cluster: Pick<Cluster, 'get' | 'find'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when the result of `of` for this object has changed. */
  changed(key: string): void;
}

/** Most workloads become available within this time. A look before this time would find pods that are being started. */
const firstLookMs = 10_000;
/** An object of any kind that waits for longer than this is worth naming, even if no cause is found. */
const slowMs = 60_000;
/** Shortest time between two looks at one workload, also if its status changes all the time. */
const againMs = 30_000;
/** Longest time between two looks at one workload. A cause may change without a change of the workload's status, but nobody waits for the new text. */
const againMsMax = 5 * 60_000;
/** Shortest time between two looks at any workloads: after a power cut, all workloads of a cluster may wait at the same time. */
const spacingMs = 1_000;
/** Limit for the pods of one look. In a larger workload, the first pods stand for the others. */
const podsMax = 50;
const eventsMax = 20;

interface Waiting {
  readonly sinceMs: number;
  readonly isWorkload: boolean;
  health: ObjectHealth;
  /** Undefined: no look will follow. */
  dueAtMs: number | undefined;
  lookedAtMs: number;
  pauseMs: number;
  cause: WaitCause | undefined;
}

export class Causes {
  readonly #ports: CausesPorts;
  /** Objects that are not available. Bound: the placed objects. */
  readonly #waiting = new Map<string, Waiting>();
  #timer: Timer | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;
  #nextLookAtMs = 0;
  #isLooking = false;
  #stopped = false;

  constructor(ports: CausesPorts) {
    this.#ports = ports;
  }

  /** Returns why the object is not available. Undefined: it is available, or nothing is known yet. */
  of(key: string): WaitCause | undefined {
    return this.#waiting.get(key)?.cause;
  }

  /** Call it when the health of the object may have changed. Undefined: the agent does not look after the object. */
  observed(key: string, health: ObjectHealth | undefined): void {
    if (health?.state !== 'InProgress' && health?.state !== 'Failed') {
      this.#waiting.delete(key);
      return;
    }
    const nowMs = this.#ports.clock.monotonicMs();
    const before = this.#waiting.get(key);
    if (!before) {
      const { group, resource } = parseKey(key);
      const isWorkload = workloadResources.has(`${group}/${resource}`) && this.#ports.cluster.find !== undefined;
      const dueAtMs = nowMs + (isWorkload ? firstLookMs : slowMs);
      const times = { sinceMs: nowMs, dueAtMs, lookedAtMs: Number.NEGATIVE_INFINITY, pauseMs: againMs };
      this.#waiting.set(key, { ...times, isWorkload, health, cause: undefined });
      return this.#arm(dueAtMs);
    }
    const isSame = before.health.reason === health.reason && before.health.message === health.message;
    before.health = health;
    if (isSame) return;
    if (!before.isWorkload) {
      if (before.cause) before.cause = causeOf(health);
      return;
    }
    before.pauseMs = againMs;
    const soonMs = Math.max(nowMs, before.lookedAtMs + againMs);
    if (before.dueAtMs !== undefined && before.dueAtMs <= soonMs) return;
    before.dueAtMs = soonMs;
    this.#arm(soonMs);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.stop();
    this.#waiting.clear();
  }

  #arm(atMs: number): void {
    if (this.#stopped || this.#isLooking) return;
    const dueAtMs = Math.max(atMs, this.#nextLookAtMs);
    if (this.#timer && this.#timerAtMs <= dueAtMs) return;
    this.#timer?.stop();
    this.#timerAtMs = dueAtMs;
    this.#timer = this.#ports.clock.after(Math.max(0, dueAtMs - this.#ports.clock.monotonicMs()), () => {
      this.#timer = undefined;
      this.#run();
    });
  }

  /** Decides about all objects whose cause needs no request, and looks at the workload that has waited longest. */
  #run(): void {
    const nowMs = this.#ports.clock.monotonicMs();
    let next: [key: string, waiting: Waiting] | undefined;
    for (const [key, waiting] of this.#waiting) {
      const { dueAtMs, isWorkload } = waiting;
      if (dueAtMs === undefined) continue;
      if (!isWorkload && dueAtMs <= nowMs) {
        waiting.dueAtMs = undefined;
        this.#set(key, waiting, causeOf(waiting.health));
      } else if (!next || dueAtMs < next[1].dueAtMs!) {
        next = [key, waiting];
      }
    }
    if (!next) return;
    const [key, waiting] = next;
    if (!waiting.isWorkload || waiting.dueAtMs! > nowMs) return this.#arm(waiting.dueAtMs!);
    this.#isLooking = true;
    this.#nextLookAtMs = nowMs + spacingMs;
    waiting.lookedAtMs = nowMs;
    waiting.dueAtMs = undefined;
    void this.#look(key)
      .catch((error: unknown) => {
        // For example, the agent may not list pods. The former cause stays, if there is one.
        this.#ports.logger.debug({ object: key, error: describeError(error) }, 'the cause could not be found');
        return waiting.cause;
      })
      .then((cause) => this.#looked(key, waiting, cause));
  }

  #looked(key: string, waiting: Waiting, cause: WaitCause | undefined): void {
    this.#isLooking = false;
    if (this.#stopped) return;
    const nowMs = this.#ports.clock.monotonicMs();
    if (this.#waiting.get(key) === waiting) {
      const own = this.#isSlow(key) ? causeOf(waiting.health) : undefined;
      const hasChanged = this.#set(key, waiting, cause ?? own);
      const afterMs = waiting.lookedAtMs + waiting.pauseMs;
      // While there was no look since its status changed, `observed` may have set an earlier time.
      waiting.dueAtMs = Math.min(waiting.dueAtMs ?? afterMs, afterMs);
      waiting.pauseMs = hasChanged ? againMs : Math.min(againMsMax, waiting.pauseMs * 2);
    }
    this.#arm(nowMs);
  }

  #set(key: string, waiting: Waiting, cause: WaitCause | undefined): boolean {
    const { cause: before } = waiting;
    if (before?.reason === cause?.reason && before?.message === cause?.message) return false;
    waiting.cause = cause;
    this.#ports.changed(key);
    return true;
  }

  async #look(key: string): Promise<WaitCause | undefined> {
    const { cluster } = this.#ports;
    const workload = await cluster.get(parseKey(key));
    const asked = workload && podsOf(workload);
    if (!asked) return undefined;
    const { namespace } = parseKey(key);
    const pods = await cluster.find!(
      { group: '', resource: 'pods' },
      { namespace, selector: asked.selector, limit: podsMax },
    );
    const trouble = commonTrouble(pods);
    if (presentPods(pods) < asked.wanted && (!trouble || trouble.rank > 0)) {
      // Pods are missing, and the controller says why: a quota, a webhook or a policy refuses them. Of a Deployment, the ReplicaSet says so, and the
      // Deployment repeats it in its condition.
      const refused = warningOf(await this.#events(namespace, workload.metadata.uid ?? ''), 'FailedCreate');
      if (refused) return workloadCause(asked, pods, undefined, refused);
      if (waitsForCreation.has(this.#waiting.get(key)?.health.reason ?? '')) {
        return workloadCause(asked, pods, undefined, causeOf(this.#waiting.get(key)!.health));
      }
    }
    const warning = trouble?.rank === 2 ? warningOf(await this.#events(namespace, trouble.uid)) : undefined;
    // A state alone explains little, and most states pass. It is worth naming only if it lasts.
    const isWeak = trouble?.rank === 2 && !warning && !this.#isSlow(key);
    return isWeak ? undefined : workloadCause(asked, pods, trouble, warning);
  }

  #isSlow(key: string): boolean {
    const sinceMs = this.#waiting.get(key)?.sinceMs ?? Number.POSITIVE_INFINITY;
    return this.#ports.clock.monotonicMs() - sinceMs >= slowMs;
  }

  #events(namespace: string, uid: string) {
    const fields = { 'involvedObject.uid': uid, type: 'Warning' };
    return this.#ports.cluster.find!({ group: '', resource: 'events' }, { namespace, fields, limit: eventsMax });
  }
}

/** Reasons of core/object/health.ts whose message already says why pods are missing. */
const waitsForCreation: ReadonlySet<string> = new Set(['ReplicaFailure', 'ProgressDeadlineExceeded']);

function causeOf({ reason, message }: ObjectHealth): WaitCause {
  return { reason, message };
}
