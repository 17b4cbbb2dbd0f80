/**
 * Decides whether an object has ended by itself: a Job that is complete or has failed, or a Pod whose containers have ended and do not start again. If such an
 * object is deleted afterwards, its work is still done. Pure: the function looks only at one object.
 */
import { type KubeObject, parseApiVersion } from './meta.ts';

interface EndedStatus {
  readonly phase?: string;
  readonly conditions?: readonly {
    readonly type?: string;
    readonly status?: string;
    readonly lastTransitionTime?: string;
  }[];
  readonly containerStatuses?: readonly {
    readonly state?: { readonly terminated?: { readonly finishedAt?: string } };
  }[];
}

/** Whether the kind of the object has objects that end by themselves. */
export function mayEnd({ apiVersion, kind, spec }: KubeObject): boolean {
  const { group } = parseApiVersion(apiVersion);
  if (kind === 'Job') return group === 'batch';
  const { restartPolicy } = (spec ?? {}) as { restartPolicy?: string };
  return kind === 'Pod' && group === '' && (restartPolicy === 'Never' || restartPolicy === 'OnFailure');
}

/**
 * Whether the object has ended, and ended before somebody deleted it. A deletion also ends the containers of a Pod, and then the Pod looks as if it had ended
 * by itself.
 */
export function hasEnded(object: KubeObject): boolean {
  const endedMs = mayEnd(object) ? endOf(object) : undefined;
  if (endedMs === undefined) return false;
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = object.metadata;
  if (deletionTimestamp === undefined) return true;
  return endedMs <= Date.parse(deletionTimestamp) - Number(deletionGracePeriodSeconds) * 1_000;
}

/** Whether the cluster deletes the object by itself some time after the object has ended. */
export function isDeletedAfterEnd({ apiVersion, kind, spec }: KubeObject): boolean {
  const { ttlSecondsAfterFinished } = (spec ?? {}) as { ttlSecondsAfterFinished?: number };
  return kind === 'Job' && parseApiVersion(apiVersion).group === 'batch' && ttlSecondsAfterFinished !== undefined;
}

/** The time of the end, in ms. NaN: the object has ended, and its status does not have the time. Undefined: the object has not ended. */
function endOf({ kind, status }: KubeObject): number | undefined {
  const { phase, conditions = [], containerStatuses = [] } = (status ?? {}) as EndedStatus;
  if (kind === 'Job') {
    const end = conditions.find(({ type, status: is }) => (type === 'Complete' || type === 'Failed') && is === 'True');
    return end && Date.parse(end.lastTransitionTime ?? '');
  }
  if (phase !== 'Succeeded' && phase !== 'Failed') return undefined;
  const times = containerStatuses.map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? ''));
  return times.length === 0 ? Number.NaN : Math.max(...times);
}
