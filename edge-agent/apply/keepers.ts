/** Finds who else keeps an object: a controller, a server-side applier, or a program that marks its objects in another way. */
import type { Json, KubeObject, ManagedFieldsEntry, ObjectMeta } from '../../core/object/meta.ts';
import { agentFieldManager } from '../cluster/mark.ts';

/**
 * Why the agent must not take over an existing object without its mark. Undefined: the agent may take it over. A controller may own the object. Or somebody
 * may keep it, by server-side apply or in another way, and would change it back again and again.
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
 * The program that keeps the object, found by what the program writes on its objects. If one program works through another, this is the program that people
 * configure. kubectl's last-applied-configuration alone does not count: somebody may apply a Namespace at a site before anything is placed in it, and not
 * keep it afterwards.
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
 * By https://argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking/: in an annotation, or in a label. Objects of ordinary charts, and of people,
 * have the usual label too, so the label counts only when Argo CD has applied the object. A Namespace that Argo CD creates for other objects does not have
 * this label.
 */
function argoApplicationOf({ labels = {}, annotations = {}, managedFields = [] }: ObjectMeta): string | undefined {
  // `shop:apps/Deployment:retail/till`. With applications in several namespaces, the name has the namespace and `_` before it.
  const [tracked] = annotations['argocd.argoproj.io/tracking-id']?.split(':') ?? [];
  const own = tracked ?? labels['argocd.argoproj.io/instance'];
  return own ?? (managedFields.some(isArgoApply) ? labels[instanceLabel] : undefined);
}

const instanceLabel = 'app.kubernetes.io/instance';
/**
 * Argo CD's names in managedFields. First its own manager name, which newer versions send. Second the name of its program, which an API server uses when the
 * client sends no manager name.
 */
const argoManagers = new Set(['argocd-controller', 'argocd-application-controller']);

/** Argo CD applies objects as kubectl does. Its other writes, such as the status of its Applications, do not count. */
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

/** Longer than any name that a cluster accepts. */
const nameMax = 253;

function named(kind: string, name: string, namespace?: string): string {
  return `the ${kind} ${name.slice(0, nameMax)}${namespace === undefined ? '' : ` in namespace ${namespace.slice(0, nameMax)}`}`;
}
