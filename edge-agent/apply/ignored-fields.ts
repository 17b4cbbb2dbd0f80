/**
 * Fields of an applied object that are the cluster's own (spec.drift.ignoredFields). Leaving such a field out of an apply would take it away, since it was
 * applied once; so what is applied has the value that the cluster has now.
 */
import { replaceAt } from '../../core/customize/replace-at.ts';
import { evaluateJsonPath, parseJsonPath } from '../../core/object/jsonpath.ts';
import type { KubeObject } from '../../core/object/meta.ts';

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
