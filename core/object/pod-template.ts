/** Finds the pod spec in the kinds that have one. */

import { isRecord } from '../runtime/is-record.ts';
import type { KubeObject } from './meta.ts';

export type Values = Readonly<Record<string, unknown>>;

export interface PodSpecOf {
  /** `spec.template.spec` */
  readonly path: string;
  readonly spec: Values;
}

const templated = 'spec.template.spec';
const paths: Readonly<Record<string, string>> = {
  CronJob: 'spec.jobTemplate.spec.template.spec',
  DaemonSet: templated,
  Deployment: templated,
  Job: templated,
  Pod: 'spec',
  PodTemplate: 'template.spec',
  ReplicaSet: templated,
  ReplicationController: templated,
  StatefulSet: templated,
};

/** Undefined: the kind has no pod spec, or this object has none. */
export function podSpecOf(kind: string, object: KubeObject): PodSpecOf | undefined {
  const path = paths[kind];
  const spec = path?.split('.').reduce<unknown>((value, name) => (isRecord(value) ? value[name] : undefined), object);
  return path !== undefined && isRecord(spec) ? { path, spec } : undefined;
}

/** All containers, in the order in which an API server visits them, each with its path. */
export function containersOf({ path, spec }: PodSpecOf): { path: string; container: Values }[] {
  return ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) =>
    recordsIn(spec, list).map((container, i) => ({ path: `${path}.${list}[${i}]`, container })),
  );
}

/** The items of a list of objects. */
export function recordsIn(values: Values, name: string): Values[] {
  const list = values[name];
  return Array.isArray(list) ? list.filter(isRecord) : [];
}
