/**
 * The roles and bindings that every system space has from its first start. Names, labels and rules are those of Kubernetes 1.34
 * (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings, Apache-2.0); test/long/rbac-verdicts.test.ts compares them
 * with an API server. The roles whose names begin with `banyan:` add the kinds of the mesh.
 */
import type { Labels } from '../object/selector.ts';
import { fullAuthority } from './covers.ts';
import { type BindingObject, type ClusterRoleObject, type PolicyRule, rbacGroup } from './rbac-objects.ts';
import { authenticatedGroup, metricsRole, privilegedGroup, unauthenticatedGroup } from './subjects.ts';

const reading = ['get', 'list', 'watch'];
const writing = ['create', 'delete', 'deletecollection', 'patch', 'update'];
const all = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** One rule for each group. A text names the resources of the group, separated by spaces. `core` is the group without a name. */
function rulesFor(verbs: readonly string[], resources: Readonly<Record<string, string>>): PolicyRule[] {
  return Object.entries(resources).map(([group, names]) => ({
    verbs,
    apiGroups: [group === 'core' ? '' : group],
    resources: names.split(' '),
  }));
}

const publicPaths = ['/healthz', '/livez', '/readyz', '/version', '/version/'];
const discoveryPaths = ['/api', '/api/*', '/apis', '/apis/*', '/openapi', '/openapi/*'];

const adminRules = [
  ...rulesFor(['create'], { 'authorization.k8s.io': 'localsubjectaccessreviews' }),
  ...rulesFor(all, { [rbacGroup]: 'rolebindings roles' }),
];

/** A user who may start pods can mount, and so read, each Secret of the namespace. So this role reads Secrets, and `view` does not. */
const editRules = [
  ...rulesFor(reading, { core: 'pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy' }),
  ...rulesFor(['impersonate'], { core: 'serviceaccounts' }),
  ...rulesFor(writing, { core: 'pods pods/attach pods/exec pods/portforward pods/proxy' }),
  ...rulesFor(['create'], { core: 'pods/eviction' }),
  ...rulesFor(writing, {
    core: 'configmaps events persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy',
  }),
  ...rulesFor(['create'], { core: 'serviceaccounts/token' }),
  ...rulesFor(writing, {
    apps: 'daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale',
    autoscaling: 'horizontalpodautoscalers',
    batch: 'cronjobs jobs',
    extensions:
      'daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets replicasets/scale replicationcontrollers/scale',
    policy: 'poddisruptionbudgets',
    'networking.k8s.io': 'ingresses networkpolicies',
  }),
  ...rulesFor(all, { 'coordination.k8s.io': 'leases' }),
  ...rulesFor(writing, { 'resource.k8s.io': 'resourceclaims resourceclaimtemplates' }),
];

const viewRules = [
  ...rulesFor(reading, {
    core: 'configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status',
  }),
  ...rulesFor(reading, {
    core: 'bindings events limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status',
  }),
  ...rulesFor(reading, {
    core: 'namespaces',
    'discovery.k8s.io': 'endpointslices',
    apps: 'controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status',
    autoscaling: 'horizontalpodautoscalers horizontalpodautoscalers/status',
    batch: 'cronjobs cronjobs/status jobs jobs/status',
    extensions:
      'daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale',
    policy: 'poddisruptionbudgets poddisruptionbudgets/status',
    'networking.k8s.io': 'ingresses ingresses/status networkpolicies',
    'resource.k8s.io': 'resourceclaims resourceclaims/status resourceclaimtemplates',
  }),
];

/**
 * The kinds that a workload team writes. The status of a RolloutGate is the answer of the team's own program. Nodes write statussummaries and singleplacementslices,
 * and the administrator of the node writes the inventory.
 */
const meshEditRules = [
  ...rulesFor(writing, {
    'edge.banyan.io': 'customizers edgeplacements rolloutgates rolloutgates/status statussummarizers',
  }),
  // `banyan plan`
  ...rulesFor(['create'], { 'edge.banyan.io': 'edgeplacements/plan', 'mesh.banyan.io': 'mailboxes/plan' }),
];

/** Join tokens are left out: they belong to those who admit clusters. */
const meshViewRules = rulesFor(reading, {
  'edge.banyan.io':
    'customizers edgeplacements edgeplacements/history edgeplacements/status edgeplacements/undo rolloutgates rolloutgates/status singleplacementslices statussummaries statussummarizers',
  'inventory.banyan.io': 'locations locations/status synctargets synctargets/status',
  'mesh.banyan.io': 'mailboxes mailboxes/status nodes nodes/status spaces spaces/status',
});

export const defaultClusterRoles: readonly ClusterRoleObject[] = [
  clusterRole('cluster-admin', fullAuthority),
  aggregatedRole('admin'),
  aggregatedRole('edit', aggregateTo('admin')),
  aggregatedRole('view', aggregateTo('edit')),
  clusterRole('system:aggregate-to-admin', adminRules, aggregateTo('admin')),
  clusterRole('system:aggregate-to-edit', editRules, aggregateTo('edit')),
  clusterRole('system:aggregate-to-view', viewRules, aggregateTo('view')),
  clusterRole('banyan:aggregate-to-edit', meshEditRules, aggregateTo('edit')),
  clusterRole('banyan:aggregate-to-view', meshViewRules, aggregateTo('view')),
  clusterRole('system:basic-user', [
    ...rulesFor(['create'], { 'authorization.k8s.io': 'selfsubjectaccessreviews selfsubjectrulesreviews' }),
    ...rulesFor(['create'], { 'authentication.k8s.io': 'selfsubjectreviews' }),
  ]),
  clusterRole('system:discovery', [{ verbs: ['get'], nonResourceURLs: [...discoveryPaths, ...publicPaths].sort() }]),
  clusterRole('system:public-info-viewer', [{ verbs: ['get'], nonResourceURLs: publicPaths }]),
  clusterRole(metricsRole, [{ verbs: ['get'], nonResourceURLs: ['/metrics'] }]),
];

/** The group `banyan:metrics` is for the user of a Prometheus. */
export const defaultClusterRoleBindings: readonly BindingObject[] = [
  clusterRoleBinding('cluster-admin', privilegedGroup),
  clusterRoleBinding('system:basic-user', authenticatedGroup),
  clusterRoleBinding('system:discovery', authenticatedGroup),
  clusterRoleBinding('system:public-info-viewer', authenticatedGroup, unauthenticatedGroup),
  clusterRoleBinding(metricsRole, metricsRole),
];

/** The label by which the role `role` chooses others. */
function aggregateTo(role: string): Labels {
  return { [`${rbacGroup}/aggregate-to-${role}`]: 'true' };
}

function clusterRole(name: string, rules: readonly PolicyRule[], labels: Labels = {}): ClusterRoleObject {
  return { apiVersion: `${rbacGroup}/v1`, kind: 'ClusterRole', metadata: metadataOf(name, labels), rules };
}

/** `rules` is computed from the roles that the label chooses. */
function aggregatedRole(name: string, labels: Labels = {}): ClusterRoleObject {
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { ...aggregateTo(name) } }] };
  return { ...clusterRole(name, [], labels), aggregationRule };
}

function clusterRoleBinding(role: string, ...groups: readonly string[]): BindingObject {
  return {
    apiVersion: `${rbacGroup}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: metadataOf(role, {}),
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: role },
    subjects: groups.map((name) => ({ apiGroup: rbacGroup, kind: 'Group', name })),
  };
}

/** The annotation says that a later version of the program may add rules, and the label that the object is no object of a user. */
function metadataOf(name: string, labels: Labels): ClusterRoleObject['metadata'] {
  return {
    name,
    labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...labels },
    annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
  };
}
