/**
 * Deployments: one ReplicaSet for each pod template. Replicas move in steps from the old ReplicaSets to the new ReplicaSet, and the status shows the
 * progress.
 */
import type { GroupResource, ObjectKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { isTerminating } from '../../../../core/object/terminating.ts';
import type { Clock } from '../../../../core/runtime/clock.ts';
import { type Controller, ownerWatch } from './controller.ts';
import { type Deployment, deploymentStatus, type PodCounts } from './deployment-status.ts';
import { type Objects, ownerReference } from './objects.ts';
import { templateHash } from './pods.ts';
import { type ReplicaSet, replicaSetResource } from './replica-set.ts';
import { nextSizes, type ReplicaSetView, recreateSizes, rollingUpdate } from './rolling-update.ts';

export const deploymentResource: GroupResource = { group: 'apps', resource: 'deployments' };
const revisionAnnotation = 'deployment.kubernetes.io/revision';
const hashLabel = 'pod-template-hash';
/** Annotations of a Deployment that the Deployment's ReplicaSets do not get. */
const annotationsThatStay = new Set(['kubectl.kubernetes.io/last-applied-configuration', revisionAnnotation]);

/** The ReplicaSets of a Deployment. `current` is the one with the present template, and `revision` its number; a paused Deployment may have none. */
interface Progress {
  readonly sets: readonly ReplicaSet[];
  readonly current?: KubeObject;
  readonly revision?: number;
}

export class DeploymentController implements Controller {
  readonly name = 'deployment-controller';
  readonly resource = deploymentResource;
  readonly watches = [ownerWatch(replicaSetResource, { ...deploymentResource, kind: 'Deployment' })];
  readonly #clock: Clock;
  readonly #progressDeadlineMaxMs: number;

  /** A rollout without progress counts as stuck after the Deployment's own deadline, but not later than after `progressDeadlineMaxMs`. */
  constructor(clock: Clock, progressDeadlineMaxMs: number) {
    this.#clock = clock;
    this.#progressDeadlineMaxMs = progressDeadlineMaxMs;
  }

  reconcile(object: KubeObject, _key: ObjectKey, objects: Objects): number | undefined {
    const deployment = object as Deployment;
    const all = replicaSetsOf(deployment, objects);
    const hash = templateHash(deployment.spec.template);
    const found = all.find((set) => set.metadata.labels?.[hashLabel] === hash);
    const old = all.filter((set) => set !== found);
    if (deployment.spec.paused && !found) return this.#writeStatus(deployment, { sets: all }, objects);
    const current = found ?? objects.create(newReplicaSet(deployment, hash, nextRevision(old)));
    const revision = keepRevision(current as ReplicaSet, old, objects);
    if (!deployment.spec.paused) resize(deployment, current as ReplicaSet, old, objects);
    this.#dropHistory(deployment, old, objects);
    const fresh = objects.get(objectKey(deployment)) as Deployment | undefined;
    return fresh && this.#writeStatus(fresh, { sets: replicaSetsOf(fresh, objects), current, revision }, objects);
  }

  #dropHistory(deployment: Deployment, old: readonly ReplicaSet[], objects: Objects): void {
    const empty = old.filter((set) => (set.spec.replicas ?? 1) === 0 && (set.status?.replicas ?? 0) === 0);
    const excess = empty.length - (deployment.spec.revisionHistoryLimit ?? 10);
    for (const set of empty.slice(0, Math.max(0, excess))) objects.delete(set);
  }

  #writeStatus(deployment: Deployment, { sets, current, revision }: Progress, objects: Objects): number | undefined {
    const mine = current && sets.find((set) => set.metadata.uid === current.metadata.uid);
    const of = (name: 'replicas' | 'readyReplicas' | 'availableReplicas') =>
      sets.reduce((total, set) => total + (set.status?.[name] ?? 0), 0);
    const counts: PodCounts = {
      replicas: of('replicas'),
      updated: mine?.status?.replicas ?? 0,
      ready: of('readyReplicas'),
      available: of('availableReplicas'),
      newest: mine?.metadata.name ?? '',
    };
    const { status, againMs } = deploymentStatus(deployment, counts, this.#clock.wallMs(), this.#progressDeadlineMaxMs);
    const { metadata } = revision === undefined ? deployment : annotated(deployment, revision);
    objects.writeStatus(deployment, status, metadata.annotations);
    return againMs;
  }
}

/** Gives the ReplicaSet of the present template the newest revision, and returns the revision. The template may have been used before (a rollback). */
function keepRevision(current: ReplicaSet, old: readonly ReplicaSet[], objects: Objects): number {
  const revision = Math.max(revisionOf(current), nextRevision(old));
  if (revisionOf(current) !== revision) objects.update(current, annotated(current, revision));
  return revision;
}

function replicaSetsOf(deployment: Deployment, objects: Objects): ReplicaSet[] {
  const { namespace = '', uid = '' } = deployment.metadata;
  const sets = objects.list(replicaSetResource, { namespace, ownedBy: uid }) as ReplicaSet[];
  return sets.filter((set) => !isTerminating(set)).sort((a, b) => revisionOf(a) - revisionOf(b));
}

function newReplicaSet(deployment: Deployment, hash: string, revision: number): KubeObject {
  const { template, selector = {}, minReadySeconds } = deployment.spec;
  const { name, namespace, annotations = {} } = deployment.metadata;
  const labels = { ...template.metadata?.labels, [hashLabel]: hash };
  const kept = Object.entries(annotations).filter(([key]) => !annotationsThatStay.has(key));
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${name}-${hash}`,
      ...(namespace === undefined ? {} : { namespace }),
      labels,
      annotations: { ...Object.fromEntries(kept), [revisionAnnotation]: `${revision}` },
      ownerReferences: [ownerReference(deployment)],
    },
    spec: {
      replicas: 0,
      ...(minReadySeconds ? { minReadySeconds } : {}),
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [hashLabel]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

function resize(deployment: Deployment, current: ReplicaSet, old: readonly ReplicaSet[], objects: Objects): void {
  const { replicas = 1, strategy } = deployment.spec;
  const oldPods = old.reduce((total, set) => total + (set.status?.replicas ?? 0), 0);
  const sizes =
    strategy?.type === 'Recreate'
      ? recreateSizes(replicas, view(current), old.map(view), oldPods)
      : nextSizes(rollingUpdate(replicas, strategy?.rollingUpdate), view(current), old.map(view));
  for (const set of [current, ...old]) {
    const size = sizes.get(set.metadata.name ?? '');
    const fresh = size === undefined ? undefined : (objects.get(setKey(set)) as ReplicaSet | undefined);
    if (fresh) objects.update(fresh, { ...fresh, spec: { ...fresh.spec, replicas: size } });
  }
}

function view(set: ReplicaSet): ReplicaSetView {
  // A status may be older than the present size. So the ReplicaSet counts with no more available pods than it should have pods.
  const replicas = set.spec.replicas ?? 1;
  return { name: set.metadata.name ?? '', replicas, available: Math.min(replicas, set.status?.availableReplicas ?? 0) };
}

function nextRevision(old: readonly KubeObject[]): number {
  return Math.max(0, ...old.map(revisionOf)) + 1;
}

function revisionOf(object: KubeObject): number {
  return Number(object.metadata.annotations?.[revisionAnnotation] ?? 0);
}

function annotated<T extends KubeObject>(object: T, revision: number): T {
  const annotations = { ...object.metadata.annotations, [revisionAnnotation]: `${revision}` };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

function setKey(set: ReplicaSet): ObjectKey {
  return { ...replicaSetResource, namespace: set.metadata.namespace ?? '', name: set.metadata.name ?? '' };
}

function objectKey(deployment: Deployment): ObjectKey {
  const { namespace = '', name = '' } = deployment.metadata;
  return { ...deploymentResource, namespace, name };
}
