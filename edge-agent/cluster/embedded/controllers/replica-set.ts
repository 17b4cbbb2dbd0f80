/** ReplicaSets: keeps as many pods of one template as the spec requires. */
import type { GroupResource, ObjectKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import type { Clock } from '../../../../core/runtime/clock.ts';
import { type Controller, ownerWatch } from './controller.ts';
import type { Objects } from './objects.ts';
import {
  availableInMs,
  deletionOrder,
  isActive,
  isReady,
  newPod,
  type Pod,
  type PodTemplate,
  podResource,
  smallest,
} from './pods.ts';

export interface ReplicaSet extends KubeObject {
  spec: { replicas?: number; template?: PodTemplate; minReadySeconds?: number; selector?: unknown };
  status?: { replicas?: number; readyReplicas?: number; availableReplicas?: number };
}

export const replicaSetResource: GroupResource = { group: 'apps', resource: 'replicasets' };

export class ReplicaSetController implements Controller {
  readonly name = 'replicaset-controller';
  readonly resource = replicaSetResource;
  readonly watches = [ownerWatch(podResource, { ...replicaSetResource, kind: 'ReplicaSet' })];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  reconcile(object: KubeObject, key: ObjectKey, objects: Objects): number | undefined {
    const set = object as ReplicaSet;
    const { replicas = 1, template = {}, minReadySeconds = 0 } = set.spec;
    const owned = objects.list(podResource, { namespace: key.namespace, ownedBy: set.metadata.uid ?? '' }) as Pod[];
    const pods = owned.filter(isActive);
    for (let i = pods.length; i < replicas; i++) {
      pods.push(objects.create(newPod(set, template, { generateName: `${key.name}-` })) as Pod);
    }
    const excess = pods.length - replicas;
    const leaving = new Set(excess > 0 ? [...pods].sort(deletionOrder).slice(0, excess) : []);
    for (const pod of leaving) objects.delete(pod);
    const staying = pods.filter((pod) => !leaving.has(pod));
    const nowMs = this.#clock.wallMs();
    const delays = staying.map((pod) => availableInMs(pod, minReadySeconds, nowMs));
    const ready = staying.filter(isReady).length;
    const available = delays.filter((delay) => delay === 0).length;
    objects.writeStatus(set, {
      observedGeneration: set.metadata.generation ?? 1,
      replicas: staying.length,
      ...(staying.length > 0 ? { fullyLabeledReplicas: staying.length } : {}),
      ...(ready > 0 ? { readyReplicas: ready } : {}),
      ...(available > 0 ? { availableReplicas: available } : {}),
    });
    return smallest(delays);
  }
}
