/**
 * Handles an object in a version that the cluster does not serve, if the cluster serves the kind in another version. An API server converts between the
 * versions that it knows; an agent knows none. If a server would change only the apiVersion, the agent does the same. Otherwise the agent reports which
 * versions the cluster serves (decision 0034).
 */
import { parseKey } from '../../core/object/key.ts';
import { formatApiVersion, type KubeObject, parseApiVersion } from '../../core/object/meta.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Cluster, ServedResource } from '../cluster/cluster.ts';
import { definitionKeyOf } from './order.ts';

export type InServedVersion =
  | { readonly object: KubeObject }
  /** `why` names the versions that the cluster serves instead. Undefined: the cluster serves no version of the kind. */
  | { readonly why: string | undefined };

/**
 * Versions of one kind with the same fields, defaults and meaning: the conversions of Kubernetes change only the version
 * (pkg/apis/GROUP/VERSION/zz_generated.conversion.go, conversion.go and defaults.go of each release that had both).
 */
const alike: readonly {
  readonly group: string;
  readonly kinds: readonly string[];
  readonly versions: readonly string[];
}[] = [
  {
    group: 'admissionregistration.k8s.io',
    kinds: ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'],
    versions: ['v1', 'v1beta1'],
  },
  {
    group: 'apps',
    kinds: ['ControllerRevision', 'DaemonSet', 'Deployment', 'ReplicaSet', 'StatefulSet'],
    versions: ['v1', 'v1beta2'],
  },
  { group: 'autoscaling', kinds: ['HorizontalPodAutoscaler'], versions: ['v2', 'v2beta2'] },
  { group: 'batch', kinds: ['CronJob'], versions: ['v1', 'v1beta1'] },
  { group: 'networking.k8s.io', kinds: ['IPAddress', 'IngressClass', 'ServiceCIDR'], versions: ['v1', 'v1beta1'] },
  { group: 'node.k8s.io', kinds: ['RuntimeClass'], versions: ['v1', 'v1beta1'] },
  { group: 'policy', kinds: ['PodDisruptionBudget'], versions: ['v1', 'v1beta1'] },
  {
    group: 'rbac.authorization.k8s.io',
    kinds: ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'],
    versions: ['v1', 'v1beta1'],
  },
  { group: 'scheduling.k8s.io', kinds: ['PriorityClass'], versions: ['v1', 'v1beta1'] },
  {
    group: 'storage.k8s.io',
    kinds: ['CSIStorageCapacity', 'StorageClass', 'VolumeAttributesClass'],
    versions: ['v1', 'v1beta1'],
  },
];

/** Returns the object in a version that the cluster serves. Throws Unavailable if the agent does not know what the cluster serves. */
export async function asServed(cluster: Cluster, key: string, object: KubeObject): Promise<InServedVersion> {
  if ((await cluster.resourceOf(object.apiVersion, object.kind)) !== undefined) return { object };
  const why = (await cluster.unknownGroups?.())?.get(parseKey(key).group);
  if (why !== undefined) throw new BanyanError('Unavailable', why);
  const definitionKey = definitionKeyOf(parseKey(key));
  const definition = definitionKey === undefined ? undefined : await readIfAllowed(cluster, definitionKey);
  return inServedVersion(object, await cluster.served(), definition);
}

/** Returns the object; undefined also if the agent has no permission to read it. */
async function readIfAllowed(cluster: Cluster, key: string): Promise<KubeObject | undefined> {
  try {
    return await cluster.get(parseKey(key));
  } catch (error) {
    if (error instanceof BanyanError && error.code === 'Forbidden') return undefined;
    throw error;
  }
}

/** `definition`: the CustomResourceDefinition of the kind on the cluster, if there is one. */
export function inServedVersion(
  object: KubeObject,
  served: readonly ServedResource[],
  definition: KubeObject | undefined,
): InServedVersion {
  const { group, version } = parseApiVersion(object.apiVersion);
  const { kind } = object;
  const servedKind = served.find((one) => one.group === group && one.kind === kind);
  if (!servedKind) return { why: servedInOtherGroup(group, kind, served) };
  const equal = servedKind.versions.find((other) => isAlike(group, kind, version, other));
  const other = equal ?? (definition && isOnlyRenamed(definition, version) ? servedKind.versions[0] : undefined);
  const differs = other === undefined ? undefined : meaningDiffers(object);
  if (other !== undefined && differs === undefined)
    return { object: { ...object, apiVersion: formatApiVersion(group, other) } };
  const instead = servedKind.versions.map((one) => formatApiVersion(group, one)).join(', ');
  return {
    why: `it serves it as ${instead}, and ${differs ?? 'their fields are not the same: only an API server that knows both can convert them'}; write the object as ${formatApiVersion(group, servedKind.versions[0] ?? '')}`,
  };
}

function isAlike(group: string, kind: string, version: string, other: string): boolean {
  return alike.some(
    (one) =>
      one.group === group && one.kinds.includes(kind) && one.versions.includes(version) && one.versions.includes(other),
  );
}

/**
 * Returns how the meaning of the object differs between the versions. In v1beta1 of PodDisruptionBudget, an empty selector selected no pod. In v1, an empty
 * selector selects every pod.
 */
function meaningDiffers({ kind, spec }: KubeObject): string | undefined {
  const { selector } = (spec ?? {}) as { selector?: { matchLabels?: object; matchExpressions?: unknown[] } };
  if (kind !== 'PodDisruptionBudget' || !selector) return undefined;
  const isEmpty =
    Object.keys(selector.matchLabels ?? {}).length === 0 && (selector.matchExpressions ?? []).length === 0;
  return isEmpty ? 'an empty spec.selector selects no pod in the one and every pod in the other' : undefined;
}

/** Whether an API server itself would change only the version: the definition has the strategy None, and lists the version. */
function isOnlyRenamed({ spec }: KubeObject, version: string): boolean {
  const { conversion, versions = [] } = (spec ?? {}) as {
    conversion?: { strategy?: string };
    versions?: readonly { name?: string }[];
  };
  return (conversion?.strategy ?? 'None') === 'None' && versions.some(({ name }) => name === version);
}

/**
 * Returns the versions that the cluster serves instead of `extensions`. Every kind of this old group has its own group today, with other fields or defaults.
 */
function servedInOtherGroup(group: string, kind: string, served: readonly ServedResource[]): string | undefined {
  const others = group === 'extensions' ? served.filter((one) => one.kind === kind) : [];
  if (others.length === 0) return undefined;
  const names = others.flatMap((one) => one.versions.map((version) => formatApiVersion(one.group, version)));
  return `it serves ${names.join(', ')}, whose fields or defaults are not the same; write the object in that version`;
}
