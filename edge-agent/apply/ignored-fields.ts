/**
 * Fields of an applied object that are the cluster's own (spec.drift.ignoredFields). Leaving such a field out of an apply would take it away, since it was
 * applied once; so what is applied has the value that the cluster has now.
 */
import { type FieldSet, fieldElement, isEmptyFieldSet, leaf } from '../../core/apiserver/managed-fields/field-set.ts';
import { replaceAt } from '../../core/customize/replace-at.ts';
import type { ApplyRules } from '../../core/entries/apply-rules.ts';
import { evaluateJsonPath, type JsonPathStep, parseJsonPath } from '../../core/object/jsonpath.ts';
import { type KubeObject, parseApiVersion } from '../../core/object/meta.ts';

/**
 * What is the cluster's own of this object: by its placement, and the one field that a controller of Kubernetes overwrites with whatever was applied there, by
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles: such a role is written with `rules: []`.
 */
export function ignoredOf(object: KubeObject, { ignored }: Pick<ApplyRules, 'ignored'>): readonly string[] {
  const isAggregated =
    object.kind === 'ClusterRole' &&
    parseApiVersion(object.apiVersion).group === 'rbac.authorization.k8s.io' &&
    object.aggregationRule !== undefined;
  return isAggregated ? [...ignored, '.rules'] : ignored;
}

/** The object to apply: where the cluster has a value of an ignored field, that one. */
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

/** What is compared with the cluster. */
export function withoutFields(object: KubeObject, ignored: readonly string[]): KubeObject {
  if (ignored.length === 0) return object;
  const rest = structuredClone(object);
  // Null is what a field that is not there is to a comparison (projection.ts).
  for (const path of ignored) {
    const steps = parseJsonPath(path);
    if (steps && evaluateJsonPath(rest, path).length > 0) replaceAt(rest, steps, () => undefined);
  }
  return JSON.parse(JSON.stringify(rest)) as KubeObject;
}

/**
 * Of fields that are owned, those that are compared. What is owned as a whole and has an ignored field in it changes its owner with that, and goes too; so does the
 * field in every item of a list, since items are known here by their keys alone. Their values are compared all the same (projection.ts).
 */
export function withoutIgnored(owned: FieldSet, ignored: readonly string[]): FieldSet {
  return ignored.reduce((rest, path) => {
    const steps = parseJsonPath(path);
    return steps ? (withoutPath(rest, steps) ?? leaf) : rest;
  }, owned);
}

/** Undefined: nothing is left. What is on the way counts by its other parts alone: whether it is owned itself is no more to be told when its last part has gone. */
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
