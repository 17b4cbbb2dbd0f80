/** The discovery documents of a space, in the legacy form and in the aggregated form. */
import { ownField } from '../../object/json-value.ts';
import { formatApiVersion } from '../../object/meta.ts';
import type { Kind, Kinds } from '../space.ts';

/** The version of Kubernetes whose API the server implements. Clients derive the available features from this version. */
export const kubernetesVersion = {
  major: '1',
  minor: '34',
  gitVersion: 'v1.34.0-banyan',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: 'node',
  platform: 'linux/amd64',
};

export interface DiscoveryOptions {
  readonly readOnly: boolean;
}

/** A resource without objects: a POST asks a question or does something, and the answer says so. Its place is each space (http/reviews.ts, http/pod-acts.ts). */
interface Review {
  readonly group: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

const review = (group: string, kind: string): Review => ({
  group: `${group}.k8s.io`,
  resource: `${kind.toLowerCase()}s`,
  kind,
  namespaced: kind.startsWith('Local'),
});
const reviews: readonly Review[] = [
  review('authentication', 'SelfSubjectReview'),
  review('authentication', 'TokenReview'),
  review('authorization', 'LocalSubjectAccessReview'),
  review('authorization', 'SelfSubjectAccessReview'),
  review('authorization', 'SelfSubjectRulesReview'),
  review('authorization', 'SubjectAccessReview'),
  { group: '', resource: 'bindings', kind: 'Binding', namespaced: true },
];
const reviewVersion = 'v1';

/** Clients show the kinds in the order of their groups: for example `kubectl get all`. */
const groupOrder = [
  '',
  'apiregistration.k8s.io',
  'apps',
  'events.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'networking.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'storage.k8s.io',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'scheduling.k8s.io',
  'coordination.k8s.io',
  'node.k8s.io',
  'discovery.k8s.io',
  'flowcontrol.apiserver.k8s.io',
];

const readVerbs = ['get', 'list', 'watch'];
const allVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** The versions of each group, beginning with the preferred version. The core group has the empty name. */
export function groupVersions(kinds: Kinds): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const kind of kinds.all()) {
    const versions = groups.get(kind.group) ?? [];
    for (const version of kind.versions) if (!versions.includes(version)) versions.push(version);
    groups.set(kind.group, versions);
  }
  return groups;
}

/** The same, with the groups of resources that have no objects, in the order of a kube-apiserver. */
function discovered(kinds: Kinds): Map<string, string[]> {
  const groups = groupVersions(kinds);
  for (const { group } of reviews) if (!groups.has(group)) groups.set(group, [reviewVersion]);
  return new Map([...groups].sort(([a], [b]) => placeOf(a) - placeOf(b)));
}

/** Groups of users and of the mesh come last. */
function placeOf(group: string): number {
  const at = groupOrder.indexOf(group);
  return at < 0 ? groupOrder.length : at;
}

/** A read-only space answers questions, and binds no pod. */
function reviewsOf(group: string, version: string, { readOnly }: DiscoveryOptions): readonly Review[] {
  if (version !== reviewVersion || (group === '' && readOnly)) return [];
  return reviews.filter((one) => one.group === group);
}

export function apiVersions(): object {
  return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
}

export function apiGroupList(kinds: Kinds): object {
  const groups = [...discovered(kinds)]
    .filter(([group]) => group !== '')
    .map(([group, versions]) => groupEntry(group, versions));
  return { kind: 'APIGroupList', apiVersion: 'v1', groups };
}

export function apiGroup(kinds: Kinds, group: string): object | undefined {
  const versions = discovered(kinds).get(group);
  return versions && { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(group, versions) };
}

export function apiResourceList(
  kinds: Kinds,
  group: string,
  version: string,
  options: DiscoveryOptions,
): object | undefined {
  const served = kinds.all().filter((kind) => kind.group === group && kind.versions.includes(version));
  const asked = reviewsOf(group, version, options);
  if (served.length + asked.length === 0 && !(group === '' && version === 'v1')) return undefined;
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: formatApiVersion(group, version),
    resources: [
      ...served.flatMap((kind) => legacyResources(kind, options)),
      ...asked.map(({ resource, namespaced, kind }) => ({
        name: resource,
        singularName: kind.toLowerCase(),
        namespaced,
        kind,
        verbs: ['create'],
      })),
    ],
  };
}

/** The document of `apidiscovery.k8s.io` v2 or v2beta1. `core` is true for `/api`, false for `/apis`. */
export function aggregated(kinds: Kinds, core: boolean, version: 'v2' | 'v2beta1', options: DiscoveryOptions): object {
  const items = [...discovered(kinds)]
    .filter(([group]) => (group === '') === core)
    .map(([group, versions]) => ({
      metadata: group === '' ? {} : { name: group },
      versions: versions.map((one) => ({
        version: one,
        resources: [
          ...kinds
            .all()
            .filter((kind) => kind.group === group && kind.versions.includes(one))
            .map((kind) => aggregatedResource(kind, one, options)),
          ...reviewsOf(group, one, options).map(aggregatedReview),
        ],
        freshness: 'Current',
      })),
    }));
  return { kind: 'APIGroupDiscoveryList', apiVersion: `apidiscovery.k8s.io/${version}`, metadata: {}, items };
}

function groupEntry(group: string, versions: readonly string[]) {
  const all = versions.map((version) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions: all, preferredVersion: all[0] };
}

function legacyResources(kind: Kind, { readOnly }: DiscoveryOptions): object[] {
  const main = {
    name: kind.resource,
    singularName: kind.singular,
    namespaced: kind.namespaced,
    kind: kind.kind,
    verbs: readOnly ? readVerbs : allVerbs,
    ...(kind.shortNames.length > 0 ? { shortNames: kind.shortNames } : {}),
    ...(kind.categories.length > 0 ? { categories: kind.categories } : {}),
  };
  const subresource = ({ name, of, verbs }: Subresource) => ({
    name: `${kind.resource}/${name}`,
    singularName: '',
    namespaced: kind.namespaced,
    ...(of ?? { kind: kind.kind }),
    verbs,
  });
  return [main, ...subresourcesOf(kind, readOnly).map(subresource)];
}

function aggregatedResource(kind: Kind, version: string, { readOnly }: DiscoveryOptions): object {
  const own = { group: kind.group, version, kind: kind.kind };
  return {
    resource: kind.resource,
    responseKind: own,
    scope: kind.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: kind.singular,
    verbs: readOnly ? readVerbs : allVerbs,
    ...(kind.shortNames.length > 0 ? { shortNames: kind.shortNames } : {}),
    ...(kind.categories.length > 0 ? { categories: kind.categories } : {}),
    subresources: subresourcesOf(kind, readOnly).map(({ name, of, verbs }) => ({
      subresource: name,
      responseKind: of ? { group: '', version: 'v1', ...of } : own,
      verbs,
    })),
  };
}

function aggregatedReview({ group, resource, kind, namespaced }: Review): object {
  return {
    resource,
    responseKind: { group, version: reviewVersion, kind },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: kind.toLowerCase(),
    verbs: ['create'],
  };
}

interface Subresource {
  readonly name: string;
  /** The kind of the body. Absent: the kind of the object. */
  readonly of?: { readonly group?: string; readonly version?: string; readonly kind: string };
  readonly verbs: readonly string[];
}

/** Subresources of single kinds: acts on an object (http/pod-acts.ts), and the finalizers of a Namespace. */
const ownSubresources: Readonly<Record<string, readonly Subresource[]>> = {
  pods: [
    { name: 'binding', of: { kind: 'Binding' }, verbs: ['create'] },
    { name: 'eviction', of: { group: 'policy', version: 'v1', kind: 'Eviction' }, verbs: ['create'] },
  ],
  namespaces: [{ name: 'finalize', verbs: ['update'] }],
};

function subresourcesOf(kind: Kind, readOnly: boolean): readonly Subresource[] {
  const { status, scale, parts = [] } = kind.subresources;
  const verbs = readOnly ? ['get'] : ['get', 'patch', 'update'];
  const named = [...parts, ...(status ? ['status'] : [])].map((name) => ({ name, verbs }));
  const own = kind.group === '' && !readOnly ? (ownField(ownSubresources, kind.resource) ?? []) : [];
  const ofScale = { group: 'autoscaling', version: 'v1', kind: 'Scale' };
  return [...own, ...named, ...(scale ? [{ name: 'scale', of: ofScale, verbs }] : [])];
}
