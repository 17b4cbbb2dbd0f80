/** Configurations of server-side applies, right and wrong, and their options. */
import { cloneJson } from '../../../core/object/json-value.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import type { Below } from './questions.ts';

type Fields = Record<string, unknown>;

/** Changes what `appliedObject` has made of an object. Most of the configurations stay as they are. */
const mistakes: readonly ((config: Fields, metadata: Fields) => void)[] = [
  (config) => delete config.apiVersion,
  (config) => delete config.kind,
  (config) => (config.kind = 'Other'),
  (config) => (config.apiVersion = 'example.com/v1'),
  (_, metadata) => (metadata.name = 'other'),
  (_, metadata) => delete metadata.name,
  (_, metadata) => (metadata.namespace = 'other'),
  (_, metadata) => (metadata.managedFields = [{ manager: 'a', operation: 'Apply' }]),
  (_, metadata) => (metadata.resourceVersion = '1'),
  (_, metadata) => (metadata.uid = 'other'),
  (config) => (config.absent = 1),
  (config) => (config.spec = { ...(config.spec as Fields | undefined), absent: { deeper: [1] } }),
  (config) => (config.spec = 'text'),
  (_, metadata) => (metadata.labels = { a: 5 }),
  (_, metadata) => (metadata.finalizers = ['x/a', 'x/a']),
  (config) => repeatItem(config),
  (config) => repeatItem(config.spec),
  (config) => (config.status = { absent: 1 }),
];
const mistakenPart = 4;

/** The object as a user would write it, without the fields of the server, and now and then with a mistake. */
export function appliedObject(object: KubeObject, below: Below): object {
  const { status: _status, ...config } = cloneJson(object) as KubeObject & Fields;
  const { name, namespace, labels, annotations } = object.metadata;
  const metadata: Fields = Object.fromEntries(
    Object.entries({ name, namespace, labels, annotations }).filter(([, value]) => value !== undefined),
  );
  const mistake = mistakes[below(mistakes.length * mistakenPart)];
  const made: Fields = { ...config, metadata };
  mistake?.(made, metadata);
  return made;
}

/** Repeats the first item of the first list below the value. */
function repeatItem(value: unknown): boolean {
  if (Array.isArray(value) && value.length > 0) {
    value.push(cloneJson(value[0]));
    return true;
  }
  return typeof value === 'object' && value !== null && Object.values(value).some((inner) => repeatItem(inner));
}

const managers = ['team', 'team', 'team', 'unknown', 'x'.repeat(129)];
const forces = ['', '', '&force=false', '&force=true', '&force=true', '&force=maybe'];

export function applyOptions(below: Below): string {
  const manager = managers[below(managers.length + 1)];
  const named = manager === undefined ? '' : `&fieldManager=${manager}`;
  return `${named}${forces[below(forces.length)]}`;
}
