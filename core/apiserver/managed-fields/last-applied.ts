/**
 * What `kubectl apply` without --server-side leaves in an object: an annotation with the configuration. If kubectl goes on with --server-side, the fields of
 * that configuration are its own, and the annotation follows, so that a `kubectl apply` without the option still works. Another manager has no part in this.
 */
import { stableStringify } from '../../object/canonical.ts';
import { parseJson } from '../../object/json.ts';
import type { KubeObject } from '../../object/meta.ts';
import { isRecord } from '../../runtime/is-record.ts';
import type { FieldType } from '../schema.ts';
import type { Difference } from './compare.ts';
import { fieldsOf } from './extract.ts';
import { differenceBelow, type FieldSet, fieldDifference } from './field-set.ts';

const annotation = 'kubectl.kubernetes.io/last-applied-configuration';

/** The annotation of the object if this manager goes on with it. Undefined: there is none, or the manager is not kubectl. */
export function lastApplied(live: KubeObject | undefined, manager: string): string | undefined {
  return manager === 'kubectl' ? live?.metadata.annotations?.[annotation] || undefined : undefined;
}

/**
 * The fields of the configuration in the annotation that still have the values of the configuration. `differencesTo` compares the configuration with the live
 * object. Undefined: the annotation is no object of this version.
 */
export function fieldsOfLastApplied(
  text: string,
  live: KubeObject,
  type: FieldType,
  differencesTo: (config: KubeObject) => Difference,
): FieldSet | undefined {
  const config = parsed(text);
  if (config?.apiVersion !== live.apiVersion) return undefined;
  const { changed, removed } = differencesTo(config);
  const fields = fieldsOf(config, type);
  const unchanged = changed ? fieldDifference(fields, changed) : fields;
  return removed ? differenceBelow(unchanged, removed) : unchanged;
}

function parsed(text: string): KubeObject | undefined {
  try {
    const value: unknown = parseJson(text);
    return isRecord(value) && isRecord(value.metadata) ? (value as unknown as KubeObject) : undefined;
  } catch {
    // Anybody can write the annotation. With a text that is no JSON, the apply goes on as if there were no annotation.
    return undefined;
  }
}

/** Writes the configuration into the annotation of the object. */
export function setLastApplied(object: KubeObject, config: KubeObject): void {
  const { managedFields: _, annotations, ...metadata } = config.metadata;
  const { [annotation]: _former, ...others } = annotations ?? {};
  const written = { ...config, metadata: { ...metadata, ...(annotations ? { annotations: others } : {}) } };
  object.metadata.annotations = { ...object.metadata.annotations, [annotation]: `${textOf(written)}\n` };
}

/** The JSON of Go's encoder: the fields in the order of their names, and the signs of HTML escaped. */
function textOf(value: unknown): string {
  const escaped = (sign: string) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return stableStringify(value).replaceAll(/[<>&\u2028\u2029]/g, escaped);
}
