/** Objects of every built-in kind with as few fields as an API server takes, and some in which a default depends on other fields. */
import type { KubeObject } from '../../../core/object/meta.ts';

type Content = Readonly<Record<string, unknown>>;
/** The apiVersion and kind, and the content of each object. */
type Row = readonly [of: string, ...contents: Content[]];

const labels = { app: 'a' };
const selector = { matchLabels: labels };
const container = { name: 'main', image: 'registry.example/a:1' };
const template = { metadata: { labels }, spec: { containers: [container] } };
const jobTemplate = { spec: { template: { spec: { containers: [container], restartPolicy: 'Never' } } } };
const request = { storage: '1Gi' };
const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: request } };
const webhook = {
  name: 'hook.example.com',
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  clientConfig: { service: { namespace: 'default', name: 'hook' } },
};
const rule = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] };
const roleRef = { kind: 'ClusterRole', name: 'view' };
const role = {
  roleRef,
  subjects: [
    { kind: 'User', name: 'a' },
    { kind: 'ServiceAccount', name: 'a', namespace: 'b' },
  ],
};
const scaled = { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'a' }, maxReplicas: 3 };
const backend = { service: { name: 'a', port: { number: 80 } } };
const involvedObject = { kind: 'Pod', namespace: 'valid', name: 'a' };

/** A pod with the fields whose parts have defaults. */
const fullPod = {
  serviceAccount: 'default',
  containers: [
    {
      name: 'main',
      image: 'registry.example/a',
      ports: [{ containerPort: 80 }, { containerPort: 53, name: 'dns', protocol: 'UDP' }],
      env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
      resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { memory: '1Mi' } },
      livenessProbe: { httpGet: { port: 80 } },
      readinessProbe: { grpc: { port: 80 } },
      startupProbe: { exec: { command: ['true'] } },
      lifecycle: { preStop: { httpGet: { port: 80 } } },
      securityContext: { capabilities: {} },
    },
  ],
  initContainers: [{ name: 'before', image: 'registry.example/b:latest', restartPolicy: 'Always' }],
  volumes: [
    { name: 'empty' },
    { name: 'secret', secret: { secretName: 'a' } },
    { name: 'config', configMap: { name: 'a' } },
    { name: 'down', downwardAPI: { items: [{ path: 'a', fieldRef: { fieldPath: 'metadata.name' } }] } },
    { name: 'all', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
    { name: 'host', hostPath: { path: '/var' } },
    { name: 'iscsi', iscsi: { targetPortal: '10.0.0.1', iqn: 'iqn.2001-04.com.example:a', lun: 0 } },
    { name: 'rbd', rbd: { monitors: ['a'], image: 'a' } },
    { name: 'io', scaleIO: { gateway: 'https://a', system: 'a', secretRef: { name: 'a' }, volumeName: 'a' } },
    {
      name: 'disk',
      azureDisk: { diskName: 'a', diskURI: 'https://a.blob.core.windows.net/b/c.vhd', kind: 'Dedicated' },
    },
    { name: 'claim', ephemeral: { volumeClaimTemplate: { spec: claim } } },
  ],
  topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }],
  tolerations: [{ key: 'a', operator: 'Exists' }],
};

const rows: readonly Row[] = [
  ['v1 Namespace', {}],
  ['v1 ConfigMap', {}],
  ['v1 Secret', {}, { stringData: { a: 'b' } }],
  ['v1 ServiceAccount', {}],
  [
    'v1 Pod',
    { spec: { containers: [container] } },
    { spec: fullPod },
    { spec: { ...template.spec, hostNetwork: true } },
  ],
  ['v1 PodTemplate', { template }],
  ['v1 ReplicationController', { spec: { selector: labels, template } }, { spec: { template } }],
  [
    'v1 Service',
    { spec: { ports: [{ port: 80 }] } },
    { spec: { type: 'ExternalName', externalName: 'a.example' } },
    { spec: { type: 'NodePort', ports: [{ port: 80, targetPort: 'http' }] } },
    { spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } },
    { spec: { clusterIP: 'None', selector: labels, sessionAffinity: 'None' } },
    { spec: { clusterIP: 'None' } },
    { spec: { ports: [{ port: 80 }], sessionAffinity: 'ClientIP', externalIPs: ['10.1.2.3'] } },
  ],
  ['v1 Endpoints', { subsets: [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ port: 80 }] }] }],
  ['v1 PersistentVolume', { spec: { capacity: request, accessModes: ['ReadWriteOnce'], hostPath: { path: '/a' } } }],
  [
    'v1 PersistentVolumeClaim',
    { spec: claim },
    { spec: { ...claim, dataSource: { kind: 'PersistentVolumeClaim', name: 'b' } } },
  ],
  ['v1 ResourceQuota', {}, { spec: { hard: { pods: '1' } } }],
  ['v1 LimitRange', { spec: { limits: [{ type: 'Container', max: { cpu: '1' } }] } }],
  ['v1 Event', { involvedObject }],
  ['v1 Node', {}],
  [
    'apps/v1 Deployment',
    { spec: { selector, template } },
    { spec: { selector, template, strategy: { type: 'Recreate' } } },
  ],
  ['apps/v1 ReplicaSet', { spec: { selector, template } }],
  [
    'apps/v1 StatefulSet',
    { spec: { selector, template, serviceName: 'a' } },
    {
      spec: {
        selector,
        template,
        updateStrategy: { type: 'OnDelete' },
        volumeClaimTemplates: [{ metadata: { name: 'd' }, spec: claim }],
      },
    },
    { spec: { selector, template, persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete' } } },
  ],
  [
    'apps/v1 DaemonSet',
    { spec: { selector, template } },
    { spec: { selector, template, updateStrategy: { type: 'OnDelete' } } },
  ],
  ['apps/v1 ControllerRevision', { revision: 1, data: {} }],
  [
    'batch/v1 Job',
    jobTemplate,
    { spec: { ...jobTemplate.spec, parallelism: 2 } },
    { spec: { ...jobTemplate.spec, completions: 3, completionMode: 'Indexed', backoffLimitPerIndex: 1 } },
  ],
  ['batch/v1 CronJob', { spec: { schedule: '* * * * *', jobTemplate } }],
  [
    'autoscaling/v2 HorizontalPodAutoscaler',
    { spec: scaled },
    { spec: { ...scaled, behavior: { scaleDown: {} } } },
    { spec: { ...scaled, behavior: { scaleUp: { selectPolicy: 'Min' } } } },
  ],
  ['autoscaling/v1 HorizontalPodAutoscaler', { spec: scaled }],
  ['policy/v1 PodDisruptionBudget', { spec: { minAvailable: 1, selector } }],
  [
    'networking.k8s.io/v1 Ingress',
    { spec: { defaultBackend: backend } },
    { spec: { rules: [{ http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }] } },
  ],
  [
    'networking.k8s.io/v1 IngressClass',
    { spec: { controller: 'example.com/a' } },
    { spec: { controller: 'example.com/a', parameters: { kind: 'A', name: 'a' } } },
  ],
  [
    'networking.k8s.io/v1 NetworkPolicy',
    { spec: { podSelector: {} } },
    { spec: { podSelector: {}, egress: [{ ports: [{ port: 80 }] }], ingress: [{}] } },
  ],
  [
    'networking.k8s.io/v1 IPAddress',
    { metadata: { name: '10.0.0.9' }, spec: { parentRef: { resource: 'services', namespace: 'a', name: 'a' } } },
  ],
  ['networking.k8s.io/v1 ServiceCIDR', { spec: { cidrs: ['10.99.0.0/16'] } }],
  ['rbac.authorization.k8s.io/v1 Role', {}],
  ['rbac.authorization.k8s.io/v1 ClusterRole', {}],
  ['rbac.authorization.k8s.io/v1 RoleBinding', role],
  ['rbac.authorization.k8s.io/v1 ClusterRoleBinding', role, { roleRef }],
  ['storage.k8s.io/v1 StorageClass', { provisioner: 'example.com/a' }],
  ['storage.k8s.io/v1 CSIDriver', {}],
  ['storage.k8s.io/v1 CSINode', { spec: { drivers: [] } }],
  [
    'storage.k8s.io/v1 VolumeAttachment',
    { spec: { attacher: 'a', nodeName: 'a', source: { persistentVolumeName: 'a' } } },
  ],
  ['storage.k8s.io/v1 CSIStorageCapacity', { storageClassName: 'a' }],
  ['storage.k8s.io/v1 VolumeAttributesClass', { driverName: 'example.com', parameters: { a: 'b' } }],
  ['scheduling.k8s.io/v1 PriorityClass', { value: 5 }],
  [
    'discovery.k8s.io/v1 EndpointSlice',
    { addressType: 'IPv4', endpoints: [{ addresses: ['10.1.2.3'] }], ports: [{ port: 80 }] },
  ],
  ['coordination.k8s.io/v1 Lease', {}],
  ['node.k8s.io/v1 RuntimeClass', { handler: 'a' }],
  ['admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration', {}, { webhooks: [{ ...webhook, rules: [rule] }] }],
  ['admissionregistration.k8s.io/v1 MutatingWebhookConfiguration', {}, { webhooks: [{ ...webhook, rules: [rule] }] }],
  [
    'admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy',
    { spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: 'true' }] } },
  ],
  [
    'admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding',
    { spec: { policyName: 'a', validationActions: ['Deny'], matchResources: { resourceRules: [rule] } } },
  ],
  ['flowcontrol.apiserver.k8s.io/v1 FlowSchema', { spec: { priorityLevelConfiguration: { name: 'exempt' } } }],
  [
    'flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration',
    { spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } } },
    { spec: { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: {} } } } },
  ],
  [
    'apiregistration.k8s.io/v1 APIService',
    {
      metadata: { name: 'v1.example.com' },
      spec: {
        group: 'example.com',
        version: 'v1',
        groupPriorityMinimum: 100,
        versionPriority: 10,
        service: { namespace: 'a', name: 'a' },
        insecureSkipTLSVerify: true,
      },
    },
  ],
];

/** The objects, with names. `isNamespaced`: whether objects of the kind are in a namespace. */
export function minimalObjects(isNamespaced: (apiVersion: string, kind: string) => boolean): KubeObject[] {
  return rows.flatMap(([of, ...contents]) => {
    const [apiVersion = '', kind = ''] = of.split(' ');
    const place = isNamespaced(apiVersion, kind) ? { namespace: 'valid' } : {};
    return contents.map((content, at): KubeObject => {
      const name = `${kind.toLowerCase()}-${at}`;
      return {
        apiVersion,
        kind,
        ...content,
        metadata: { name, ...place, ...(content.metadata as object | undefined) },
      };
    });
  });
}
