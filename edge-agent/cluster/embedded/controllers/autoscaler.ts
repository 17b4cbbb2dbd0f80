/**
 * HorizontalPodAutoscalers. The embedded cluster has no metrics. As in Kubernetes, an autoscaler without metrics keeps its target between minReplicas and
 * maxReplicas, and changes nothing else. A target with 0 replicas is switched off.
 */
import { timestamp, withCondition } from '../../../../core/object/conditions.ts';
import type { GroupResource, ObjectKey } from '../../../../core/object/key.ts';
import type { Condition, KubeObject } from '../../../../core/object/meta.ts';
import type { Clock } from '../../../../core/runtime/clock.ts';
import type { Controller, OwnerWatch } from './controller.ts';
import { deploymentResource } from './deployment.ts';
import type { Objects } from './objects.ts';
import { replicaSetResource } from './replica-set.ts';
import { statefulSetResource } from './stateful-set.ts';

interface Autoscaler extends KubeObject {
  spec: { scaleTargetRef?: { kind?: string; name?: string }; minReplicas?: number; maxReplicas?: number };
  status?: { conditions?: Condition[] };
}

const autoscalerResource: GroupResource = { group: 'autoscaling', resource: 'horizontalpodautoscalers' };

/** The kinds that the cluster scales. */
const scaled: Readonly<Record<string, GroupResource>> = {
  Deployment: deploymentResource,
  ReplicaSet: replicaSetResource,
  StatefulSet: statefulSetResource,
};

const targets = Object.values(scaled).map(
  (resource): OwnerWatch => ({
    resource,
    concerned(target, objects) {
      const namespace = target.metadata.namespace ?? '';
      const autoscalers = objects.list(autoscalerResource, { namespace }) as Autoscaler[];
      return autoscalers
        .filter(
          ({ spec }) => spec.scaleTargetRef?.kind === target.kind && spec.scaleTargetRef.name === target.metadata.name,
        )
        .map(({ metadata }) => ({ ...autoscalerResource, namespace, name: metadata.name ?? '' }));
    },
  }),
);

export class AutoscalerController implements Controller {
  readonly name = 'horizontal-pod-autoscaler';
  readonly resource = autoscalerResource;
  readonly watches = targets;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  reconcile(object: KubeObject, { namespace }: ObjectKey, objects: Objects): undefined {
    const autoscaler = object as Autoscaler;
    const { kind = '', name = '' } = autoscaler.spec.scaleTargetRef ?? {};
    const resource = scaled[kind];
    const key = resource && { ...resource, namespace, name };
    const scale = key && objects.scaleOf(key);
    const size = scale && (scale.spec as { replicas?: number }).replicas;
    const wanted = size === undefined ? undefined : withinBounds(size, autoscaler);
    if (key && scale && wanted !== undefined && wanted !== size) objects.resize(key, scale, wanted);
    this.#writeStatus(autoscaler, scale, wanted, objects);
  }

  #writeStatus(
    autoscaler: Autoscaler,
    scale: KubeObject | undefined,
    wanted: number | undefined,
    objects: Objects,
  ): void {
    const replicas = (scale?.status as { replicas?: number } | undefined)?.replicas ?? 0;
    const now = timestamp(this.#clock.wallMs());
    const able = scale
      ? ({ status: 'True', reason: 'SucceededGetScale', message: 'the target was found' } as const)
      : ({ status: 'False', reason: 'FailedGetScale', message: 'the target does not exist' } as const);
    const noMetrics = {
      type: 'ScalingActive',
      status: 'False',
      reason: 'FailedGetResourceMetric',
      message: 'the embedded cluster has no metrics',
    } as const;
    const before = autoscaler.status?.conditions ?? [];
    objects.writeStatus(autoscaler, {
      observedGeneration: autoscaler.metadata.generation ?? 1,
      currentReplicas: replicas,
      desiredReplicas: wanted ?? 0,
      conditions: withCondition(withCondition(before, { type: 'AbleToScale', ...able }, now), noMetrics, now),
    });
  }
}

/** https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/: minReplicas is 1 by default. */
function withinBounds(size: number, { spec: { minReplicas = 1, maxReplicas = size } }: Autoscaler): number {
  return size === 0 ? 0 : Math.max(minReplicas, Math.min(size, maxReplicas));
}
