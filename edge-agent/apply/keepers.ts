/** Finds who else maintains an object: a controller, a server-side applier, or a program that marks its objects in another way. */
import type { Json, KubeObject, ManagedFieldsEntry, ObjectMeta } from '../../core/object/meta.ts';
import { agentFieldManager } from '../cluster/mark.ts';

/**
 * Returns why the agent must not take over an existing object that has no mark of an agent. Either a controller owns the object, or another program maintains
 * it and would undo the agent's changes again and again. Undefined: the agent is allowed to take the object over.
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
 * Returns the program that maintains the object. The labels and annotations that the program writes on its objects show this. If one program works through
 * another, the result is the program that people configure. kubectl's last-applied-configuration alone does not count: somebody may have applied a Namespace
 * at a site before anything was placed in it, and not maintain it afterwards.
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
 * Returns the Argo CD application of the object, from an annotation or a label (https://argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking/).
 * Objects of ordinary charts and of people also have the usual label, so this label counts only if Argo CD has applied the object. A Namespace that Argo CD
 * creates for other objects does not have the label.
 */
function argoApplicationOf({ labels = {}, annotations = {}, managedFields = [] }: ObjectMeta): string | undefined {
  // For example `shop:apps/Deployment:retail/till`. If Argo CD has applications in several namespaces, the namespace and `_` come before the name.
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

/** Whether Argo CD has applied the object, in the way of kubectl. Other writes of Argo CD, such as the status of its Applications, do not count. */
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

/** Longest name in a message. No cluster accepts a longer name. */
const nameMax = 253;

function named(kind: string, name: string, namespace?: string): string {
  return `the ${kind} ${name.slice(0, nameMax)}${namespace === undefined ? '' : ` in namespace ${namespace.slice(0, nameMax)}`}`;
}
