/**
 * StatefulSets: pods with ordinals, created in the order of their ordinals, and updated from the last to the first. Each pod has its own claims. The claims
 * stay when the pod is deleted.
 *
 * The controller does not keep old templates (no ControllerRevisions). So a lost pod below the partition is created again with the new template.
 */
import type { GroupResource, ObjectKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { isTerminating } from '../../../../core/object/terminating.ts';
import { type Controller, ownerWatch } from './controller.ts';
import type { Objects } from './objects.ts';
import { isReady, newPod, type Pod, type PodTemplate, podKey, podResource, positive, templateHash } from './pods.ts';

export interface StatefulSet extends KubeObject {
  spec: {
    replicas?: number;
    serviceName?: string;
    template: PodTemplate;
    podManagementPolicy?: string;
    updateStrategy?: { type?: string; rollingUpdate?: { partition?: number } };
    volumeClaimTemplates?: KubeObject[];
  };
  status?: { currentRevision?: string; [field: string]: unknown };
}

export const statefulSetResource: GroupResource = { group: 'apps', resource: 'statefulsets' };
const claimResource: GroupResource = { group: '', resource: 'persistentvolumeclaims' };
const revisionLabel = 'controller-revision-hash';

export class StatefulSetController implements Controller {
  readonly name = 'statefulset-controller';
  readonly resource = statefulSetResource;
  readonly watches = [ownerWatch(podResource, { ...statefulSetResource, kind: 'StatefulSet' })];

  reconcile(object: KubeObject, key: ObjectKey, objects: Objects): undefined {
    const set = object as StatefulSet;
    const revision = `${key.name}-${templateHash(set.spec.template)}`;
    this.#step(set, key, revision, objects);
    const pods = podsOf(set, key, objects);
    const { replicas = 1 } = set.spec;
    const updated = pods.filter((pod) => pod.metadata.labels?.[revisionLabel] === revision).length;
    const ready = pods.filter(isReady).length;
    const done = updated === replicas && pods.length === replicas && ready === replicas;
    const currentRevision = done ? revision : (set.status?.currentRevision ?? revision);
    const current = pods.filter((pod) => pod.metadata.labels?.[revisionLabel] === currentRevision).length;
    objects.writeStatus(set, {
      observedGeneration: set.metadata.generation ?? 1,
      replicas: pods.length,
      ...positive({ readyReplicas: ready, currentReplicas: current, updatedReplicas: updated }),
      availableReplicas: ready,
      currentRevision,
      updateRevision: revision,
      collisionCount: 0,
    });
  }

  /** Changes at most one pod at a time, except with the policy Parallel. */
  #step(set: StatefulSet, key: ObjectKey, revision: string, objects: Objects): void {
    const { replicas = 1, podManagementPolicy, updateStrategy } = set.spec;
    const parallel = podManagementPolicy === 'Parallel';
    for (let ordinal = 0; ordinal < replicas; ordinal++) {
      const pod = objects.get(podKey(key.namespace, `${key.name}-${ordinal}`)) as Pod | undefined;
      if (!pod) this.#create(set, key, ordinal, revision, objects);
      if ((!pod || !isReady(pod)) && !parallel) {
        const outdated = pod && !isTerminating(pod) && pod.metadata.labels?.[revisionLabel] !== revision;
        // A pod that can never become ready with its old template must not delay its own update.
        if (outdated && updateStrategy?.type !== 'OnDelete') objects.delete(pod);
        return;
      }
    }
    const pods = podsOf(set, key, objects);
    const beyond = pods.filter((pod) => ordinalOf(pod) >= replicas);
    if (beyond.length > 0) {
      for (const pod of parallel ? beyond : beyond.slice(-1)) if (!isTerminating(pod)) objects.delete(pod);
      return;
    }
    if (updateStrategy?.type === 'OnDelete') return;
    const partition = updateStrategy?.rollingUpdate?.partition ?? 0;
    const outdated = pods.filter(
      (pod) => pod.metadata.labels?.[revisionLabel] !== revision && ordinalOf(pod) >= partition,
    );
    const last = outdated.at(-1);
    if (last && !isTerminating(last)) objects.delete(last);
  }

  #create(set: StatefulSet, key: ObjectKey, ordinal: number, revision: string, objects: Objects): void {
    const name = `${key.name}-${ordinal}`;
    const templates = set.spec.volumeClaimTemplates ?? [];
    for (const template of templates) {
      const claim = `${template.metadata.name}-${name}`;
      if (objects.get({ ...claimResource, namespace: key.namespace, name: claim })) continue;
      objects.create({
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: claim, namespace: key.namespace, labels: { ...set.spec.template.metadata?.labels } },
        spec: template.spec,
      });
    }
    const labels = { 'statefulset.kubernetes.io/pod-name': name, 'apps.kubernetes.io/pod-index': `${ordinal}` };
    const pod = newPod(set, set.spec.template, { name }, { ...labels, [revisionLabel]: revision });
    const claimed = templates.map((template) => ({
      name: template.metadata.name ?? '',
      persistentVolumeClaim: { claimName: `${template.metadata.name}-${name}` },
    }));
    const kept = (pod.spec?.volumes ?? []).filter((volume) => !claimed.some((one) => one.name === volume.name));
    const { serviceName } = set.spec;
    objects.create({
      ...pod,
      spec: {
        ...pod.spec,
        hostname: name,
        ...(serviceName === undefined ? {} : { subdomain: serviceName }),
        ...(kept.length + claimed.length > 0 ? { volumes: [...kept, ...claimed] } : {}),
      },
    });
  }
}

/** The pods of the set, sorted by ordinal. */
function podsOf(set: StatefulSet, key: ObjectKey, objects: Objects): Pod[] {
  const pods = objects.list(podResource, { namespace: key.namespace, ownedBy: set.metadata.uid ?? '' }) as Pod[];
  return pods.sort((a, b) => ordinalOf(a) - ordinalOf(b));
}

function ordinalOf(pod: Pod): number {
  const name = pod.metadata.name ?? '';
  return Number(name.slice(name.lastIndexOf('-') + 1));
}
