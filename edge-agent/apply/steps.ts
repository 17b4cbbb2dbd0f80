/** The steps with long messages: what an object waits for, why an object has failed or is left alone, and what people can do about it. */

import { type PlacementId, splitPlacementId } from '../../core/entries/placement-id.ts';
import type { ObjectHealth } from '../../core/object/health.ts';
import { displayKey, formatGroupResource, parseKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import { resultUnknown } from '../../core/summary/destination-status.ts';
import type { Absence } from './absence.ts';
import { interceptorWaitMaxMs, type UnavailableService } from './interceptors.ts';
import { type ApplyStep, unasked } from './progress.ts';

/** A quarantined object. The step is a failure, so objects that need this object wait. The agent reports the reason elsewhere (desired/poisoned.ts). */
export const poisoned: ApplyStep = { phase: 'failed', reason: 'Poisoned', message: 'it is quarantined' };

export function applied(of: { readonly fieldConflict: string | undefined; readonly isAdopted: boolean }): ApplyStep {
  const { fieldConflict, isAdopted } = of;
  return {
    phase: 'applied',
    ...(fieldConflict === undefined ? {} : { fieldConflict }),
    ...(isAdopted ? { isAdopted } : {}),
  };
}

/** The step of an object that is not on the cluster and that the agent does not create again. `health`: of an object that has ended, as it was at the end. */
export function absent(absence: Absence, health: ObjectHealth | undefined): ApplyStep {
  switch (absence) {
    case 'Ended': {
      const isFailed = health?.state === 'Failed';
      const why = isFailed ? { reason: health.reason, message: health.message } : {};
      return { phase: 'absent', isAvailable: !isFailed, isFailed, ...why };
    }
    case 'EndedUnseen':
      return { phase: 'absent', isAvailable: true, isFailed: false, reason: resultUnknown, message: unseenEnd };
    case 'Deleted':
      return { phase: 'absent', isAvailable: true, isFailed: false, reason: 'Deleted', message: leftDeleted };
    case 'DeletedReported':
      return { phase: 'absent', isAvailable: false, isFailed: false, reason: 'Drifted', message: leftDeleted };
  }
}

const unseenEnd =
  'the object is gone and counts as ended: the cluster deletes it by itself after its end (spec.ttlSecondsAfterFinished), and the agent did not watch at that time. The agent does not create it again before its spec changes';
const leftDeleted =
  'somebody has deleted it, and the rules leave this to the cluster (createOnly, or spec.drift.mode Report or Ignore). The agent does not create it again before its content changes';

/** `drift` names the fields that differ. Empty: no field differs. */
export function appliedWith(drift: string): ApplyStep {
  return { phase: 'applied', ...(drift === '' ? {} : { drift }) };
}

/** The drift message when the cluster refuses the dry run. */
export function incomparable(refusal: unknown): string {
  return `somebody has changed it, and the agent can't find out which fields differ: the cluster refuses the dry run: ${describeError(refusal)}`;
}

/** The step of an object that an upsync rule of the same source takes. */
export function yielded(taker: PlacementId): ApplyStep {
  const { source, name } = splitPlacementId(taker);
  const message = `EdgePlacement ${name} of ${source} takes this object up from the cluster (spec.upsync), so the agent does not apply it`;
  return { phase: 'yielded', reason: 'Conflicted', message };
}

/** The step while it is not known whether a placement takes the object. */
export function undecided(key: string): ApplyStep {
  const message = `waiting for the cluster to list its ${formatGroupResource(parseKey(key))}, since a spec.upsync may take this object up`;
  return { phase: 'waiting', reason: unasked, message };
}

/** The step of a workload while it is not known whether an autoscaler of the cluster scales it. */
export const autoscalersUnknown: ApplyStep = {
  phase: 'waiting',
  reason: unasked,
  message:
    'waiting for the cluster to list its horizontalpodautoscalers.autoscaling, since one of them may scale this object',
};

/** `blocker`: the key of the object that has to be on the cluster first. */
export function waitingFor(blocker: string, reason: 'WaitingForNamespace' | 'WaitingForKind'): ApplyStep {
  const { group, resource, name } = parseKey(blocker);
  return { phase: 'waiting', reason, message: `waiting for ${formatGroupResource({ group, resource })} ${name}` };
}

/** The reasons of objects that wait for others so that they don't refuse these others. See interceptors.ts. */
export const waitReasons = {
  objects: 'WaitingForObjects',
  workload: 'WaitingForWorkload',
  lenient: 'WebhookUnavailable',
} as const;

/** Number of objects that a message names. A person reads the names: one line is enough. */
const namedMax = 3;
const waitMaxSeconds = interceptorWaitMaxMs / 1_000;

/** `missing`: the blockers (waiting.ts) of an interceptor. A blocker that is no key stands for objects that have not arrived at the agent. */
export function waitingForObjects(missing: readonly string[]): ApplyStep {
  const named = missing
    .slice(0, namedMax)
    .map((blocker) => (blocker.includes(' ') ? 'objects that have not arrived yet' : displayKey(parseKey(blocker))));
  const more = missing.length > namedMax ? [`and ${missing.length - namedMax} more`] : [];
  const message = `it can refuse other objects, so it waits at most ${waitMaxSeconds} s until the other objects of its placement are applied: ${[...new Set([...named, ...more])].join(', ')}`;
  return { phase: 'waiting', reason: waitReasons.objects, message };
}

export function waitingForWorkload(unavailable: readonly UnavailableService[]): ApplyStep {
  const message = `without the workload that serves it, the cluster would refuse objects, so it waits at most ${waitMaxSeconds} s: ${servedBy(unavailable)}`;
  return { phase: 'waiting', reason: waitReasons.workload, message };
}

/** `webhooks`: the names of the webhooks that have another failurePolicy than the desired object. */
export function lenient(webhooks: readonly string[], unavailable: readonly UnavailableService[]): ApplyStep {
  const message = `failurePolicy is Ignore instead of Fail for ${webhooks.join(', ')} until the workload is available, because nothing serves it now and the cluster would refuse objects: ${servedBy(unavailable)}; repair the workload or bring one, or set failurePolicy: Ignore`;
  return { phase: 'waiting', reason: waitReasons.lenient, message };
}

function servedBy(unavailable: readonly UnavailableService[]): string {
  return unavailable.map(({ namespace, name, why }) => `behind Service ${namespace}/${name}, ${why}`).join('; ');
}

/** `why` names the versions that the cluster serves instead. Undefined: the cluster serves no version of the kind. */
export function unserved(key: string, { apiVersion, kind }: KubeObject, why: string | undefined): ApplyStep {
  const remedy = why ?? 'install its CustomResourceDefinition';
  const message = `the cluster does not serve ${kind} of ${apiVersion} (${formatGroupResource(parseKey(key))}); ${remedy}`;
  return { phase: 'failed', reason: 'UnknownKind', message };
}

export const renewing: ApplyStep = {
  phase: 'waiting',
  reason: 'Replacing',
  message:
    'the object was deleted and made anew in its space: the agent removes the former object and creates the new one',
};

export function replacing(refusal: unknown): ApplyStep {
  const message = `one of its fields can't be changed: the agent removes the object and creates it again (spec.replace: IfImmutable). ${describeError(refusal)}`;
  return { phase: 'waiting', reason: 'Replacing', message };
}

/** The error for a refused change. Its message names the rule that would allow the change. */
export function irreplaceable(refusal: unknown): BanyanError {
  const hint =
    'with spec.replace: IfImmutable in its EdgePlacement, the agent would remove the object and create it again';
  return new BanyanError('Invalid', `${describeError(refusal)}; ${hint}`, {}, { cause: refusal });
}
