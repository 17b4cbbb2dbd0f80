/**
 * Defaults of Kubernetes for fields that tools read when they wait: helm 3 ends with an error if a Job has no `backoffLimit`, or a strategy `RollingUpdate` no
 * parameters; kubectl and Argo CD compare counts with `spec.replicas`. The schemas here have no defaults of built-in kinds.
 */
import { formatGroupResource, type GroupResource } from '../../object/key.ts';
import type { Json } from '../../object/meta.ts';
import { isRecord } from '../../runtime/is-record.ts';

export type Spec = { [field: string]: Json | undefined };
/** Values by their paths below `spec`, such as `strategy.rollingUpdate`. */
export type SpecDefaults = Readonly<Record<string, Json>>;

const rollingUpdate = 'RollingUpdate';

const defaults: Readonly<Record<string, (spec: Spec) => SpecDefaults>> = {
  'deployments.apps': ({ strategy }) => ({ replicas: 1, ...rollingOf(strategy) }),
  'replicasets.apps': () => ({ replicas: 1 }),
  replicationcontrollers: () => ({ replicas: 1 }),
  'statefulsets.apps': (spec) => ({ replicas: 1, ...updateStrategyOf(spec, { partition: 0 }) }),
  'daemonsets.apps': (spec) => updateStrategyOf(spec, { maxUnavailable: 1, maxSurge: 0 }),
  'jobs.batch': (spec) => ({ backoffLimit: 6, ...jobSizeOf(spec) }),
  pods: () => ({ restartPolicy: 'Always' }),
};

/** The defaults that the spec may lack. Undefined: the kind has none. */
export function toolDefaults(of: GroupResource, spec: Spec): SpecDefaults | undefined {
  return defaults[formatGroupResource(of)]?.(spec);
}

/** The spec with the defaults that it lacks. */
export function withToolDefaults(of: GroupResource, spec: Spec): Spec {
  const missing = Object.entries(toolDefaults(of, spec) ?? {}).filter(([path]) => !isGiven(valueAt(spec, path)));
  return missing.reduce((filled, [path, value]) => withValueAt(filled, path, value), spec);
}

/** A Deployment without a strategy needs none here: tools only read the parameters of a strategy that is there. */
function rollingOf(strategy: Json | undefined): SpecDefaults {
  if (!isRecord(strategy) || strategy.type !== rollingUpdate || isGiven(strategy.rollingUpdate)) return {};
  return { 'strategy.rollingUpdate': { maxUnavailable: '25%', maxSurge: '25%' } };
}

/** The missing parts of the update strategy: all of it, its type, its parameters, or one of them. */
function updateStrategyOf({ updateStrategy: given }: Spec, parameters: { [field: string]: Json }): SpecDefaults {
  if (!isRecord(given)) return { updateStrategy: { type: rollingUpdate, rollingUpdate: parameters } };
  const { type, rollingUpdate: own } = given;
  if (isGiven(type) && type !== rollingUpdate) return {};
  const withType: SpecDefaults = isGiven(type) ? {} : { 'updateStrategy.type': rollingUpdate };
  if (!isRecord(own)) return { ...withType, 'updateStrategy.rollingUpdate': parameters };
  const missing = Object.entries(parameters).filter(([name]) => !isGiven(own[name]));
  return {
    ...withType,
    ...Object.fromEntries(missing.map(([name, value]) => [`updateStrategy.rollingUpdate.${name}`, value])),
  };
}

/** A Job without both fields runs one pod. With parallelism alone, its pods decide when it ends. */
function jobSizeOf({ completions, parallelism }: Spec): SpecDefaults {
  return completions === undefined && parallelism !== undefined && parallelism !== 1
    ? {}
    : { completions: 1, parallelism: 1 };
}

export function isGiven(value: Json | undefined): value is Json {
  return value !== undefined && value !== null;
}

export function valueAt(spec: Json | Spec | undefined, path: string): Json | undefined {
  return path.split('.').reduce((at: unknown, name) => (isRecord(at) ? at[name] : undefined), spec) as Json | undefined;
}

/** A copy with another value at the path. Undefined: without a value. Unchanged if there is nothing above the path. */
export function withValueAt(spec: Spec, path: string, value: Json | undefined): Spec {
  const [name = '', ...below] = path.split('.');
  if (below.length > 0) {
    const at = spec[name];
    return isRecord(at) ? { ...spec, [name]: withValueAt(at as Spec, below.join('.'), value) as Json } : spec;
  }
  const { [name]: _value, ...rest } = spec;
  return value === undefined ? rest : { ...spec, [name]: value };
}
