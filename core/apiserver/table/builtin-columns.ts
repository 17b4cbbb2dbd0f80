/** The columns of `kubectl get` for the built-in kinds that people often list. Each column has a name, a priority and a function for its cell. */
import { ownField } from '../../object/json-value.ts';
import type { KubeObject } from '../../object/meta.ts';
import { ageOf, humanDuration } from './ages.ts';

export interface ComputedColumn {
  readonly name: string;
  readonly priority: number;
  readonly type: 'string' | 'integer';
  cell(object: KubeObject, nowMs: number): string | number;
}

type Values = Record<string, unknown>;

/** The value at a path of names. The type is not checked, because a table prints any value. */
function get(object: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((at, name) => (at as Values | undefined | null)?.[name], object);
}

const number = (object: unknown, path: string) => Number(get(object, path) ?? 0);
const text = (object: unknown, path: string, otherwise = '') => String(get(object, path) ?? otherwise);
const count = (object: unknown, path: string) => Object.keys((get(object, path) ?? {}) as object).length;
const list = (object: unknown, path: string) => (get(object, path) ?? []) as Values[];
const column = (
  name: string,
  cell: ComputedColumn['cell'],
  priority = 0,
  type: ComputedColumn['type'] = 'string',
): ComputedColumn => ({ name, cell, priority, type });
const field = (name: string, path: string, otherwise = '', priority = 0) =>
  column(name, (o) => text(o, path, otherwise), priority);
const integer = (name: string, path: string) => column(name, (o) => number(o, path), 0, 'integer');
const entries = (name: string, path: string) => column(name, (o) => count(o, path), 0, 'integer');
const age = column('Age', (o, nowMs) => ageOf(o.metadata.creationTimestamp, nowMs));
const pods = (path: string) => [
  column(
    'Containers',
    (o) =>
      list(o, `${path}.containers`)
        .map((c) => c.name)
        .join(','),
    1,
  ),
  column(
    'Images',
    (o) =>
      list(o, `${path}.containers`)
        .map((c) => c.image)
        .join(','),
    1,
  ),
];
const selector = column(
  'Selector',
  (o) => labelsText(get(o, 'spec.selector.matchLabels') ?? get(o, 'spec.selector')),
  1,
);

export const builtinColumns: Readonly<Record<string, readonly ComputedColumn[]>> = {
  'apps/deployments': [
    column('Ready', (o) => `${number(o, 'status.readyReplicas')}/${replicas(o)}`),
    integer('Up-to-date', 'status.updatedReplicas'),
    integer('Available', 'status.availableReplicas'),
    age,
    ...pods('spec.template.spec'),
    selector,
  ],
  'apps/replicasets': [
    column('Desired', replicas, 0, 'integer'),
    integer('Current', 'status.replicas'),
    integer('Ready', 'status.readyReplicas'),
    age,
    ...pods('spec.template.spec'),
    selector,
  ],
  'apps/statefulsets': [
    column('Ready', (o) => `${number(o, 'status.readyReplicas')}/${replicas(o)}`),
    age,
    ...pods('spec.template.spec'),
  ],
  'apps/daemonsets': [
    integer('Desired', 'status.desiredNumberScheduled'),
    integer('Current', 'status.currentNumberScheduled'),
    integer('Ready', 'status.numberReady'),
    integer('Up-to-date', 'status.updatedNumberScheduled'),
    integer('Available', 'status.numberAvailable'),
    column('Node Selector', (o) => labelsText(get(o, 'spec.template.spec.nodeSelector'))),
    age,
  ],
  'batch/jobs': [
    column('Status', (o) => jobStatus(o)),
    column('Completions', (o) => `${number(o, 'status.succeeded')}/${text(o, 'spec.completions', '1')}`),
    column('Duration', (o, nowMs) => jobDuration(o, nowMs)),
    age,
  ],
  'batch/cronjobs': [
    field('Schedule', 'spec.schedule'),
    field('Timezone', 'spec.timeZone', '<none>'),
    column('Suspend', (o) => (get(o, 'spec.suspend') ? 'True' : 'False')),
    column('Active', (o) => list(o, 'status.active').length, 0, 'integer'),
    column('Last Schedule', (o, nowMs) =>
      get(o, 'status.lastScheduleTime') ? ageOf(text(o, 'status.lastScheduleTime'), nowMs) : '<none>',
    ),
    age,
  ],
  '/pods': [
    column(
      'Ready',
      (o) =>
        `${list(o, 'status.containerStatuses').filter((c) => c.ready).length}/${list(o, 'spec.containers').length}`,
    ),
    column('Status', (o) => podStatus(o)),
    column('Restarts', (o) =>
      list(o, 'status.containerStatuses').reduce((sum, c) => sum + Number(c.restartCount ?? 0), 0),
    ),
    age,
    field('IP', 'status.podIP', '<none>', 1),
    field('Node', 'spec.nodeName', '<none>', 1),
  ],
  '/services': [
    field('Type', 'spec.type', 'ClusterIP'),
    field('Cluster-IP', 'spec.clusterIP', '<none>'),
    column(
      'External-IP',
      (o) =>
        list(o, 'status.loadBalancer.ingress')
          .map((i) => i.ip ?? i.hostname)
          .join(',') || '<none>',
    ),
    column(
      'Port(s)',
      (o) =>
        list(o, 'spec.ports')
          .map((p) => `${p.port}${p.nodePort ? `:${p.nodePort}` : ''}/${p.protocol ?? 'TCP'}`)
          .join(',') || '<none>',
    ),
    age,
    column('Selector', (o) => labelsText(get(o, 'spec.selector')), 1),
  ],
  '/configmaps': [column('Data', (o) => count(o, 'data') + count(o, 'binaryData'), 0, 'integer'), age],
  '/secrets': [field('Type', 'type'), entries('Data', 'data'), age],
  '/serviceaccounts': [column('Secrets', (o) => list(o, 'secrets').length, 0, 'integer'), age],
  '/namespaces': [field('Status', 'status.phase'), age],
  '/nodes': [
    column('Status', (o) =>
      list(o, 'status.conditions').some((c) => c.type === 'Ready' && c.status === 'True') ? 'Ready' : 'NotReady',
    ),
    column('Roles', () => '<none>'),
    age,
    field('Version', 'status.nodeInfo.kubeletVersion'),
  ],
  '/persistentvolumeclaims': [
    field('Status', 'status.phase'),
    field('Volume', 'spec.volumeName'),
    field('Capacity', 'status.capacity.storage'),
    column('Access Modes', (o) =>
      list(o, 'status.accessModes')
        .map((mode) => ownField(accessModes, String(mode)) ?? mode)
        .join(','),
    ),
    field('StorageClass', 'spec.storageClassName'),
    age,
  ],
  '/events': [
    column('Last Seen', (o, nowMs) =>
      ageOf(text(o, 'lastTimestamp') || text(o, 'eventTime') || o.metadata.creationTimestamp, nowMs),
    ),
    field('Type', 'type'),
    field('Reason', 'reason'),
    column('Object', (o) => `${text(o, 'involvedObject.kind').toLowerCase()}/${text(o, 'involvedObject.name')}`),
    field('Message', 'message'),
  ],
  'networking.k8s.io/ingresses': [
    field('Class', 'spec.ingressClassName', '<none>'),
    column(
      'Hosts',
      (o) =>
        list(o, 'spec.rules')
          .map((r) => r.host ?? '*')
          .join(',') || '*',
    ),
    column('Address', (o) =>
      list(o, 'status.loadBalancer.ingress')
        .map((i) => i.ip ?? i.hostname)
        .join(','),
    ),
    column('Ports', (o) => (get(o, 'spec.tls') ? '80, 443' : '80')),
    age,
  ],
  'networking.k8s.io/networkpolicies': [
    column('Pod-Selector', (o) => labelsText(get(o, 'spec.podSelector.matchLabels'))),
    age,
  ],
  'autoscaling/horizontalpodautoscalers': [
    column('Reference', (o) => `${text(o, 'spec.scaleTargetRef.kind')}/${text(o, 'spec.scaleTargetRef.name')}`),
    field('MinPods', 'spec.minReplicas', '<unset>'),
    field('MaxPods', 'spec.maxReplicas'),
    field('Replicas', 'status.currentReplicas', '0'),
    age,
  ],
  'policy/poddisruptionbudgets': [
    field('Min Available', 'spec.minAvailable', 'N/A'),
    field('Max Unavailable', 'spec.maxUnavailable', 'N/A'),
    integer('Allowed Disruptions', 'status.disruptionsAllowed'),
    age,
  ],
  'scheduling.k8s.io/priorityclasses': [
    integer('Value', 'value'),
    column('Global-Default', (o) => String(get(o, 'globalDefault') ?? false)),
    age,
  ],
  'rbac.authorization.k8s.io/rolebindings': [
    column('Role', (o) => `${text(o, 'roleRef.kind')}/${text(o, 'roleRef.name')}`),
    age,
  ],
  'rbac.authorization.k8s.io/clusterrolebindings': [
    column('Role', (o) => `${text(o, 'roleRef.kind')}/${text(o, 'roleRef.name')}`),
    age,
  ],
  'rbac.authorization.k8s.io/roles': [field('Created At', 'metadata.creationTimestamp')],
  'rbac.authorization.k8s.io/clusterroles': [field('Created At', 'metadata.creationTimestamp')],
  'apiextensions.k8s.io/customresourcedefinitions': [field('Created At', 'metadata.creationTimestamp')],
  'certificates.k8s.io/certificatesigningrequests': [
    age,
    field('SignerName', 'spec.signerName', '<none>'),
    field('Requestor', 'spec.username'),
    column('RequestedDuration', (o) => {
      const seconds = get(o, 'spec.expirationSeconds');
      return typeof seconds === 'number' ? humanDuration(seconds * 1_000) : '<none>';
    }),
    column('Condition', (o) => requestCondition(o)),
  ],
  'coordination.k8s.io/leases': [field('Holder', 'spec.holderIdentity'), age],
};

export const defaultColumns: readonly ComputedColumn[] = [age];

const accessModes: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};

function replicas(object: KubeObject): number {
  return Number(get(object, 'spec.replicas') ?? 1);
}

function labelsText(labels: unknown): string {
  return (
    Object.entries((labels ?? {}) as Record<string, string>)
      .map(([key, value]) => `${key}=${value}`)
      .join(',') || '<none>'
  );
}

function podStatus(pod: KubeObject): string {
  if (pod.metadata.deletionTimestamp) return 'Terminating';
  for (const container of list(pod, 'status.containerStatuses')) {
    const waiting = get(container, 'state.waiting.reason');
    if (waiting) return String(waiting);
    const ended = get(container, 'state.terminated.reason');
    if (ended) return String(ended);
  }
  return text(pod, 'status.reason') || text(pod, 'status.phase', 'Pending');
}

function requestCondition(request: KubeObject): string {
  const types = list(request, 'status.conditions').map(({ type }) => String(type));
  const decided = ['Approved', 'Denied', 'Failed'].filter((type) => types.includes(type));
  const issued = get(request, 'status.certificate') ? ['Issued'] : [];
  return [...(decided.length > 0 ? decided : ['Pending']), ...issued].join(',');
}

function jobStatus(job: KubeObject): string {
  const is = (type: string) => list(job, 'status.conditions').some((c) => c.type === type && c.status === 'True');
  return is('Complete') ? 'Complete' : is('Failed') ? 'Failed' : is('Suspended') ? 'Suspended' : 'Running';
}

function jobDuration(job: KubeObject, nowMs: number): string {
  const start = text(job, 'status.startTime');
  if (!start) return '';
  const end = text(job, 'status.completionTime');
  return humanDuration((end ? Date.parse(end) : nowMs) - Date.parse(start));
}
