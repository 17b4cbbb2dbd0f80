/**
 * A cluster that serves HorizontalPodAutoscalers in two versions and prefers the version that is not applied. A single field of `autoscaling/v1` is in a list
 * in `autoscaling/v2` (https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/). The cluster stores and accepts v1.
 */
import type { GroupResource, ObjectKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import type { ClusterWatchOptions, WatchEvents } from '../../../../edge-agent/cluster/cluster.ts';
import { FakeCluster } from './fake-cluster.ts';

export class ConvertingCluster extends FakeCluster {
  /** The number of reads of an object. */
  reads = 0;

  override async get(key: ObjectKey, version = 'v2'): Promise<KubeObject | undefined> {
    this.reads++;
    const object = await super.get(key);
    return object && version === 'v2' ? inV2(object) : object;
  }

  override watch(resource: GroupResource, events: WatchEvents, options?: ClusterWatchOptions): () => void {
    const on: WatchEvents['on'] = (event) => events.on({ ...event, object: inV2(event.object) });
    return super.watch(resource, { ...events, on }, options);
  }
}

export function autoscaler(name: string, averageUtilization: number): KubeObject {
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name };
  const spec = { maxReplicas: 9, scaleTargetRef, targetCPUUtilizationPercentage: averageUtilization };
  return {
    apiVersion: 'autoscaling/v1',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name, namespace: 'shop', labels: { app: name } },
    spec,
  };
}

function inV2(object: KubeObject): KubeObject {
  if (object.apiVersion !== 'autoscaling/v1') return object;
  const { targetCPUUtilizationPercentage: averageUtilization, ...spec } = object.spec as Record<string, unknown>;
  const resource = { name: 'cpu', target: { type: 'Utilization', averageUtilization } };
  return { ...object, apiVersion: 'autoscaling/v2', spec: { ...spec, metrics: [{ type: 'Resource', resource }] } };
}
