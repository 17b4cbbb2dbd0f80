/** The rules of each built-in kind, and the syntax of its names. */
import { clusterRole, clusterRoleBinding, role, roleBinding } from './access.ts';
import { canonicalAddress } from './addresses.ts';
import { admissionPolicy, admissionPolicyBinding, webhookConfiguration } from './admission.ts';
import { autoscaler, disruptionBudget } from './autoscaling.ts';
import {
  claim,
  csiDriver,
  csiNode,
  csiStorageCapacity,
  persistentVolume,
  storageClass,
  volumeAttachment,
  volumeAttributesClass,
} from './claims.ts';
import {
  apiService,
  coreEvent,
  lease,
  namespaceKind,
  newerEvent,
  nodeKind,
  priorityClass,
  runtimeClass,
} from './cluster.ts';
import { configMap, secret } from './data.ts';
import { flowSchema, priorityLevel } from './flow-control.ts';
import { dns1035Label, dnsLabel, pathSegment } from './formats.ts';
import { cronJob, job } from './jobs.ts';
import { ingress, ingressClass, ipAddress, networkPolicy, serviceCidr } from './networking.ts';
import { pod } from './pods.ts';
import { limitRange, resourceQuota } from './quotas.ts';
import { endpointSlice, endpoints, service, serviceAddresses } from './services.ts';
import type { FieldCheck, TextCheck } from './visit.ts';
import {
  controllerRevision,
  daemonSet,
  deployment,
  podTemplateKind,
  replicaSet,
  replicationController,
  statefulSet,
} from './workloads.ts';

export const kindRules: Readonly<Record<string, FieldCheck>> = {
  APIService: apiService,
  ClusterRole: clusterRole,
  ClusterRoleBinding: clusterRoleBinding,
  ConfigMap: configMap,
  ControllerRevision: controllerRevision,
  CronJob: cronJob,
  CSIDriver: csiDriver,
  CSINode: csiNode,
  CSIStorageCapacity: csiStorageCapacity,
  DaemonSet: daemonSet,
  Deployment: deployment,
  EndpointSlice: endpointSlice,
  Endpoints: endpoints,
  Event: coreEvent,
  'Event.events.k8s.io': newerEvent,
  FlowSchema: flowSchema,
  HorizontalPodAutoscaler: autoscaler,
  Ingress: ingress,
  IngressClass: ingressClass,
  IPAddress: ipAddress,
  Job: job,
  Lease: lease,
  LimitRange: limitRange,
  MutatingWebhookConfiguration: webhookConfiguration,
  Namespace: namespaceKind,
  NetworkPolicy: networkPolicy,
  Node: nodeKind,
  PersistentVolume: persistentVolume,
  PersistentVolumeClaim: claim,
  Pod: pod,
  PodDisruptionBudget: disruptionBudget,
  PodTemplate: podTemplateKind,
  PriorityClass: priorityClass,
  PriorityLevelConfiguration: priorityLevel,
  ReplicaSet: replicaSet,
  ReplicationController: replicationController,
  ResourceQuota: resourceQuota,
  Role: role,
  RoleBinding: roleBinding,
  RuntimeClass: runtimeClass,
  Secret: secret,
  Service: service,
  ServiceCIDR: serviceCidr,
  StatefulSet: statefulSet,
  StorageClass: storageClass,
  ValidatingAdmissionPolicy: admissionPolicy,
  ValidatingAdmissionPolicyBinding: admissionPolicyBinding,
  ValidatingWebhookConfiguration: webhookConfiguration,
  VolumeAttachment: volumeAttachment,
  VolumeAttributesClass: volumeAttributesClass,
};

/** Rules that Kubernetes asks before it looks at the metadata. Their causes are the only ones. */
export const firstRules: Readonly<Record<string, FieldCheck>> = { Service: serviceAddresses };

/** Kinds whose update Kubernetes validates as a new object first, and then as an update. So the causes of a wrong value come twice. */
export const validatedTwice: ReadonlySet<string> = new Set([
  'ClusterRole',
  'ClusterRoleBinding',
  'CSINode',
  'Job',
  'NetworkPolicy',
  'PersistentVolume',
  'PersistentVolumeClaim',
  'ReplicationController',
  'Role',
  'RoleBinding',
  'VolumeAttachment',
  'VolumeAttributesClass',
]);

/** Kinds whose names are no DNS subdomain. */
export const nameRules: Readonly<Record<string, TextCheck>> = {
  APIService: pathSegment,
  ClusterRole: pathSegment,
  ClusterRoleBinding: pathSegment,
  IPAddress: canonicalAddress,
  Namespace: dnsLabel,
  Role: pathSegment,
  RoleBinding: pathSegment,
  Service: dns1035Label,
  StatefulSet: dnsLabel,
};
