import { beforeEach, describe, expect, it } from 'vitest';
import { builtinKinds } from '../../../../../core/apiserver/builtin/builtin-kinds.ts';
import { customKind } from '../../../../../core/apiserver/crd/custom-kind.ts';
import type { DefinitionVersion } from '../../../../../core/apiserver/crd/definition.ts';
import { ownKinds } from '../../../../../core/apiserver/kinds/kinds-of-space.ts';
import type { Kind } from '../../../../../core/apiserver/space.ts';
import { columnDefinitions, tableRow } from '../../../../../core/apiserver/table/table.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { board, boards } from '../crd/support.ts';
import { HandlerBench } from '../http/handler-bench.ts';

const nowMs = Date.parse('2026-01-01T00:10:00Z');
const creationTimestamp = '2026-01-01T00:00:00Z';

interface Column {
  name: string;
  type: string;
  format: string;
  priority: number;
}

function kindOf(name: string): Kind {
  const kind = [...builtinKinds(), ...ownKinds('Workload')].find((one) => one.kind === name);
  if (!kind) throw new Error(`no kind ${name}`);
  return kind;
}

function cellsOf(kind: Kind, object: KubeObject): unknown[] {
  const options = { version: 'v1', includeObject: 'None', nowMs } as const;
  return (tableRow(kind, kind.storageVersion, object, options) as { cells: unknown[] }).cells;
}

/** The output of `kubectl get` for an object: column and cell, the wide ones in parentheses. */
function shown(name: string, fields: Record<string, unknown>): Record<string, unknown> {
  const kind = kindOf(name);
  const object = { apiVersion: 'v1', kind: name, metadata: { name: 'a', creationTimestamp }, ...fields };
  const cells = cellsOf(kind, object);
  const columns = columnDefinitions(kind, kind.storageVersion) as Column[];
  expect(cells).toHaveLength(columns.length);
  return Object.fromEntries(
    columns.map(({ name: column, priority }, i) => [priority === 0 ? column : `(${column})`, cells[i]]),
  );
}

const podSpec = {
  containers: [
    { name: 'main', image: 'nginx:1' },
    { name: 'log', image: 'fluent:2' },
  ],
};

describe('what kubectl get prints of built-in kinds', () => {
  it('Deployment', () => {
    const spec = { replicas: 3, selector: { matchLabels: { app: 'a', tier: 'web' } }, template: { spec: podSpec } };
    const status = { replicas: 3, readyReplicas: 2, updatedReplicas: 1, availableReplicas: 2 };
    expect(shown('Deployment', { spec, status })).toEqual({
      Name: 'a',
      Ready: '2/3',
      'Up-to-date': 1,
      Available: 2,
      Age: '10m',
      '(Containers)': 'main,log',
      '(Images)': 'nginx:1,fluent:2',
      '(Selector)': 'app=a,tier=web',
    });
  });

  it('Deployment without a status', () => {
    expect(shown('Deployment', {})).toMatchObject({
      Ready: '0/1',
      'Up-to-date': 0,
      Available: 0,
      '(Selector)': '',
    });
  });

  it('ReplicaSet, StatefulSet and DaemonSet', () => {
    const status = { replicas: 2, readyReplicas: 1 };
    expect(shown('ReplicaSet', { spec: { replicas: 3 }, status })).toMatchObject({ Desired: 3, Current: 2, Ready: 1 });
    expect(shown('StatefulSet', { spec: { replicas: 3 }, status })).toMatchObject({ Ready: '1/3' });
    const counts = { desiredNumberScheduled: 4, currentNumberScheduled: 3, numberReady: 2, updatedNumberScheduled: 1 };
    expect(shown('DaemonSet', { status: { ...counts, numberAvailable: 2 } })).toMatchObject({
      Desired: 4,
      Current: 3,
      Ready: 2,
      'Up-to-date': 1,
      Available: 2,
      'Node Selector': '<none>',
    });
  });

  it('Pod', () => {
    const containerStatuses = [
      { ready: true, restartCount: 2, state: { running: {} } },
      { ready: false, restartCount: 1, lastState: { terminated: { finishedAt: '2026-01-01T00:08:00Z' } } },
    ];
    const conditions = [{ type: 'shop/ready', status: 'True' }];
    const status = { phase: 'Running', podIP: '10.0.0.7', containerStatuses, conditions };
    const readinessGates = [{ conditionType: 'shop/ready' }, { conditionType: 'shop/open' }];
    expect(shown('Pod', { spec: { ...podSpec, nodeName: 'n1', readinessGates }, status })).toEqual({
      Name: 'a',
      Ready: '1/2',
      Status: 'Running',
      Restarts: '3 (2m ago)',
      Age: '10m',
      '(IP)': '10.0.0.7',
      '(Node)': 'n1',
      '(Nominated Node)': '<none>',
      '(Readiness Gates)': '1/2',
    });
  });

  it.each([
    [
      'the reason why a container waits',
      { containerStatuses: [{ state: { waiting: { reason: 'CrashLoopBackOff' } } }] },
      'CrashLoopBackOff',
    ],
    [
      'the reason why a container has ended',
      { containerStatuses: [{ state: { terminated: { reason: 'Completed' } } }] },
      'Completed',
    ],
    ['its own reason', { phase: 'Failed', reason: 'Evicted' }, 'Evicted'],
    ['nothing yet', {}, 'Pending'],
    [
      'the exit code of a container without a reason',
      { containerStatuses: [{ state: { terminated: { exitCode: 2 } } }] },
      'ExitCode:2',
    ],
    [
      'a running container beside a completed one',
      {
        containerStatuses: [
          { state: { terminated: { reason: 'Completed' } } },
          { ready: true, state: { running: {} } },
        ],
      },
      'NotReady',
    ],
    [
      'what its scheduling waits for',
      { conditions: [{ type: 'PodScheduled', reason: 'SchedulingGated' }] },
      'SchedulingGated',
    ],
    [
      'an init container that fails',
      {
        initContainerStatuses: [
          { name: 'first', state: { terminated: { exitCode: 0 } } },
          { name: 'second', state: { waiting: { reason: 'ErrImagePull' } } },
        ],
      },
      'Init:ErrImagePull',
    ],
  ])('Pod with %s as its status', (_, status, expected) => {
    expect(shown('Pod', { spec: podSpec, status }).Status).toBe(expected);
  });

  it('Pod that is being deleted', () => {
    const metadata = { name: 'a', deletionTimestamp: creationTimestamp };
    expect(shown('Pod', { metadata, status: { phase: 'Running' } })).toMatchObject({
      Status: 'Terminating',
      Age: '<unknown>',
    });
  });

  it('Service', () => {
    const ports = [
      { port: 80, nodePort: 30080 },
      { port: 53, protocol: 'UDP' },
    ];
    const spec = { type: 'NodePort', clusterIP: '10.0.0.1', ports, selector: { app: 'a' } };
    expect(shown('Service', { spec })).toEqual({
      Name: 'a',
      Type: 'NodePort',
      'Cluster-IP': '10.0.0.1',
      'External-IP': '<none>',
      'Port(s)': '80:30080/TCP,53/UDP',
      Age: '10m',
      '(Selector)': 'app=a',
    });
    const external = (fields: object, ingress: readonly object[] = []) =>
      shown('Service', { spec: fields, status: { loadBalancer: { ingress } } })['External-IP'];
    expect(external({ type: 'LoadBalancer' }, [{ ip: '1.2.3.4' }, { hostname: 'lb.a' }])).toBe('1.2.3.4,lb.a');
    expect(external({ type: 'LoadBalancer' }, [{ hostname: 'lb.shop.example.com' }])).toBe('lb.shop.examp...');
    expect(external({ type: 'LoadBalancer' })).toBe('<pending>');
    expect(external({ type: 'ExternalName', externalName: 'shop.example.com' })).toBe('shop.example.com');
    expect(external({ externalIPs: ['1.2.3.4', '1.2.3.5'] })).toBe('1.2.3.4,1.2.3.5');
  });

  it('ConfigMap and Secret by the number of their entries', () => {
    expect(shown('ConfigMap', { data: { a: '1' }, binaryData: { b: '' } })).toEqual({ Name: 'a', Data: 2, Age: '10m' });
    expect(shown('Secret', { type: 'Opaque', data: { a: '', b: '' } })).toMatchObject({ Type: 'Opaque', Data: 2 });
  });

  it('Namespace, Node and PersistentVolumeClaim', () => {
    expect(shown('Namespace', { status: { phase: 'Active' } })).toMatchObject({ Status: 'Active' });
    const conditions = [{ type: 'Ready', status: 'True' }];
    const status = { conditions, nodeInfo: { kubeletVersion: 'v1.34.0' } };
    expect(shown('Node', { status })).toMatchObject({ Status: 'Ready', Version: 'v1.34.0' });
    const metadata = { name: 'a', labels: { 'node-role.kubernetes.io/worker': '', 'kubernetes.io/role': 'edge' } };
    expect(shown('Node', { metadata, spec: { unschedulable: true } })).toMatchObject({
      Status: 'Unknown,SchedulingDisabled',
      Roles: 'edge,worker',
    });
    const claim = { phase: 'Bound', capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] };
    expect(shown('PersistentVolumeClaim', { spec: { volumeName: 'v' }, status: claim })).toMatchObject({
      Status: 'Bound',
      Volume: 'v',
      Capacity: '1Gi',
      'Access Modes': 'RWO,ROX',
    });
  });

  it('Job and CronJob', () => {
    const complete = {
      conditions: [{ type: 'Complete', status: 'True' }],
      succeeded: 1,
      startTime: '2026-01-01T00:00:00Z',
      completionTime: '2026-01-01T00:01:30Z',
    };
    expect(shown('Job', { spec: { completions: 1 }, status: complete })).toMatchObject({
      Status: 'Complete',
      Completions: '1/1',
      Duration: '90s',
    });
    expect(shown('Job', { status: { startTime: creationTimestamp } })).toMatchObject({
      Status: 'Running',
      Duration: '10m',
    });
    expect(shown('Job', { status: {} })).toMatchObject({ Completions: '0/1', Duration: '' });
    const spec = { schedule: '0 3 * * *', suspend: true };
    expect(
      shown('CronJob', { spec, status: { active: [{}], lastScheduleTime: '2026-01-01T00:05:00Z' } }),
    ).toMatchObject({
      Schedule: '0 3 * * *',
      Timezone: '<none>',
      Suspend: 'True',
      Active: 1,
      'Last Schedule': '5m',
    });
    expect(shown('CronJob', { spec: {} })).toMatchObject({ Suspend: 'False', Active: 0, 'Last Schedule': '<none>' });
  });

  it('Event by the time of its last occurrence', () => {
    const involvedObject = { kind: 'Pod', name: 'till' };
    const event = {
      involvedObject,
      type: 'Warning',
      reason: 'BackOff',
      message: 'why',
      lastTimestamp: '2026-01-01T00:09:30Z',
    };
    expect(shown('Event', event)).toEqual({
      'Last Seen': '30s',
      Type: 'Warning',
      Reason: 'BackOff',
      Object: 'pod/till',
      '(Subobject)': '',
      '(Source)': '',
      Message: 'why',
      '(First Seen)': '<unknown>',
      '(Count)': 1,
      '(Name)': 'a',
    });
    const series = { count: 7, lastObservedTime: '2026-01-01T00:09:50.000000Z' };
    const source = { component: 'kubelet', host: 'n1' };
    expect(shown('Event', { ...event, eventTime: creationTimestamp, series, source })).toMatchObject({
      'Last Seen': '10s',
      '(First Seen)': '10m',
      '(Count)': 7,
      '(Source)': 'kubelet, n1',
    });
  });

  it('Ingress, roles and their bindings', () => {
    const spec = { ingressClassName: 'nginx', rules: [{ host: 'a.example.com' }, {}], tls: [{}] };
    expect(shown('Ingress', { spec })).toMatchObject({ Class: 'nginx', Hosts: 'a.example.com', Ports: '80, 443' });
    expect(shown('Ingress', {})).toMatchObject({ Class: '<none>', Hosts: '*', Ports: '80' });
    expect(shown('RoleBinding', { roleRef: { kind: 'Role', name: 'r' } })).toMatchObject({ Role: 'Role/r' });
    expect(shown('Role', {})).toMatchObject({ 'Created At': creationTimestamp });
  });

  it('HorizontalPodAutoscaler by its first two metrics', () => {
    const resource = (averageUtilization: number) => ({
      type: 'Resource',
      resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
    });
    const pods = { type: 'Pods', pods: { metric: { name: 'queue' }, target: { averageValue: '5' } } };
    const external = { type: 'External', external: { target: { averageValue: '7' } } };
    const currentMetrics = [{ type: 'Resource', resource: { current: { averageUtilization: 40 } } }];
    const targets = (metrics: readonly object[]) =>
      shown('HorizontalPodAutoscaler', { spec: { metrics }, status: { currentMetrics } }).Targets;
    expect(targets([])).toBe('<none>');
    expect(targets([resource(50)])).toBe('cpu: 40%/50%');
    expect(targets([resource(50), pods])).toBe('cpu: 40%/50%, <unknown>/5');
    expect(targets([pods, external, resource(1)])).toBe('<unknown>/5, <unknown>/7 (avg) + 1 more...');
  });

  it('EndpointSlice, StorageClass and ResourceQuota', () => {
    const addresses = ['10.0.0.1', '10.0.0.2'];
    const slice = { addressType: 'IPv4', endpoints: [{ addresses }, { addresses }], ports: [{ port: 80 }, {}] };
    expect(shown('EndpointSlice', slice)).toMatchObject({
      Ports: '80,*',
      Endpoints: '10.0.0.1,10.0.0.2,10.0.0.1 + 1 more...',
    });
    const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
    expect(shown('StorageClass', { metadata: { name: 'a', annotations }, provisioner: 'p' })).toMatchObject({
      Name: 'a (default)',
      ReclaimPolicy: 'Delete',
      AllowVolumeExpansion: false,
    });
    const hard = { pods: '3', 'limits.cpu': '2', 'count/jobs': '1' };
    expect(shown('ResourceQuota', { status: { hard, used: { pods: '1' } } })).toMatchObject({
      Request: 'count/jobs: 0/1, pods: 1/3',
      Limit: 'limits.cpu: 0/2',
    });
  });

  it('selectors with the requirements in the order of their keys', () => {
    const matchExpressions = [
      { key: 'b', operator: 'In', values: ['y', 'x'] },
      { key: 'a', operator: 'DoesNotExist' },
    ];
    const selector = { matchLabels: { c: 'd' }, matchExpressions };
    expect(shown('DaemonSet', { spec: { selector } })['(Selector)']).toBe('!a,b in (x,y),c=d');
  });

  it('every other kind by name and time of creation', () => {
    expect(shown('LimitRange', {})).toEqual({ Name: 'a', 'Created At': creationTimestamp });
  });

  it.each(builtinKinds().map((kind) => [kind.kind, kind] as const))(
    '%s, also when it has nothing but a name',
    (_, kind) => {
      const cells = cellsOf(kind, { apiVersion: 'v1', kind: kind.kind, metadata: { name: 'a' } });
      expect(cells).toHaveLength(columnDefinitions(kind, kind.storageVersion).length);
      for (const cell of cells) expect(String(cell)).not.toMatch(/undefined|NaN|\[object/);
    },
  );
});

describe('the columns of a CustomResourceDefinition', () => {
  const columns: DefinitionVersion['additionalPrinterColumns'] = [
    { name: 'Rows', type: 'integer', jsonPath: '.spec.rows' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Last', type: 'date', jsonPath: '.status.last', priority: 1 },
    { name: 'Tags', type: 'string', jsonPath: '.spec.tags[*]' },
    { name: 'On', type: 'boolean', jsonPath: '.spec.on' },
  ];
  const kind = customKind(boards({ type: 'object' }, { additionalPrinterColumns: columns }));

  it('come after the name, with their types and priorities', () => {
    expect(columnDefinitions(kind, 'v1')).toMatchObject([
      { name: 'Name', type: 'string', format: 'name', priority: 0 },
      { name: 'Rows', type: 'integer', priority: 0 },
      { name: 'Ready', type: 'string', priority: 0 },
      { name: 'Last', type: 'string', priority: 1 },
      { name: 'Tags', type: 'string', priority: 0 },
      { name: 'On', type: 'string', priority: 0 },
    ]);
  });

  it('show the values at their paths', () => {
    const conditions = [
      { type: 'Synced', status: 'False' },
      { type: 'Ready', status: 'True' },
    ];
    const object = {
      ...board({ rows: 3, tags: ['a', 'b'], on: true }),
      status: { conditions, last: '2026-01-01T00:08:00Z' },
    };
    expect(cellsOf(kind, object)).toEqual(['b', 3, 'True', '2m', 'a,b', 'true']);
  });

  it('are empty if there is no value', () => {
    expect(cellsOf(kind, board({}))).toEqual(['b', '', '', '', '', '']);
  });

  it('are the age if the definition names none', () => {
    const plain = customKind(boards({ type: 'object' }));
    expect(columnDefinitions(plain, 'v1')).toMatchObject([{ name: 'Name' }, { name: 'Age' }]);
    const object = board({});
    object.metadata.creationTimestamp = creationTimestamp;
    expect(cellsOf(plain, object)).toEqual(['b', '10m']);
  });

  it('show the progress of an EdgePlacement', () => {
    const summary = { expected: 4, synced: 4, applied: 3, available: 3, stale: 0, failed: 1 };
    const conditions = [
      { type: 'Ready', status: 'False', reason: 'SomeFailed' },
      { type: 'Moving', status: 'True', message: '1 old copy waits' },
    ];
    const rollout = { message: 'wave 1/2 "first": 1 of 2 available' };
    const status = { display: 'available 3/4', rollout, summary, conditions };
    expect(shown('EdgePlacement', { status })).toEqual({
      Name: 'a',
      Display: 'available 3/4',
      Ready: 'False',
      Reason: 'SomeFailed',
      Rollout: 'wave 1/2 "first": 1 of 2 available',
      '(Expected)': 4,
      '(Synced)': 4,
      '(Applied)': 3,
      '(Stale)': 0,
      '(Oldest)': '',
      '(Failed)': 1,
      '(Moving)': 'True',
      Age: '10m',
    });
  });
});

describe('a Table over HTTP', () => {
  interface Table {
    kind: string;
    apiVersion: string;
    metadata: object;
    columnDefinitions: Column[];
    rows: { cells: unknown[]; object?: KubeObject }[];
  }
  const path = '/api/v1/namespaces/shop/configmaps';
  const accept = (version: string) => `application/json;as=Table;v=${version};g=meta.k8s.io`;
  let api: HandlerBench;
  beforeEach(() => {
    api = new HandlerBench();
    for (const name of ['a', 'b', 'c']) {
      api.space.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop' }, data: { name } });
    }
  });

  it.each(['v1', 'v1beta1'])('is in the version that was requested: %s', async (version) => {
    const table = await api.get<Table>(path, accept(version));
    expect(table).toMatchObject({ kind: 'Table', apiVersion: `meta.k8s.io/${version}` });
    expect(table.columnDefinitions.map((column) => column.name)).toEqual(['Name', 'Data', 'Age']);
    expect(table.rows.map((row) => row.cells)).toEqual([
      ['a', 1, '0s'],
      ['b', 1, '0s'],
      ['c', 1, '0s'],
    ]);
    const { metadata } = await api.get<KubeObject>(`${path}/a`);
    expect(table.rows[0]?.object).toEqual({
      kind: 'PartialObjectMetadata',
      apiVersion: `meta.k8s.io/${version}`,
      metadata,
    });
  });

  it('has in each row the object as includeObject asks', async () => {
    const whole = await api.get<Table>(`${path}?includeObject=Object`, accept('v1'));
    expect(whole.rows[0]?.object).toEqual(await api.get(`${path}/a`));
    const none = await api.get<Table>(`${path}?includeObject=None`, accept('v1'));
    expect(none.rows[0]).toEqual({ cells: ['a', 1, '0s'] });
  });

  it('is chunked and selected like a list', async () => {
    const first = await api.get<Table>(`${path}?limit=2`, accept('v1'));
    expect(first.rows.map((row) => row.cells[0])).toEqual(['a', 'b']);
    expect(first.metadata).toMatchObject({ remainingItemCount: 1, continue: expect.any(String) });
    const one = await api.get<Table>(`${path}?fieldSelector=metadata.name%3Db`, accept('v1'));
    expect(one.rows.map((row) => row.cells[0])).toEqual(['b']);
  });

  it('of one object has one row', async () => {
    const table = await api.get<Table>(`${path}/b`, accept('v1'));
    expect(table.rows.map((row) => row.cells)).toEqual([['b', 1, '0s']]);
    expect(table.metadata).toEqual({ resourceVersion: table.rows[0]?.object?.metadata.resourceVersion });
  });

  it('without objects still has its columns', async () => {
    const table = await api.get<Table>('/apis/apps/v1/deployments', accept('v1'));
    expect(table.rows).toEqual([]);
    expect(table.columnDefinitions[1]).toMatchObject({ name: 'Ready' });
  });
});
