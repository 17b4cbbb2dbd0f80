/** DaemonSets: one pod on each node. An update replaces as many pods at once as maxUnavailable allows. */
import type { GroupResource, ObjectKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { isTerminating } from '../../../../core/object/terminating.ts';
import { type Controller, ownerWatch } from './controller.ts';
import type { Objects } from './objects.ts';
import { isActive, isReady, newPod, type Pod, type PodTemplate, podResource, templateHash } from './pods.ts';
import { resolve } from './rolling-update.ts';

export interface DaemonSet extends KubeObject {
  spec: {
    template: PodTemplate;
    updateStrategy?: { type?: string; rollingUpdate?: { maxUnavailable?: number | string } };
  };
}

const daemonSetResource: GroupResource = { group: 'apps', resource: 'daemonsets' };
const nodeResource: GroupResource = { group: '', resource: 'nodes' };
const revisionLabel = 'controller-revision-hash';

export class DaemonSetController implements Controller {
  readonly name = 'daemonset-controller';
  readonly resource = daemonSetResource;
  readonly watches = [ownerWatch(podResource, { ...daemonSetResource, kind: 'DaemonSet' })];

  reconcile(object: KubeObject, key: ObjectKey, objects: Objects): undefined {
    const set = object as DaemonSet;
    const revision = templateHash(set.spec.template);
    const nodes = objects.list(nodeResource).map((node) => node.metadata.name ?? '');
    const owned = objects.list(podResource, { namespace: key.namespace, ownedBy: set.metadata.uid ?? '' }) as Pod[];
    for (const pod of owned) if (!isActive(pod) && !isTerminating(pod)) objects.delete(pod);
    const pods = owned.filter(isActive);
    for (const name of nodes) {
      if (pods.some((pod) => pod.spec?.nodeName === name)) continue;
      const pod = newPod(set, set.spec.template, { generateName: `${key.name}-` }, { [revisionLabel]: revision });
      pods.push(objects.create({ ...pod, spec: { ...pod.spec, nodeName: name } }) as Pod);
    }
    const replaced = new Set(this.#replaceable(set, pods, revision, nodes.length));
    for (const pod of replaced) objects.delete(pod);
    const staying = pods.filter((pod) => !replaced.has(pod));
    const ready = staying.filter(isReady).length;
    const updated = staying.filter((pod) => pod.metadata.labels?.[revisionLabel] === revision).length;
    objects.writeStatus(set, {
      observedGeneration: set.metadata.generation ?? 1,
      desiredNumberScheduled: nodes.length,
      currentNumberScheduled: staying.length,
      numberMisscheduled: 0,
      numberReady: ready,
      updatedNumberScheduled: updated,
      numberAvailable: ready,
      ...(nodes.length > ready ? { numberUnavailable: nodes.length - ready } : {}),
    });
  }

  #replaceable(set: DaemonSet, pods: readonly Pod[], revision: string, nodes: number): Pod[] {
    if (set.spec.updateStrategy?.type === 'OnDelete') return [];
    const outdated = pods.filter((pod) => pod.metadata.labels?.[revisionLabel] !== revision);
    const broken = outdated.filter((pod) => !isReady(pod));
    const unready = pods.filter((pod) => !isReady(pod)).length;
    const allowed = Math.max(1, resolve(set.spec.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1, nodes, Math.ceil));
    const healthy = outdated.filter(isReady).slice(0, Math.max(0, allowed - unready));
    return [...broken, ...healthy];
  }
}
