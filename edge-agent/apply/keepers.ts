/** Who else keeps an object: a controller, whoever applies it server-side, and programs that say so on it in another way. */
import type { Json, KubeObject, ManagedFieldsEntry, ObjectMeta } from '../../core/object/meta.ts';
import { agentFieldManager } from '../cluster/mark.ts';

/**
 * Why an object that exists without our mark must not be taken over; undefined: it may be. Someone's controller owns it, or
 * someone keeps it, by server-side apply or in another way, and would fight for it.
 */
export function foreignOwner(live: KubeObject): string | undefined {
  const owner = live.metadata.ownerReferences?.[0];
  if (owner) return `${owner.kind} ${owner.name} owns it`;
  const keeper = keeperOf(live.metadata);
  if (keeper !== undefined) return `${keeper} keeps it`;
  const applier = live.metadata.managedFields?.find(
    (entry) => entry.operation === 'Apply' && entry.manager !== agentFieldManager,
  );
  return applier && `${applier.manager ?? 'another manager'} keeps it by server-side apply`;
}

/**
 * The program that keeps it, by what that writes on its objects; where one works through another, the one that is told what to keep. kubectl's
 * last-applied-configuration alone is no such thing: who applies a Namespace at a site before anything is placed in it does not keep it from then on.
 */
function keeperOf(metadata: ObjectMeta): string | undefined {
  const { labels = {}, annotations = {} } = metadata;
  // https://fluxcd.io/flux/components/helm/helmreleases/ and https://fluxcd.io/flux/components/kustomize/kustomizations/
  const helmRelease = labels['helm.toolkit.fluxcd.io/name'];
  if (helmRelease !== undefined)
    return named('Flux HelmRelease', helmRelease, labels['helm.toolkit.fluxcd.io/namespace']);
  const kustomization = labels['kustomize.toolkit.fluxcd.io/name'];
  if (kustomization !== undefined)
    return named('Flux Kustomization', kustomization, labels['kustomize.toolkit.fluxcd.io/namespace']);
  // https://helm.sh/docs/chart_best_practices/labels/
  const release = annotations['meta.helm.sh/release-name'];
  if (release !== undefined) return named('Helm release', release, annotations['meta.helm.sh/release-namespace']);
  const application = argoApplicationOf(metadata);
  return application === undefined ? undefined : named('Argo CD application', application);
}

/**
 * By https://argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking/: in an annotation, or in a label. The usual label is on objects of ordinary charts and
 * people too, and says nothing before Argo CD has applied the object; a Namespace that it has made for others to be in has no such label.
 */
function argoApplicationOf({ labels = {}, annotations = {}, managedFields = [] }: ObjectMeta): string | undefined {
  // `shop:apps/Deployment:retail/till`, with the namespace and a `_` before it where applications may be in several.
  const [tracked] = annotations['argocd.argoproj.io/tracking-id']?.split(':') ?? [];
  const own = tracked ?? labels['argocd.argoproj.io/instance'];
  return own ?? (managedFields.some(isArgoApply) ? labels[instanceLabel] : undefined);
}

const instanceLabel = 'app.kubernetes.io/instance';
/** In managedFields: as it has it written since it has a name of its own there, and as its program is called, which an API server takes where none is given. */
const argoManagers = new Set(['argocd-controller', 'argocd-application-controller']);

/** It applies as kubectl does; what it writes otherwise, such as the status of its Applications, is not meant. */
function isArgoApply(entry: ManagedFieldsEntry): boolean {
  return (
    argoManagers.has(entry.manager ?? '') &&
    (owns(entry, 'metadata', 'labels', instanceLabel) ||
      owns(entry, 'metadata', 'annotations', 'kubectl.kubernetes.io/last-applied-configuration'))
  );
}

function owns({ fieldsV1 }: ManagedFieldsEntry, ...path: readonly string[]): boolean {
  let at: Json | undefined = fieldsV1;
  for (const name of path) {
    at = typeof at === 'object' && at !== null && !Array.isArray(at) ? at[`f:${name}`] : undefined;
  }
  return at !== undefined;
}

/** Longer than any name that a cluster takes. */
const nameMax = 253;

function named(kind: string, name: string, namespace?: string): string {
  return `the ${kind} ${name.slice(0, nameMax)}${namespace === undefined ? '' : ` in namespace ${namespace.slice(0, nameMax)}`}`;
}
