/** Jobs: run pods until enough pods have succeeded, or too many have failed. Finished Jobs keep their pods. */
import { type NewCondition, timestamp, withCondition } from '../../../../core/object/conditions.ts';
import type { GroupResource, ObjectKey } from '../../../../core/object/key.ts';
import type { Condition, KubeObject } from '../../../../core/object/meta.ts';
import type { Clock } from '../../../../core/runtime/clock.ts';
import { type Controller, ownerWatch } from './controller.ts';
import type { Objects } from './objects.ts';
import { isActive, isReady, newPod, type Pod, type PodTemplate, podResource, positive } from './pods.ts';

export interface Job extends KubeObject {
  spec: {
    parallelism?: number;
    completions?: number;
    backoffLimit?: number;
    suspend?: boolean;
    ttlSecondsAfterFinished?: number;
    template: PodTemplate;
  };
  status?: JobStatus;
}

interface JobStatus {
  startTime?: string;
  completionTime?: string;
  conditions?: Condition[];
  [field: string]: unknown;
}

export const jobResource: GroupResource = { group: 'batch', resource: 'jobs' };

export class JobController implements Controller {
  readonly name = 'job-controller';
  readonly resource = jobResource;
  readonly watches = [ownerWatch(podResource, { ...jobResource, kind: 'Job' })];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  reconcile(object: KubeObject, key: ObjectKey, objects: Objects): number | undefined {
    const job = object as Job;
    if (isFinished(job)) return this.#expire(job, objects);
    const pods = objects.list(podResource, { namespace: key.namespace, ownedBy: job.metadata.uid ?? '' }) as Pod[];
    const succeeded = pods.filter((pod) => pod.status?.phase === 'Succeeded').length;
    const failed = pods.filter((pod) => pod.status?.phase === 'Failed').length;
    const { parallelism = 1, backoffLimit = 6, suspend = false } = job.spec;
    const completions = job.spec.completions ?? (succeeded > 0 ? succeeded : 1);
    const outcome = failed > backoffLimit ? 'Failed' : succeeded >= completions ? 'Complete' : undefined;
    const active = pods.filter(isActive);
    const wanted = outcome || suspend ? 0 : Math.min(parallelism, completions - succeeded);
    for (const pod of active.slice(wanted)) objects.delete(pod);
    const running = active.slice(0, wanted);
    while (running.length < wanted) running.push(this.#create(job, key.name, objects));
    this.#writeStatus(job, objects, {
      active: running.length,
      ready: running.filter(isReady).length,
      succeeded,
      failed,
      outcome,
    });
    return undefined;
  }

  #create(job: Job, name: string, objects: Objects): Pod {
    const labels = {
      'batch.kubernetes.io/job-name': name,
      'batch.kubernetes.io/controller-uid': job.metadata.uid ?? '',
      'job-name': name,
      'controller-uid': job.metadata.uid ?? '',
    };
    return objects.create(newPod(job, job.spec.template, { generateName: `${name}-` }, labels)) as Pod;
  }

  #writeStatus(
    job: Job,
    objects: Objects,
    now: {
      active: number;
      ready: number;
      succeeded: number;
      failed: number;
      outcome: 'Complete' | 'Failed' | undefined;
    },
  ): void {
    const { startTime, conditions: before = [] } = job.status ?? {};
    const at = timestamp(this.#clock.wallMs());
    const suspended = job.spec.suspend ?? false;
    let conditions = before;
    for (const condition of outcomeConditions(now.outcome, suspended, before)) {
      conditions = withCondition(conditions, condition, at);
    }
    const { outcome, ready, ...counts } = now;
    objects.writeStatus(job, {
      ...(suspended ? {} : { startTime: startTime ?? at }),
      ...(outcome === 'Complete' ? { completionTime: at } : {}),
      ...positive(counts),
      ready,
      uncountedTerminatedPods: {},
      ...(conditions.length > 0 ? { conditions } : {}),
    });
  }

  #expire(job: Job, objects: Objects): number | undefined {
    const { ttlSecondsAfterFinished } = job.spec;
    if (ttlSecondsAfterFinished === undefined) return undefined;
    const finished = job.status?.conditions?.find((condition) => isFinal(condition))?.lastTransitionTime ?? '';
    const leftMs = Date.parse(finished) + ttlSecondsAfterFinished * 1000 - this.#clock.wallMs();
    if (leftMs > 0) return leftMs;
    objects.delete(job);
    return undefined;
  }
}

export function isFinished(job: Job): boolean {
  return job.status?.conditions?.some(isFinal) ?? false;
}

function isFinal(condition: Condition): boolean {
  return (condition.type === 'Complete' || condition.type === 'Failed') && condition.status === 'True';
}

function outcomeConditions(
  outcome: 'Complete' | 'Failed' | undefined,
  suspended: boolean,
  before: readonly Condition[],
): NewCondition[] {
  if (outcome === 'Complete') {
    const met = {
      status: 'True',
      reason: 'CompletionsReached',
      message: 'Reached expected number of succeeded pods',
    } as const;
    return [
      { type: 'SuccessCriteriaMet', ...met },
      { type: 'Complete', ...met },
    ];
  }
  if (outcome === 'Failed') {
    const over = {
      status: 'True',
      reason: 'BackoffLimitExceeded',
      message: 'Job has reached the specified backoff limit',
    } as const;
    return [
      { type: 'FailureTarget', ...over },
      { type: 'Failed', ...over },
    ];
  }
  if (suspended) return [{ type: 'Suspended', status: 'True', reason: 'JobSuspended', message: 'Job suspended' }];
  if (before.some((condition) => condition.type === 'Suspended' && condition.status === 'True')) {
    return [{ type: 'Suspended', status: 'False', reason: 'JobResumed', message: 'Job resumed' }];
  }
  return [];
}
