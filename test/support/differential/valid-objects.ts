/** A valid object of every built-in kind, with most of its fields, from which a test makes wrong ones. */
import type { KubeObject } from '../../../core/object/meta.ts';

type Content = Readonly<Record<string, unknown>>;

const labels = { app: 'till' };
const selector = { matchLabels: labels };
const probe = {
  httpGet: { port: 'http', path: '/ready', httpHeaders: [{ name: 'X-Of', value: 'a' }] },
  periodSeconds: 5,
};
const expressions = [{ key: 'zone', operator: 'In', values: ['a', 'b'] }];

const container = {
  name: 'till',
  image: 'registry.example/till:1',
  command: ['till'],
  args: ['--serve'],
  workingDir: '/srv',
  env: [
    { name: 'MODE', value: 'shop' },
    { name: 'HOST', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
    { name: 'KEY', valueFrom: { secretKeyRef: { name: 'keys', key: 'k' } } },
    { name: 'CPUS', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } } },
  ],
  envFrom: [{ prefix: 'P_', configMapRef: { name: 'settings' } }],
  ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
  resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '1', memory: '128Mi' } },
  volumeMounts: [
    { name: 'scratch', mountPath: '/scratch', subPath: 'a/b' },
    { name: 'settings', mountPath: '/etc/settings', readOnly: true },
  ],
  livenessProbe: probe,
  readinessProbe: { tcpSocket: { port: 8080 } },
  startupProbe: { exec: { command: ['true'] } },
  lifecycle: { preStop: { sleep: { seconds: 3 } } },
  securityContext: {
    runAsUser: 1000,
    capabilities: { drop: ['ALL'] },
    allowPrivilegeEscalation: false,
    seccompProfile: { type: 'RuntimeDefault' },
  },
  imagePullPolicy: 'IfNotPresent',
};

const podSpec = {
  containers: [container],
  initContainers: [{ name: 'prepare', image: 'registry.example/prepare:1' }],
  volumes: [
    { name: 'scratch', emptyDir: { sizeLimit: '1Gi' } },
    { name: 'settings', configMap: { name: 'settings', defaultMode: 420, items: [{ key: 'a', path: 'a.txt' }] } },
    {
      name: 'all',
      projected: {
        sources: [
          { secret: { name: 'keys', items: [{ key: 'k', path: 'k' }] } },
          { downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
        ],
      },
    },
    { name: 'host', hostPath: { path: '/var/log', type: 'Directory' } },
  ],
  restartPolicy: 'Always',
  dnsPolicy: 'ClusterFirst',
  dnsConfig: { nameservers: ['10.0.0.1'], searches: ['shop.example'], options: [{ name: 'ndots', value: '2' }] },
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'gpu', operator: 'Exists', effect: 'NoSchedule' }],
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: expressions }] },
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 5, preference: { matchExpressions: expressions } }],
    },
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 5, podAffinityTerm: { labelSelector: selector, topologyKey: 'kubernetes.io/hostname' } },
      ],
    },
  },
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: selector },
  ],
  securityContext: { fsGroup: 100, runAsNonRoot: true, sysctls: [{ name: 'net.core.somaxconn', value: '10' }] },
  hostAliases: [{ ip: '10.0.0.9', hostnames: ['old.example'] }],
  terminationGracePeriodSeconds: 20,
};

const template = { metadata: { labels, annotations: { note: 'a' } }, spec: podSpec };
const jobPod = { metadata: { labels }, spec: { ...podSpec, restartPolicy: 'Never' } };
const claimSpec = {
  accessModes: ['ReadWriteOnce'],
  resources: { requests: { storage: '1Gi' } },
  storageClassName: 'fast',
  volumeMode: 'Filesystem',
};
const peers = [{ podSelector: selector }, { ipBlock: { cidr: '10.0.0.0/16', except: ['10.0.1.0/24'] } }];
const webhook = {
  name: 'check.shop.example',
  clientConfig: { service: { namespace: 'shop', name: 'check', path: '/check', port: 443 } },
  rules: [{ operations: ['CREATE'], apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments'], scope: '*' }],
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  failurePolicy: 'Ignore',
  timeoutSeconds: 5,
  namespaceSelector: selector,
  matchConditions: [{ name: 'new', expression: 'request.operation == "CREATE"' }],
};
const resourceRules = [
  { operations: ['CREATE', 'UPDATE'], apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments'] },
];

/** `apiVersion kind` with the content of the object. The names of cluster-wide kinds are given beside. */
const contents: Readonly<Record<string, Content>> = {
  'v1 ConfigMap': { data: { a: 'b', 'c.txt': 'd' }, binaryData: { bin: 'AAEC' } },
  'v1 Secret': { type: 'Opaque', data: { k: 'c2VjcmV0' }, stringData: { s: 'x' } },
  'v1 Endpoints': {
    subsets: [
      { addresses: [{ ip: '10.1.0.4', nodeName: 'n1' }], ports: [{ name: 'http', port: 80, protocol: 'TCP' }] },
    ],
  },
  'v1 Event': {
    involvedObject: { kind: 'Pod', namespace: 'valid', name: 'p', apiVersion: 'v1' },
    reason: 'Started',
    message: 'started',
    type: 'Normal',
    count: 1,
    firstTimestamp: '2024-01-02T03:04:05Z',
    lastTimestamp: '2024-01-02T03:04:05Z',
    source: { component: 'kubelet' },
  },
  'v1 LimitRange': {
    spec: {
      limits: [
        {
          type: 'Container',
          max: { cpu: '2' },
          min: { cpu: '10m' },
          default: { cpu: '1' },
          defaultRequest: { cpu: '100m' },
          maxLimitRequestRatio: { cpu: '10' },
        },
      ],
    },
  },
  'v1 Namespace': { spec: { finalizers: ['kubernetes'] } },
  'v1 Node': { spec: { podCIDRs: ['10.9.0.0/24'], taints: [{ key: 'gpu', value: 'a', effect: 'NoSchedule' }] } },
  'v1 PersistentVolume': {
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      csi: { driver: 'disk.example', volumeHandle: 'h', nodePublishSecretRef: { name: 's', namespace: 'n' } },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: expressions }] } },
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: 'fast',
    },
  },
  'v1 PersistentVolumeClaim': { spec: claimSpec },
  'v1 Pod': { spec: { ...podSpec, serviceAccountName: 'default' } },
  'v1 PodTemplate': { template },
  'v1 ReplicationController': { spec: { replicas: 1, selector: labels, template } },
  'v1 ResourceQuota': { spec: { hard: { pods: '10', 'requests.cpu': '4' }, scopes: ['NotTerminating'] } },
  'v1 Service': {
    spec: {
      type: 'NodePort',
      selector: labels,
      ports: [{ name: 'http', port: 80, targetPort: 'http', protocol: 'TCP', appProtocol: 'http' }],
      sessionAffinity: 'ClientIP',
      externalTrafficPolicy: 'Local',
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
    },
  },
  'v1 ServiceAccount': { automountServiceAccountToken: false, imagePullSecrets: [{ name: 'registry' }] },
  'apps/v1 ControllerRevision': { revision: 1, data: { a: 1 } },
  'apps/v1 DaemonSet': {
    spec: { selector, template, updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '10%' } } },
  },
  'apps/v1 Deployment': {
    spec: {
      replicas: 2,
      selector,
      template,
      minReadySeconds: 5,
      progressDeadlineSeconds: 60,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: '25%' } },
    },
  },
  'apps/v1 ReplicaSet': { spec: { replicas: 2, selector, template } },
  'apps/v1 StatefulSet': {
    spec: {
      replicas: 2,
      serviceName: 'till',
      selector,
      template,
      podManagementPolicy: 'Parallel',
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } },
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claimSpec }],
    },
  },
  'batch/v1 CronJob': {
    spec: {
      schedule: '*/5 1-3 * * mon',
      timeZone: 'Europe/Berlin',
      concurrencyPolicy: 'Forbid',
      jobTemplate: { spec: { template: jobPod, backoffLimit: 2 } },
    },
  },
  'batch/v1 Job': {
    spec: {
      parallelism: 2,
      completions: 4,
      completionMode: 'Indexed',
      backoffLimitPerIndex: 1,
      podFailurePolicy: {
        rules: [
          { action: 'FailJob', onExitCodes: { containerName: 'till', operator: 'In', values: [1, 42] } },
          { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
        ],
      },
      successPolicy: { rules: [{ succeededIndexes: '0,2-3', succeededCount: 1 }] },
      template: jobPod,
    },
  },
  'autoscaling/v2 HorizontalPodAutoscaler': {
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'till' },
      minReplicas: 1,
      maxReplicas: 5,
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 60 } } },
        { type: 'Pods', pods: { metric: { name: 'sales' }, target: { type: 'AverageValue', averageValue: '10' } } },
      ],
      behavior: { scaleDown: { policies: [{ type: 'Pods', value: 1, periodSeconds: 60 }] } },
    },
  },
  'autoscaling/v1 HorizontalPodAutoscaler': {
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'till' },
      maxReplicas: 5,
      targetCPUUtilizationPercentage: 60,
    },
  },
  'policy/v1 PodDisruptionBudget': {
    spec: { minAvailable: '50%', selector, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
  },
  'networking.k8s.io/v1 Ingress': {
    spec: {
      ingressClassName: 'nginx',
      tls: [{ hosts: ['till.example'], secretName: 'cert' }],
      rules: [
        {
          host: 'till.example',
          http: {
            paths: [
              { path: '/a', pathType: 'Prefix', backend: { service: { name: 'till', port: { number: 80 } } } },
              {
                path: '/b',
                pathType: 'Exact',
                backend: { resource: { apiGroup: 'shop.example', kind: 'Bucket', name: 'b' } },
              },
            ],
          },
        },
      ],
    },
  },
  'networking.k8s.io/v1 IngressClass': {
    spec: { controller: 'shop.example/ingress', parameters: { kind: 'Settings', name: 's', scope: 'Cluster' } },
  },
  'networking.k8s.io/v1 NetworkPolicy': {
    spec: {
      podSelector: selector,
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: peers, ports: [{ port: 80, endPort: 90, protocol: 'TCP' }, { port: 'http' }] }],
      egress: [{ to: [{ namespaceSelector: selector }] }],
    },
  },
  'networking.k8s.io/v1 IPAddress': {
    spec: { parentRef: { resource: 'services', name: 's', namespace: 'shop' } },
  },
  'networking.k8s.io/v1 ServiceCIDR': { spec: { cidrs: ['10.96.0.0/20'] } },
  'rbac.authorization.k8s.io/v1 ClusterRole': {
    rules: [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['get'] }],
    aggregationRule: { clusterRoleSelectors: [selector] },
  },
  'rbac.authorization.k8s.io/v1 ClusterRoleBinding': {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ kind: 'ServiceAccount', name: 'default', namespace: 'valid' }],
  },
  'rbac.authorization.k8s.io/v1 Role': { rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] },
  'rbac.authorization.k8s.io/v1 RoleBinding': {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ kind: 'User', name: 'jane', apiGroup: 'rbac.authorization.k8s.io' }],
  },
  'storage.k8s.io/v1 CSIDriver': {
    spec: {
      attachRequired: true,
      fsGroupPolicy: 'File',
      volumeLifecycleModes: ['Persistent', 'Ephemeral'],
      tokenRequests: [{ audience: 'a', expirationSeconds: 3600 }],
    },
  },
  'storage.k8s.io/v1 CSINode': {
    spec: { drivers: [{ name: 'disk.example', nodeID: 'n', topologyKeys: ['zone'], allocatable: { count: 3 } }] },
  },
  'storage.k8s.io/v1 CSIStorageCapacity': { storageClassName: 'fast', capacity: '10Gi', nodeTopology: selector },
  'storage.k8s.io/v1 StorageClass': {
    provisioner: 'disk.example',
    parameters: { kind: 'ssd' },
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'WaitForFirstConsumer',
    allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: ['a'] }] }],
  },
  'storage.k8s.io/v1 VolumeAttachment': {
    spec: { attacher: 'disk.example', nodeName: 'n1', source: { persistentVolumeName: 'pv' } },
  },
  'storage.k8s.io/v1 VolumeAttributesClass': { driverName: 'disk.example', parameters: { iops: '10' } },
  'scheduling.k8s.io/v1 PriorityClass': { value: 1000, preemptionPolicy: 'Never', description: 'a' },
  'discovery.k8s.io/v1 EndpointSlice': {
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.1.0.4'], hostname: 'a', nodeName: 'n1', hints: { forZones: [{ name: 'a' }] } }],
    ports: [{ name: 'http', port: 80, protocol: 'TCP', appProtocol: 'http' }],
  },
  'events.k8s.io/v1 Event': {
    regarding: { kind: 'Pod', namespace: 'valid', name: 'p', apiVersion: 'v1' },
    reason: 'Started',
    note: 'started',
    type: 'Normal',
    action: 'Start',
    eventTime: '2024-01-02T03:04:05.000000Z',
    reportingController: 'shop.example/till',
    reportingInstance: 'till-1',
    series: { count: 2, lastObservedTime: '2024-01-02T03:04:05.000000Z' },
  },
  'coordination.k8s.io/v1 Lease': {
    spec: {
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      leaseTransitions: 1,
      acquireTime: '2024-01-02T03:04:05.000000Z',
    },
  },
  'admissionregistration.k8s.io/v1 MutatingWebhookConfiguration': {
    webhooks: [{ ...webhook, reinvocationPolicy: 'IfNeeded' }],
  },
  'admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration': {
    webhooks: [
      webhook,
      { ...webhook, name: 'other.shop.example', clientConfig: { url: 'https://shop.example/check' } },
    ],
  },
  'admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy': {
    spec: {
      failurePolicy: 'Fail',
      paramKind: { apiVersion: 'shop.example/v1', kind: 'Limit' },
      matchConstraints: { resourceRules },
      matchConditions: [{ name: 'named', expression: 'object.metadata.name != ""' }],
      variables: [{ name: 'wanted', expression: 'object.spec.replicas' }],
      validations: [{ expression: 'variables.wanted < 5', message: 'too many', reason: 'Invalid' }],
      auditAnnotations: [{ key: 'wanted', valueExpression: 'string(variables.wanted)' }],
    },
  },
  'admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding': {
    spec: {
      policyName: 'few',
      validationActions: ['Deny', 'Audit'],
      paramRef: { name: 'limit', parameterNotFoundAction: 'Deny' },
      matchResources: { namespaceSelector: selector, resourceRules },
    },
  },
  'apiregistration.k8s.io/v1 APIService': {
    spec: {
      group: 'shop.example',
      version: 'v1',
      groupPriorityMinimum: 100,
      versionPriority: 10,
      insecureSkipTLSVerify: true,
      service: { namespace: 'shop', name: 'api', port: 443 },
    },
  },
  'flowcontrol.apiserver.k8s.io/v1 FlowSchema': {
    spec: {
      matchingPrecedence: 500,
      priorityLevelConfiguration: { name: 'workload-low' },
      distinguisherMethod: { type: 'ByUser' },
      rules: [
        {
          subjects: [{ kind: 'ServiceAccount', serviceAccount: { name: '*', namespace: 'shop' } }],
          resourceRules: [{ verbs: ['get'], apiGroups: ['*'], resources: ['pods'], namespaces: ['shop'] }],
          nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['/healthz', '/a/*'] }],
        },
      ],
    },
  },
  'flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration': {
    spec: {
      type: 'Limited',
      limited: {
        nominalConcurrencyShares: 10,
        lendablePercent: 20,
        limitResponse: { type: 'Queue', queuing: { queues: 16, handSize: 4, queueLengthLimit: 10 } },
      },
    },
  },
  'node.k8s.io/v1 RuntimeClass': {
    handler: 'gvisor',
    overhead: { podFixed: { cpu: '10m' } },
    scheduling: { nodeSelector: { a: 'b' }, tolerations: [{ key: 'a', operator: 'Exists' }] },
  },
};

const names: Readonly<Record<string, string>> = {
  IPAddress: '10.96.1.1',
  APIService: 'v1.shop.example',
  CSIDriver: 'disk.example',
};

/** `namespaced` says whether a kind is in a namespace. All of these objects are in the namespace `valid`. */
export function validObjects(namespaced: (apiVersion: string, kind: string) => boolean): readonly KubeObject[] {
  return Object.entries(contents).map(([id, content]) => {
    const [apiVersion = '', kind = ''] = id.split(' ');
    const metadata = {
      name: names[kind] ?? 'till',
      ...(namespaced(apiVersion, kind) ? { namespace: 'valid' } : {}),
      labels: { app: 'till' },
      annotations: { note: 'a' },
    };
    return { apiVersion, kind, metadata, ...structuredClone(content) };
  });
}
