/** HorizontalPodAutoscalers. The embedded cluster has no metrics, so the status reports this, and the target keeps its size. */
import { timestamp, withCondition } from '../../../../core/object/conditions.ts';
import type { GroupResource, ObjectKey } from '../../../../core/object/key.ts';
import type { Condition, KubeObject } from '../../../../core/object/meta.ts';
import type { Clock } from '../../../../core/runtime/clock.ts';
import type { Controller, OwnerWatch } from './controller.ts';
import { deploymentResource } from './deployment.ts';
import type { Objects } from './objects.ts';

interface Autoscaler extends KubeObject {
  spec: { scaleTargetRef?: { kind?: string; name?: string } };
  status?: { conditions?: Condition[] };
}

const autoscalerResource: GroupResource = { group: 'autoscaling', resource: 'horizontalpodautoscalers' };

const targets: OwnerWatch = {
  resource: deploymentResource,
  concerned(target, objects) {
    const namespace = target.metadata.namespace ?? '';
    const autoscalers = objects.list(autoscalerResource, { namespace }) as Autoscaler[];
    return autoscalers
      .filter(
        ({ spec }) => spec.scaleTargetRef?.kind === target.kind && spec.scaleTargetRef.name === target.metadata.name,
      )
      .map(({ metadata }) => ({ ...autoscalerResource, namespace, name: metadata.name ?? '' }));
  },
};

export class AutoscalerController implements Controller {
  readonly name = 'horizontal-pod-autoscaler';
  readonly resource = autoscalerResource;
  readonly watches = [targets];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  reconcile(object: KubeObject, key: ObjectKey, objects: Objects): undefined {
    const autoscaler = object as Autoscaler;
    const { kind, name = '' } = autoscaler.spec.scaleTargetRef ?? {};
    const target =
      kind === 'Deployment' ? objects.get({ ...deploymentResource, namespace: key.namespace, name }) : undefined;
    const replicas = (target?.status as { replicas?: number } | undefined)?.replicas ?? 0;
    const now = timestamp(this.#clock.wallMs());
    const able = target
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
      desiredReplicas: replicas,
      conditions: withCondition(withCondition(before, { type: 'AbleToScale', ...able }, now), noMetrics, now),
    });
  }
}
