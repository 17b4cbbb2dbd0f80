/** The parts of a pod that an update may change, in the order of Kubernetes (ValidatePodUpdate). */
import type { KubeObject } from '../../../object/meta.ts';
import { tolerations } from './selectors.ts';
import { isSameValue } from './updates.ts';
import {
  type FieldCheck,
  isPresent,
  listOf,
  numberOf,
  type ReadValues,
  recordOf,
  recordsOf,
  type Visit,
  wordOf,
} from './visit.ts';

export const mirror = 'kubernetes.io/config.mirror';
export const profileAnnotation = 'container.apparmor.security.beta.kubernetes.io/';

/** `check`: the rules of the annotations, which Kubernetes asks a second time. */
export function annotationUpdates(old: KubeObject, check: FieldCheck): FieldCheck {
  return (metadata, at) => {
    const now = recordOf(recordOf(metadata).annotations);
    const before = recordOf(old.metadata.annotations);
    at.into('annotations', now, () => {
      for (const key of Object.keys({ ...before, ...now })) {
        if (now[key] === before[key]) continue;
        const what = before[key] === undefined ? 'add' : 'remove or update';
        if (key.startsWith(profileAnnotation)) at.forbidden(`[${key}]`, `may not ${what} AppArmor annotations`);
        if (key === mirror) at.forbidden(`[${key}]`, `may not ${what} mirror pod annotation`);
      }
      check(now, at);
    });
  };
}

const changeable =
  '`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

export function podUpdate(spec: ReadValues, old: ReadValues, at: Visit): void {
  for (const list of ['containers', 'initContainers']) if (!areContainersKept(list, spec, old, at)) return;
  if (!isDeadlineRight(spec.activeDeadlineSeconds, old.activeDeadlineSeconds, at)) return;
  tolerationsUpdate(spec.tolerations, old.tolerations, at);
  gatesUpdate(spec.schedulingGates, old.schedulingGates, at);
  const isGated = listOf(old.schedulingGates).length > 0;
  if (isGated) {
    nodeSelectorUpdate(spec.nodeSelector, old.nodeSelector, at);
    nodeAffinityUpdate(spec.affinity, old.affinity, at);
  }
  if (!isSameValue(fixedPart(spec, isGated), fixedPart(old, isGated), at.fieldAt('spec'))) {
    at.forbidden('spec', `pod updates may not change fields other than ${changeable}`);
  }
}

function areContainersKept(list: string, spec: ReadValues, old: ReadValues, at: Visit): boolean {
  const now = recordsOf(spec[list]);
  if (now.length !== listOf(old[list]).length) {
    at.forbidden(`spec.${list}`, 'pod updates may not add or remove containers');
    return false;
  }
  for (const [i, { image }] of now.entries()) {
    const text = wordOf(image);
    if (text === '') at.required(`spec.${list}[${i}].image`);
    if (text !== text.trim()) {
      at.invalid(`spec.${list}[${i}].image`, image, 'must not have leading or trailing whitespace');
    }
  }
  return true;
}

const secondsMax = 2_147_483_647;

function isDeadlineRight(now: unknown, before: unknown, at: Visit): boolean {
  const field = 'spec.activeDeadlineSeconds';
  if (!isPresent(now)) {
    if (isPresent(before)) at.invalid(field, null, 'must not update from a positive integer to nil value');
    return true;
  }
  const isOutside = numberOf(now) < 0 || numberOf(now) > secondsMax;
  const isLater = isPresent(before) && numberOf(now) > numberOf(before);
  if (isOutside) at.invalid(field, now, `must be between 0 and ${secondsMax}, inclusive`);
  else if (isLater) at.invalid(field, now, 'must be less than or equal to previous value');
  return !isOutside && !isLater;
}

function tolerationsUpdate(now: unknown, before: unknown, at: Visit): void {
  const withoutSeconds = (toleration: ReadValues) => ({ ...toleration, tolerationSeconds: undefined });
  const isKept = recordsOf(before).every((toleration) =>
    recordsOf(now).some((other) =>
      isSameValue(withoutSeconds(other), withoutSeconds(toleration), at.fieldAt('spec.tolerations.*')),
    ),
  );
  if (isKept) at.into('spec', now, () => at.into('tolerations', now, tolerations));
  else at.forbidden('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds');
}

function gatesUpdate(now: unknown, before: unknown, at: Visit): void {
  const kept = new Set(recordsOf(before).map(({ name }) => name));
  const added = new Map(recordsOf(now).map(({ name }, i) => [name, i]));
  for (const [name, i] of added) {
    if (kept.has(name)) continue;
    const why = `only deletion is allowed, but found new scheduling gate '${wordOf(name)}'`;
    at.forbidden(`spec.schedulingGates[${i}].name`, why);
  }
}

function nodeSelectorUpdate(now: unknown, before: unknown, at: Visit): void {
  const isKept = Object.entries(recordOf(before)).every(([label, value]) => recordOf(now)[label] === value);
  if (!isKept) {
    const why = 'only additions to spec.nodeSelector are allowed (no mutations or deletions)';
    at.invalid('spec.nodeSelector', now, why);
  }
}

function nodeAffinityUpdate(now: unknown, before: unknown, at: Visit): void {
  const required = 'requiredDuringSchedulingIgnoredDuringExecution';
  const termsOf = (affinity: unknown) =>
    recordsOf(recordOf(recordOf(recordOf(affinity).nodeAffinity)[required]).nodeSelectorTerms);
  const [terms, oldTerms] = [termsOf(now), termsOf(before)];
  const path = `spec.affinity.nodeAffinity.${required}.nodeSelectorTerms`;
  if (oldTerms.length > 0 && terms.length !== oldTerms.length) {
    at.invalid(path, terms, 'no additions/deletions to non-empty NodeSelectorTerms list are allowed');
    return;
  }
  for (const [i, term] of oldTerms.entries()) {
    if (!hasOnlyAdditions(terms[i]!, term)) {
      at.invalid(`${path}[${i}]`, terms[i], 'only additions are allowed (no mutations or deletions)');
    }
  }
}

function hasOnlyAdditions(term: ReadValues, old: ReadValues): boolean {
  const lists = ['matchExpressions', 'matchFields'];
  if (lists.every((list) => listOf(old[list]).length === 0)) {
    return lists.every((list) => listOf(term[list]).length === 0);
  }
  return lists.every((list) => {
    const before = listOf(old[list]);
    return isSameValue(listOf(term[list]).slice(0, before.length), before);
  });
}

/** What no update of a pod may change. A pod that still waits for its gates may get another node. */
function fixedPart(spec: ReadValues, isGated: boolean): ReadValues {
  const withoutImages = (list: unknown) => recordsOf(list).map((container) => ({ ...container, image: undefined }));
  const { nodeAffinity: _, ...otherAffinity } = recordOf(spec.affinity);
  const affinity = Object.keys(otherAffinity).length > 0 ? otherAffinity : undefined;
  return {
    ...spec,
    containers: withoutImages(spec.containers),
    initContainers: withoutImages(spec.initContainers),
    activeDeadlineSeconds: undefined,
    tolerations: undefined,
    schedulingGates: undefined,
    ...(numberOf(spec.terminationGracePeriodSeconds) < 0 ? { terminationGracePeriodSeconds: 1 } : {}),
    ...(isGated ? { nodeSelector: undefined, affinity } : {}),
  };
}
