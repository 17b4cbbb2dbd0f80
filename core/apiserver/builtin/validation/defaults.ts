/**
 * The defaults that an API server fills in before it validates and stores (pkg/apis/<group>/v1/defaults.go), by type. Some only add fields; others also drop fields
 * whose features are off by default, and that is for the rules alone: a space stores what was written, because a cluster may have the feature.
 */
import { cloneJson, ownField } from '../../../object/json-value.ts';
import type { FieldType, ObjectType } from '../../schema.ts';
import { isPresent, listOf, recordOf, recordsOf, wordOf } from './visit.ts';

type Fields = Record<string, unknown>;
/** Whether the result is stored, or only read by the rules. */
type Purpose = 'store' | 'rules';
/** Values of absent fields, or a function that fills in what depends on other fields. */
type Defaults = Readonly<Fields> | ((object: Fields, purpose: Purpose) => void);

const core = 'io.k8s.api.core.v1.';
const admission = 'io.k8s.api.admissionregistration.v1.';
const rbac = 'io.k8s.api.rbac.v1.';
const rbacGroup = 'rbac.authorization.k8s.io';
const mode = { defaultMode: 0o644 };
const termination = { terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' };
const bothSelectors = { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {} };
const cpuMetric = {
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
};
const webhook = { failurePolicy: 'Fail', ...bothSelectors, timeoutSeconds: 10 };

const defaults: Readonly<Record<string, readonly Defaults[]>> = {
  [`${core}PodSpec`]: [
    {
      dnsPolicy: 'ClusterFirst',
      restartPolicy: 'Always',
      schedulerName: 'default-scheduler',
      securityContext: {},
      terminationGracePeriodSeconds: 30,
    },
    hostNetworkPorts,
    (spec, purpose) => {
      if (purpose === 'rules') withoutFeatures(spec);
    },
    account,
  ],
  [`${core}Pod`]: [inSpec(requestsOf), inSpec((spec) => (spec.enableServiceLinks ??= true))],
  [`${core}Container`]: [termination, pullPolicy],
  [`${core}EphemeralContainer`]: [termination, pullPolicy],
  [`${core}ContainerPort`]: [{ protocol: 'TCP' }],
  [`${core}Probe`]: [{ timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 }],
  [`${core}HTTPGetAction`]: [{ path: '/', scheme: 'HTTP' }],
  [`${core}ObjectFieldSelector`]: [{ apiVersion: 'v1' }],
  [`${core}Volume`]: [emptyVolume],
  [`${core}SecretVolumeSource`]: [mode],
  [`${core}ConfigMapVolumeSource`]: [mode],
  [`${core}DownwardAPIVolumeSource`]: [mode],
  [`${core}ProjectedVolumeSource`]: [mode],
  [`${core}HostPathVolumeSource`]: [{ type: '' }],
  [`${core}ServiceAccountTokenProjection`]: [{ expirationSeconds: 3600 }],
  ...ofVolume('AzureDisk', { cachingMode: 'ReadWrite', fsType: 'ext4', kind: 'Shared', readOnly: false }),
  ...ofVolume('ISCSI', { iscsiInterface: 'default' }),
  ...ofVolume('RBD', { keyring: '/etc/ceph/keyring', pool: 'rbd', user: 'admin' }),
  ...ofVolume('ScaleIO', { fsType: 'xfs', storageMode: 'ThinProvisioned' }),
  [`${core}Service`]: [inSpec(service)],
  [`${core}ServicePort`]: [{ protocol: 'TCP' }, targetPort],
  [`${core}Secret`]: [{ type: 'Opaque' }],
  [`${core}EndpointPort`]: [{ protocol: 'TCP' }],
  [`${core}PersistentVolumeSpec`]: [{ persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem' }],
  [`${core}PersistentVolumeClaimSpec`]: [{ volumeMode: 'Filesystem' }],
  [`${core}LimitRangeItem`]: [limits],
  [`${core}ReplicationController`]: [inSpec(controller), controllerLabels],
  'io.k8s.api.apps.v1.DeploymentSpec': [
    { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 },
    rolling('strategy', { maxUnavailable: '25%', maxSurge: '25%' }),
  ],
  'io.k8s.api.apps.v1.ReplicaSetSpec': [{ replicas: 1 }],
  'io.k8s.api.apps.v1.DaemonSetSpec': [
    { revisionHistoryLimit: 10 },
    rolling('updateStrategy', { maxUnavailable: 1, maxSurge: 0 }),
  ],
  'io.k8s.api.apps.v1.StatefulSetSpec': [
    {
      persistentVolumeClaimRetentionPolicy: {},
      podManagementPolicy: 'OrderedReady',
      replicas: 1,
      revisionHistoryLimit: 10,
    },
    rolling('updateStrategy', { partition: 0 }),
    claimTemplates,
  ],
  'io.k8s.api.apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy': [
    { whenDeleted: 'Retain', whenScaled: 'Retain' },
  ],
  'io.k8s.api.batch.v1.Job': [inSpec(job), inSpec((spec) => (spec.suspend ??= false))],
  'io.k8s.api.batch.v1.CronJobSpec': [
    { concurrencyPolicy: 'Allow', successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1, suspend: false },
  ],
  // An API server fills in no defaults here, and its rules do not miss them.
  'io.k8s.api.batch.v1.JobTemplateSpec': [
    inSpec((spec, purpose) => {
      if (purpose === 'rules') job(spec);
    }),
  ],
  'io.k8s.api.batch.v1.PodFailurePolicyOnPodConditionsPattern': [{ status: 'True' }],
  'io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec': [{ minReplicas: 1, metrics: [cpuMetric] }],
  'io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior': [scaling],
  'io.k8s.api.networking.v1.NetworkPolicySpec': [policyTypes],
  'io.k8s.api.networking.v1.NetworkPolicyPort': [{ protocol: 'TCP' }],
  'io.k8s.api.networking.v1.IngressClassParametersReference': [{ scope: 'Cluster' }],
  [`${rbac}ClusterRoleBinding`]: [roleGroup],
  [`${rbac}RoleBinding`]: [roleGroup],
  [`${rbac}Subject`]: [
    (subject) => {
      if (!subject.apiGroup && (subject.kind === 'User' || subject.kind === 'Group')) subject.apiGroup = rbacGroup;
    },
  ],
  'io.k8s.api.storage.v1.StorageClass': [{ reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' }],
  'io.k8s.api.storage.v1.CSIDriverSpec': [
    {
      attachRequired: true,
      fsGroupPolicy: 'ReadWriteOnceWithFSType',
      podInfoOnMount: false,
      requiresRepublish: false,
      seLinuxMount: false,
      storageCapacity: false,
    },
    (spec) => {
      if (listOf(spec.volumeLifecycleModes).length === 0) spec.volumeLifecycleModes = ['Persistent'];
    },
  ],
  'io.k8s.api.scheduling.v1.PriorityClass': [{ preemptionPolicy: 'PreemptLowerPriority' }],
  'io.k8s.api.discovery.v1.EndpointPort': [{ name: '', protocol: 'TCP' }],
  [`${admission}ValidatingWebhook`]: [webhook],
  [`${admission}MutatingWebhook`]: [{ ...webhook, reinvocationPolicy: 'Never' }],
  [`${admission}RuleWithOperations`]: [{ scope: '*' }],
  [`${admission}NamedRuleWithOperations`]: [{ scope: '*' }],
  [`${admission}ServiceReference`]: [{ port: 443 }],
  [`${admission}ValidatingAdmissionPolicySpec`]: [{ failurePolicy: 'Fail' }],
  [`${admission}MatchResources`]: [bothSelectors],
  'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.ServiceReference': [{ port: 443 }],
  'io.k8s.api.flowcontrol.v1.FlowSchemaSpec': [{ matchingPrecedence: 1000 }],
  'io.k8s.api.flowcontrol.v1.LimitedPriorityLevelConfiguration': [{ nominalConcurrencyShares: 30 }],
  'io.k8s.api.flowcontrol.v1.QueuingConfiguration': [{ handSize: 8, queues: 64, queueLengthLimit: 50 }],
};

/** Pods and PersistentVolumes have types of their own for the same volumes. */
function ofVolume(name: string, values: Readonly<Fields>): Readonly<Record<string, readonly Defaults[]>> {
  return {
    [`${core}${name}VolumeSource`]: [values],
    [`${core}${name}PersistentVolumeSource`]: [values],
  };
}

function inSpec(fillSpec: (spec: Fields, purpose: Purpose) => void): (object: Fields, purpose: Purpose) => void {
  return (object, purpose) => {
    object.spec ??= {};
    fillSpec(object.spec as Fields, purpose);
  };
}

/** The object with defaults. The object itself, if its type has none. */
export function withDefaults<T extends object>(object: T, type: ObjectType, purpose: Purpose): T {
  if (!mayHaveDefaults(type)) return object;
  const copy = cloneJson(object);
  // The templates of claims that a StatefulSet has keep what they say.
  if (type.name === `${core}PersistentVolumeClaim`) inSpec(dataSources)(copy as Fields, purpose);
  fill(copy, type, purpose);
  return copy;
}

/** Types and whether they, or types below them, have defaults. */
const known = new Map<ObjectType, boolean>();

function mayHaveDefaults(type: FieldType): boolean {
  if (type.type === 'list') return mayHaveDefaults(type.items);
  if (type.type === 'map') return mayHaveDefaults(type.values);
  if (type.type !== 'object') return false;
  const before = known.get(type);
  if (before !== undefined) return before;
  known.set(type, false);
  const found = (type.name ?? '') in defaults || [...type.fields()].some(([, field]) => mayHaveDefaults(field.type));
  known.set(type, found);
  return found;
}

/** Fills in defaults of the outer objects first: inner ones may come from them. */
function fill(value: unknown, type: FieldType, purpose: Purpose): void {
  if (!isPresent(value) || typeof value !== 'object' || !mayHaveDefaults(type)) return;
  if (type.type === 'list') for (const item of listOf(value)) fill(item, type.items, purpose);
  if (type.type === 'map') for (const item of Object.values(recordOf(value))) fill(item, type.values, purpose);
  if (type.type !== 'object') return;
  const object = value as Fields;
  for (const one of ownField(defaults, type.name ?? '') ?? []) {
    if (typeof one === 'function') one(object, purpose);
    else fillAbsent(object, one, type);
  }
  for (const [name, field] of type.fields()) {
    if (!mayHaveDefaults(field.type)) continue;
    // A struct that is no pointer is always there.
    if (!isPresent(object[name]) && field.type.type === 'object' && !field.pointer) object[name] = {};
    fill(object[name], field.type, purpose);
  }
}

/** In a field that is no pointer, Go can't tell an empty text or a 0 from an absent value. */
function fillAbsent(object: Fields, values: Readonly<Fields>, type: ObjectType): void {
  for (const [name, value] of Object.entries(values)) {
    const given = object[name];
    const isZero = (given === '' || given === 0) && type.field(name)?.pointer === false;
    if (!isPresent(given) || isZero) object[name] = cloneJson(value);
  }
}

function rolling(name: string, parameters: Readonly<Fields>): (spec: Fields) => void {
  return (spec) => {
    const strategy = { ...recordOf(spec[name]) };
    strategy.type ||= 'RollingUpdate';
    if (strategy.type === 'RollingUpdate') {
      const given = { ...recordOf(strategy.rollingUpdate) };
      for (const [field, value] of Object.entries(parameters)) given[field] ??= value;
      strategy.rollingUpdate = given;
    }
    spec[name] = strategy;
  };
}

function pullPolicy(container: Fields): void {
  const image = wordOf(container.image);
  const hasTag = image.lastIndexOf(':') > image.lastIndexOf('/');
  const isLatest = (!image.includes('@') && !hasTag) || image.endsWith(':latest');
  container.imagePullPolicy ||= isLatest ? 'Always' : 'IfNotPresent';
}

function emptyVolume(volume: Fields): void {
  if (Object.keys(volume).every((name) => name === 'name' || !isPresent(volume[name]))) volume.emptyDir = {};
}

function hostNetworkPorts(spec: Fields): void {
  if (spec.hostNetwork !== true) return;
  for (const list of ['containers', 'initContainers']) {
    for (const { ports } of recordsOf(spec[list])) {
      for (const port of listOf(ports) as Fields[]) port.hostPort ||= port.containerPort;
    }
  }
}

/** A container of a pod requests its limits, unless it says otherwise. */
function requestsOf(spec: Fields): void {
  for (const container of [...recordsOf(spec.containers), ...recordsOf(spec.initContainers)]) {
    const resources = container.resources as Fields | undefined;
    if (isPresent(resources?.limits))
      resources!.requests = { ...recordOf(resources!.limits), ...recordOf(resources!.requests) };
  }
}

const containerLists = ['containers', 'initContainers', 'ephemeralContainers'];

/** Drops the fields of features that are off by default (dropDisabledFields in pkg/api/pod/util.go). */
function withoutFeatures(spec: Fields): void {
  delete spec.hostnameOverride;
  withoutImages(spec);
  for (const { projected } of recordsOf(spec.volumes)) {
    for (const source of recordsOf(recordOf(projected).sources) as Fields[]) {
      delete source.clusterTrustBundle;
      delete source.podCertificate;
    }
  }
  for (const list of containerLists) {
    for (const container of recordsOf(spec[list]) as Fields[]) {
      delete container.restartPolicyRules;
      if (list !== 'initContainers' || container.restartPolicy !== 'Always') delete container.restartPolicy;
      for (const { valueFrom } of recordsOf(container.env)) delete (recordOf(valueFrom) as Fields).fileKeyRef;
      withoutStopSignal(container);
    }
  }
}

function withoutStopSignal(container: Fields): void {
  const lifecycle = container.lifecycle as Fields | undefined;
  if (!isPresent(lifecycle?.stopSignal)) return;
  delete lifecycle!.stopSignal;
  if (Object.values(lifecycle!).every((handler) => !isPresent(handler))) delete container.lifecycle;
}

/** Drops volumes from images, and what mounts them. */
function withoutImages(spec: Fields): void {
  const volumes = recordsOf(spec.volumes);
  const dropped = volumes.filter(({ image }) => isPresent(image)).map(({ name }) => name);
  if (dropped.length === 0) return;
  spec.volumes = volumes.filter(({ image }) => !isPresent(image));
  for (const list of containerLists) {
    for (const container of recordsOf(spec[list]) as Fields[]) {
      if (!isPresent(container.volumeMounts)) continue;
      container.volumeMounts = recordsOf(container.volumeMounts).filter(({ name }) => !dropped.includes(name));
    }
  }
}

function targetPort(port: Fields): void {
  if (!port.targetPort) port.targetPort = port.port;
}

function service(spec: Fields): void {
  spec.sessionAffinity ||= 'None';
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity === 'ClientIP') {
    const { timeoutSeconds } = recordOf(recordOf(spec.sessionAffinityConfig).clientIP);
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: timeoutSeconds ?? 10_800 } };
  }
  spec.type ||= 'ClusterIP';
  if (spec.type !== 'ExternalName') spec.internalTrafficPolicy ??= 'Cluster';
  if (spec.type === 'LoadBalancer') spec.allocateLoadBalancerNodePorts ??= true;
  const isExternal = ['LoadBalancer', 'NodePort'].includes(wordOf(spec.type));
  if (isExternal || (spec.type === 'ClusterIP' && listOf(spec.externalIPs).length > 0)) {
    spec.externalTrafficPolicy ||= 'Cluster';
  }
}

/** The two fields for the source of a claim's data stand for each other. The older one is ignored if it names anything but a claim or a snapshot. */
function dataSources(spec: Fields, purpose: Purpose): void {
  if (purpose === 'rules' && recordOf(spec.dataSourceRef).namespace) delete spec.dataSourceRef;
  const { dataSource, dataSourceRef } = spec;
  const { kind, apiGroup } = recordOf(dataSource);
  const isClaim = kind === 'PersistentVolumeClaim' && !apiGroup;
  const isSnapshot = kind === 'VolumeSnapshot' && apiGroup === 'snapshot.storage.k8s.io';
  if (isPresent(dataSourceRef)) spec.dataSource ??= dataSourceRef;
  else if (isClaim || isSnapshot) spec.dataSourceRef = dataSource;
  else if (purpose === 'rules') delete spec.dataSource;
}

/** The older name of the field is the same field. */
function account(spec: Fields): void {
  const name = spec.serviceAccountName || spec.serviceAccount;
  if (name) Object.assign(spec, { serviceAccountName: name, serviceAccount: name });
}

function claimTemplates(spec: Fields): void {
  for (const claim of recordsOf(spec.volumeClaimTemplates) as Fields[]) {
    claim.apiVersion ||= 'v1';
    claim.kind ||= 'PersistentVolumeClaim';
    claim.status = { ...recordOf(claim.status), phase: recordOf(claim.status).phase || 'Pending' };
  }
}

/** Both directions of scaling have defaults as soon as somebody gives one rule. */
function scaling(behavior: Fields): void {
  const selectPolicy = 'Max';
  const percent = { type: 'Percent', value: 100, periodSeconds: 15 };
  const pods = { type: 'Pods', value: 4, periodSeconds: 15 };
  const up = { stabilizationWindowSeconds: 0, selectPolicy, policies: [pods, percent] };
  for (const [name, values] of Object.entries({ scaleUp: up, scaleDown: { selectPolicy, policies: [percent] } })) {
    const given = recordOf(behavior[name]);
    const isGiven = (field: string) => isPresent(given[field]);
    const absent = Object.entries(values).filter(([field]) => !isGiven(field));
    behavior[name] = { ...given, ...Object.fromEntries(absent) };
  }
}

function policyTypes(spec: Fields): void {
  if (listOf(spec.policyTypes).length > 0) return;
  spec.policyTypes = ['Ingress', ...(listOf(spec.egress).length > 0 ? ['Egress'] : [])];
}

function controllerLabels(object: Fields): void {
  const { labels } = recordOf(recordOf(recordOf(object.spec).template).metadata);
  const metadata = object.metadata as Fields;
  if (isPresent(labels) && Object.keys(recordOf(metadata.labels)).length === 0)
    metadata.labels = { ...recordOf(labels) };
}

function controller(spec: Fields): void {
  spec.replicas ??= 1;
  const { labels } = recordOf(recordOf(spec.template).metadata);
  if (Object.keys(recordOf(spec.selector)).length === 0 && isPresent(labels)) spec.selector = labels;
}

function job(spec: Fields): void {
  if (!isPresent(spec.completions) && !isPresent(spec.parallelism)) spec.completions = 1;
  spec.parallelism ??= 1;
  spec.backoffLimit ??= isPresent(spec.backoffLimitPerIndex) ? 2_147_483_647 : 6;
  spec.completionMode ??= 'NonIndexed';
  spec.podReplacementPolicy ??= isPresent(spec.podFailurePolicy) ? 'Failed' : 'TerminatingOrFailed';
}

function limits(item: Fields): void {
  if (item.type !== 'Container') return;
  const filled = { ...recordOf(item.max), ...recordOf(item.default) };
  item.default = filled;
  item.defaultRequest = { ...recordOf(item.min), ...filled, ...recordOf(item.defaultRequest) };
}

function roleGroup(binding: Fields): void {
  const reference = recordOf(binding.roleRef);
  binding.roleRef = { ...reference, apiGroup: reference.apiGroup || rbacGroup };
}
