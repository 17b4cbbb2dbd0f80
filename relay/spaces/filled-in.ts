/**
 * Fields that a workload space fills in, because tools that read a status also read these fields: helm 3 waits until a Service has an address, and ends with an
 * error if a Job has no `backoffLimit`; kubectl and Argo CD compare counts with `spec.replicas`. The values are those that an API server gives. They do not
 * travel: each cluster fills in its own. An annotation names the fields, so that a field that a person writes does travel.
 */
import type { WriteAdmission } from '../../core/apiserver/space.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { formatGroupResource, type ObjectKey } from '../../core/object/key.ts';
import type { Json, KubeObject } from '../../core/object/meta.ts';

const annotation = 'edge.banyan.io/filled-in';

type Spec = Record<string, Json | undefined>;

const rolling = (rollingUpdate: { [field: string]: Json }): Json => ({ type: 'RollingUpdate', rollingUpdate });

/** The fields of each kind below `spec`, with the defaults of Kubernetes. */
const fillings: Readonly<Record<string, (key: ObjectKey, spec: Spec) => Readonly<Record<string, Json>>>> = {
  'deployments.apps': () => ({ replicas: 1 }),
  'replicasets.apps': () => ({ replicas: 1 }),
  replicationcontrollers: () => ({ replicas: 1 }),
  'statefulsets.apps': () => ({ replicas: 1, updateStrategy: rolling({ partition: 0 }) }),
  'daemonsets.apps': () => ({ updateStrategy: rolling({ maxUnavailable: 1, maxSurge: 0 }) }),
  'jobs.batch': (_key, spec) => ({ backoffLimit: 6, ...jobSizeOf(spec) }),
  pods: () => ({ restartPolicy: 'Always' }),
  services: (key, { type }) => (type === 'ExternalName' ? {} : { clusterIP: shownAddress(key) }),
};

/** A Job without both fields runs one pod. With parallelism alone, its pods decide when it ends. */
function jobSizeOf({ completions, parallelism }: Spec): Record<string, Json> {
  return completions === undefined && parallelism !== undefined && parallelism !== 1
    ? {}
    : { completions: 1, parallelism: 1 };
}

/**
 * The address of a Service in its space. No traffic reaches it: 240.0.0.0/4 is reserved, so no cluster and no network uses it. Two Services may have the same
 * one, which does no harm.
 */
function shownAddress({ namespace, name }: ObjectKey): string {
  const [a = 0, b = 0, c = 0, d = 0] = hash128(`${namespace}/${name}`);
  return `${240 + (a % 15)}.${b}.${c}.${d}`;
}

function isShownAddress(value: Json | undefined): boolean {
  return typeof value === 'string' && /^(?:24\d|25[0-4])\.\d+\.\d+\.\d+$/.test(value);
}

/** The admission of a workload space. */
export const fillIn: WriteAdmission = ({ operation, key, object, subresource }) => {
  if (operation === 'delete' || !object || (subresource !== undefined && subresource !== 'scale')) return;
  const filling = fillings[formatGroupResource(key)];
  if (!filling) return;
  const spec = { ...(object.spec as Spec | undefined) };
  const former = new Set(filledIn(object));
  const names: string[] = [];
  for (const [name, value] of Object.entries(filling(key, spec))) {
    const isSame = former.has(name) && stableStringify(spec[name] ?? null) === stableStringify(value);
    // An object that was copied has the address of the Service from which it was copied.
    if (spec[name] !== undefined && spec[name] !== null && !isSame && !isShownAddress(spec[name])) continue;
    spec[name] = value;
    names.push(name);
  }
  object.spec = spec;
  note(object, names);
};

/** The object as it travels: without the fields that its space has filled in. */
export function withoutFilledIn(object: KubeObject): KubeObject {
  const names = filledIn(object);
  if (names.length === 0) return object;
  const spec = { ...(object.spec as Spec) };
  for (const name of names) delete spec[name];
  const { [annotation]: _names, ...annotations } = object.metadata.annotations ?? {};
  return { ...object, metadata: { ...object.metadata, annotations }, spec };
}

function filledIn({ metadata }: KubeObject): readonly string[] {
  return metadata.annotations?.[annotation]?.split(',') ?? [];
}

function note({ metadata }: KubeObject, names: readonly string[]): void {
  const { [annotation]: _former, ...rest } = metadata.annotations ?? {};
  const annotations = names.length > 0 ? { ...rest, [annotation]: names.join(',') } : rest;
  if (Object.keys(annotations).length > 0) metadata.annotations = annotations;
  else delete metadata.annotations;
}
