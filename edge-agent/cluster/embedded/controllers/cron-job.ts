/**
 * CronJobs: starts a Job in each minute that the schedule names, by the clock of the schedule's time zone. The controller looks once a minute. If it misses a
 * minute, it starts no Job for that minute afterwards.
 */
import { timestamp } from '../../../../core/object/conditions.ts';
import type { GroupResource, ObjectKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { isTerminating } from '../../../../core/object/terminating.ts';
import type { Clock } from '../../../../core/runtime/clock.ts';
import { type Controller, ownerWatch } from './controller.ts';
import { isDue, parseSchedule, wallTime } from './cron-schedule.ts';
import { isFinished, type Job, jobResource } from './job.ts';
import { type Objects, ownerReference } from './objects.ts';

export interface CronJob extends KubeObject {
  spec: {
    schedule: string;
    timeZone?: string;
    suspend?: boolean;
    concurrencyPolicy?: string;
    successfulJobsHistoryLimit?: number;
    failedJobsHistoryLimit?: number;
    jobTemplate: { metadata?: KubeObject['metadata']; spec?: object };
  };
  status?: { active?: object[]; lastScheduleTime?: string; lastSuccessfulTime?: string };
}

const cronJobResource: GroupResource = { group: 'batch', resource: 'cronjobs' };
const minuteMs = 60_000;

export class CronJobController implements Controller {
  readonly name = 'cronjob-controller';
  readonly resource = cronJobResource;
  readonly watches = [ownerWatch(jobResource, { ...cronJobResource, kind: 'CronJob' })];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  reconcile(object: KubeObject, key: ObjectKey, objects: Objects): number | undefined {
    const cronJob = object as CronJob;
    const owned = objects.list(jobResource, { namespace: key.namespace, ownedBy: cronJob.metadata.uid ?? '' }) as Job[];
    const jobs = owned.filter((job) => !isTerminating(job)).sort(byAge);
    this.#dropHistory(cronJob, jobs, objects);
    const nowMs = this.#clock.wallMs();
    const minute = Math.floor(nowMs / minuteMs) * minuteMs;
    const active = jobs.filter((job) => !isFinished(job));
    const started = this.#isDue(cronJob, minute) && this.#start(cronJob, key, minute, active, objects);
    if (started) active.push(started);
    const succeeded = jobs.filter((job) => job.status?.completionTime !== undefined).at(-1)?.status?.completionTime;
    const lastSchedule = started ? timestamp(minute) : cronJob.status?.lastScheduleTime;
    const lastSuccess = succeeded ?? cronJob.status?.lastSuccessfulTime;
    objects.writeStatus(cronJob, {
      ...(active.length > 0 ? { active: active.map(reference) } : {}),
      ...(lastSchedule === undefined ? {} : { lastScheduleTime: lastSchedule }),
      ...(lastSuccess === undefined ? {} : { lastSuccessfulTime: lastSuccess }),
    });
    return minute + minuteMs - nowMs;
  }

  #isDue(cronJob: CronJob, minute: number): boolean {
    const { schedule, timeZone = 'Etc/UTC', suspend } = cronJob.spec;
    const parsed = suspend ? undefined : parseSchedule(schedule);
    const created = Date.parse(cronJob.metadata.creationTimestamp ?? '');
    if (!parsed || minute < created || timestamp(minute) === cronJob.status?.lastScheduleTime) return false;
    return isDue(parsed, wallTime(minute, timeZone));
  }

  #start(cronJob: CronJob, key: ObjectKey, minute: number, active: Job[], objects: Objects): Job | undefined {
    const { concurrencyPolicy, jobTemplate } = cronJob.spec;
    // The name contains the minute. So a second attempt for the same minute finds the Job of the first attempt.
    const name = `${key.name}-${minute / minuteMs}`;
    if (objects.get({ ...jobResource, namespace: key.namespace, name })) return undefined;
    if (active.length > 0 && concurrencyPolicy === 'Forbid') return undefined;
    if (concurrencyPolicy === 'Replace') for (const job of active.splice(0)) objects.delete(job);
    return objects.create({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: {
        name,
        namespace: key.namespace,
        ...(jobTemplate.metadata?.labels ? { labels: jobTemplate.metadata.labels } : {}),
        annotations: {
          ...jobTemplate.metadata?.annotations,
          'batch.kubernetes.io/cronjob-scheduled-timestamp': timestamp(minute),
        },
        ownerReferences: [ownerReference(cronJob)],
      },
      spec: jobTemplate.spec ?? {},
    }) as Job;
  }

  #dropHistory(cronJob: CronJob, jobs: readonly Job[], objects: Objects): void {
    const { successfulJobsHistoryLimit = 3, failedJobsHistoryLimit = 1 } = cronJob.spec;
    const finished = jobs.filter(isFinished);
    const succeeded = finished.filter((job) => job.status?.completionTime !== undefined);
    const failed = finished.filter((job) => job.status?.completionTime === undefined);
    const excess = [
      ...succeeded.slice(0, Math.max(0, succeeded.length - successfulJobsHistoryLimit)),
      ...failed.slice(0, Math.max(0, failed.length - failedJobsHistoryLimit)),
    ];
    for (const job of excess) objects.delete(job);
  }
}

function byAge(a: Job, b: Job): number {
  const [first, second] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  return first < second ? -1 : first > second ? 1 : 0;
}

function reference(job: Job): object {
  const { name, namespace, uid, resourceVersion } = job.metadata;
  return { apiVersion: 'batch/v1', kind: 'Job', name, namespace, uid, resourceVersion };
}
