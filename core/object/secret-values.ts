/**
 * Secrets without their values. Stores hold the content of a Secret sealed (core/encryption/), and hold in clear text what a node makes of objects, such as
 * summaries and statuses. So a node makes these things of this form of a Secret.
 */
import { isRecord } from '../runtime/is-record.ts';
import type { KubeObject, ObjectMeta } from './meta.ts';

export function isSecret({ apiVersion, kind }: KubeObject): boolean {
  return apiVersion === 'v1' && kind === 'Secret';
}

/**
 * In a Secret, each value of `data`, of `stringData` and of the annotations is null, and the names stay. The annotations count, because kubectl writes the
 * whole object into one of them. The uid is null too: with the uid, somebody who has the store can test guesses of a content by its hash (decision 0058). Any
 * other object stays as it is.
 */
export function withoutSecretValues(object: KubeObject): KubeObject {
  if (!isSecret(object)) return object;
  const metadata = withNulls(object.metadata, ['uid', 'annotations']) as ObjectMeta;
  return { ...withNulls(object, ['data', 'stringData']), metadata } as KubeObject;
}

function withNulls(object: object, hidden: readonly string[]): object {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => [name, hidden.includes(name) ? nullsOf(value) : value]),
  );
}

function nullsOf(values: unknown): unknown {
  return isRecord(values) ? Object.fromEntries(Object.keys(values).map((name) => [name, null])) : null;
}
