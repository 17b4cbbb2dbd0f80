/**
 * Fields that a workload space fills in, because tools that read a status also read these fields: helm 3 waits until a Service has an address, and ends with an
 * error if a Job has no `backoffLimit`, or a strategy `RollingUpdate` no parameters; kubectl and Argo CD compare counts with `spec.replicas`. The values are those that an API server gives. They do not
 * travel: each cluster fills in its own. An annotation names the fields, so that a field that a person writes does travel.
 */
import type { WriteAdmission } from '../../core/apiserver/space.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { formatGroupResource, type ObjectKey } from '../../core/object/key.ts';
import type { Json, KubeObject } from '../../core/object/meta.ts';
import { isRecord } from '../../core/runtime/is-record.ts';

const annotation = 'edge.banyan.io/filled-in';

type Spec = { [field: string]: Json | undefined };
/** Values by their paths below `spec`, such as `strategy.rollingUpdate`. */
type Fields = Readonly<Record<string, Json>>;

const rollingUpdate = 'RollingUpdate';

/** The fields of each kind below `spec`, with the defaults of Kubernetes. `spec` has no filled in fields. */
const fillings: Readonly<Record<string, (key: ObjectKey, spec: Spec) => Fields>> = {
  'deployments.apps': (_key, { strategy }) => ({ replicas: 1, ...rollingOf(strategy) }),
  'replicasets.apps': () => ({ replicas: 1 }),
  replicationcontrollers: () => ({ replicas: 1 }),
  'statefulsets.apps': (_key, spec) => ({ replicas: 1, ...updateStrategyOf(spec, { partition: 0 }) }),
  'daemonsets.apps': (_key, spec) => updateStrategyOf(spec, { maxUnavailable: 1, maxSurge: 0 }),
  'jobs.batch': (_key, spec) => ({ backoffLimit: 6, ...jobSizeOf(spec) }),
  pods: () => ({ restartPolicy: 'Always' }),
  services: (key, { type }) => (type === 'ExternalName' ? {} : { clusterIP: shownAddress(key) }),
};

/** A Deployment without a strategy needs none here: tools only read the parameters of a strategy that is there. */
function rollingOf(strategy: Json | undefined): Fields {
  if (!isRecord(strategy) || strategy.type !== rollingUpdate || isGiven(strategy.rollingUpdate)) return {};
  return { 'strategy.rollingUpdate': { maxUnavailable: '25%', maxSurge: '25%' } };
}

/** What the update strategy lacks: everything, its type, its parameters, or one of them. */
function updateStrategyOf({ updateStrategy: given }: Spec, parameters: { [field: string]: Json }): Fields {
  if (!isRecord(given)) return { updateStrategy: { type: rollingUpdate, rollingUpdate: parameters } };
  const { type, rollingUpdate: own } = given;
  if (isGiven(type) && type !== rollingUpdate) return {};
  const withType: Fields = isGiven(type) ? {} : { 'updateStrategy.type': rollingUpdate };
  if (!isRecord(own)) return { ...withType, 'updateStrategy.rollingUpdate': parameters };
  const missing = Object.entries(parameters).filter(([name]) => !isGiven(own[name]));
  return {
    ...withType,
    ...Object.fromEntries(missing.map(([name, value]) => [`updateStrategy.rollingUpdate.${name}`, value])),
  };
}

/** A Job without both fields runs one pod. With parallelism alone, its pods decide when it ends. */
function jobSizeOf({ completions, parallelism }: Spec): Fields {
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
export const fillIn: WriteAdmission = ({ operation, key, object, old, subresource }) => {
  if (operation === 'delete' || !object || (subresource !== undefined && subresource !== 'scale')) return;
  const filling = fillings[formatGroupResource(key)];
  if (!filling) return;
  const written = asWritten(object, old, (spec) => filling(key, spec));
  let spec = written;
  const names: string[] = [];
  for (const [path, value] of Object.entries(filling(key, written))) {
    const own = valueAt(spec, path);
    // An object that was copied has the address of the Service from which it was copied.
    if (isGiven(own) && !isShownAddress(own)) continue;
    spec = withValueAt(spec, path, value);
    names.push(path);
  }
  object.spec = spec;
  note(object, names);
};

/**
 * The spec without the values that the space has filled in: those that it would fill in again, and those that nobody has changed since. The latter matters when
 * another field is changed: the parameters of a rolling update are wrong after a change of the strategy to `Recreate`.
 */
function asWritten(object: KubeObject, old: KubeObject | undefined, filling: (spec: Spec) => Fields): Spec {
  const before = new Set(old ? filledIn(old) : []);
  let spec = (object.spec ?? {}) as Spec;
  for (const path of filledIn(object)) {
    const value = valueAt(spec, path);
    const rest = withValueAt(spec, path, undefined);
    const isUnchanged = before.has(path) && isSame(value, valueAt(old?.spec as Spec | undefined, path));
    if (isUnchanged || isSame(value, filling(rest)[path])) spec = rest;
  }
  return spec;
}

/** The object as it travels: without the fields that its space has filled in. */
export function withoutFilledIn(object: KubeObject): KubeObject {
  const names = filledIn(object);
  if (names.length === 0) return object;
  const spec = names.reduce((rest, path) => withValueAt(rest, path, undefined), (object.spec ?? {}) as Spec);
  const { [annotation]: _names, ...annotations } = object.metadata.annotations ?? {};
  return { ...object, metadata: { ...object.metadata, annotations }, spec };
}

function isGiven(value: Json | undefined): value is Json {
  return value !== undefined && value !== null;
}

function isSame(a: Json | undefined, b: Json | undefined): boolean {
  return isGiven(a) && isGiven(b) && stableStringify(a) === stableStringify(b);
}

function valueAt(spec: Json | Spec | undefined, path: string): Json | undefined {
  return path.split('.').reduce((at: unknown, name) => (isRecord(at) ? at[name] : undefined), spec) as Json | undefined;
}

/** A copy with another value at the path. Undefined: without a value. Unchanged if there is nothing above the path. */
function withValueAt(spec: Spec, path: string, value: Json | undefined): Spec {
  const [name = '', ...below] = path.split('.');
  if (below.length > 0) {
    const at = spec[name];
    return isRecord(at) ? { ...spec, [name]: withValueAt(at as Spec, below.join('.'), value) as Json } : spec;
  }
  const { [name]: _value, ...rest } = spec;
  return value === undefined ? rest : { ...spec, [name]: value };
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
