/**
 * Fields of an applied object that belong to the cluster (spec.drift.ignoredFields). Earlier applies contained such a field, so an apply without the field
 * would remove it. Therefore the agent applies the field with the value that the cluster has now.
 */

import { type FieldSet, fieldElement, isEmptyFieldSet, leaf } from '../../core/apiserver/managed-fields/field-set.ts';
import { replaceAt } from '../../core/customize/replace-at.ts';
import type { ApplyRules } from '../../core/entries/apply-rules.ts';
import { jsonText, parseJson } from '../../core/object/json.ts';
import { evaluateJsonPath, type JsonPathStep, parseJsonPath } from '../../core/object/jsonpath.ts';
import { type KubeObject, parseApiVersion } from '../../core/object/meta.ts';

/**
 * Returns the fields that belong to the cluster: the fields that the placement names, and `.rules` of an aggregated ClusterRole, which a controller of
 * Kubernetes overwrites in any case (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles). People write such a role with
 * `rules: []`.
 */
export function ignoredOf(object: KubeObject, { ignored }: Pick<ApplyRules, 'ignored'>): readonly string[] {
  const isAggregated =
    object.kind === 'ClusterRole' &&
    parseApiVersion(object.apiVersion).group === 'rbac.authorization.k8s.io' &&
    object.aggregationRule !== undefined;
  return isAggregated ? [...ignored, '.rules'] : ignored;
}

/** Returns the object to apply. Each ignored field has the value of the cluster, if the cluster has one. */
export function withLiveFields(
  object: KubeObject,
  live: KubeObject | undefined,
  ignored: readonly string[],
): KubeObject {
  if (!live || ignored.length === 0) return object;
  const merged = structuredClone(object);
  for (const path of ignored) {
    const values = evaluateJsonPath(live, path);
    if (values.length !== 1) continue;
    const steps = parseJsonPath(path);
    if (steps && evaluateJsonPath(merged, path).length === 1) replaceAt(merged, steps, () => values[0]);
  }
  return merged;
}

/** Returns the part of the object that the agent compares with the cluster. */
export function withoutFields(object: KubeObject, ignored: readonly string[]): KubeObject {
  if (ignored.length === 0) return object;
  const rest = structuredClone(object);
  // A comparison treats a missing field as null (projection.ts).
  for (const path of ignored) {
    const steps = parseJsonPath(path);
    if (steps && evaluateJsonPath(rest, path).length > 0) replaceAt(rest, steps, () => undefined);
  }
  return parseJson(jsonText(rest)) as KubeObject;
}

/**
 * Returns the owned fields that the agent compares. If a field is owned as a whole and contains an ignored field, the result leaves the field out: a change
 * of the ignored field also changes the owner of the whole. An ignored field in a list item is left out of every item, because field sets know items by their
 * keys only. The agent still compares the values of the remaining fields (projection.ts).
 */
export function withoutIgnored(owned: FieldSet, ignored: readonly string[]): FieldSet {
  return ignored.reduce((rest, path) => {
    const steps = parseJsonPath(path);
    return steps ? (withoutPath(rest, steps) ?? leaf) : rest;
  }, owned);
}

/**
 * Returns the set without the path. Undefined: the set has no other fields. A parent field of the path stays only if it has other parts: without parts,
 * nobody could see whether the parent field itself is owned.
 */
function withoutPath(owned: FieldSet, [step, ...further]: readonly JsonPathStep[]): FieldSet | undefined {
  if (step === undefined || isEmptyFieldSet(owned)) return undefined;
  const kept: Record<string, FieldSet> = {};
  for (const [element, below] of Object.entries(owned)) {
    if (element === '.') continue;
    const isOnTheWay = step.type === 'name' ? element === fieldElement(step.name) : !element.startsWith('f:');
    const rest = isOnTheWay ? withoutPath(below, further) : below;
    if (rest) kept[element] = rest;
  }
  return isEmptyFieldSet(kept) ? undefined : kept;
}
