/** The columns of `kubectl get` for kinds of workloads: core, apps, batch, autoscaling, policy. */
import type { KubeObject } from '../../object/meta.ts';
import { ageOf, humanDuration } from './ages.ts';
import {
  ageColumn,
  booleanColumn,
  type ComputedColumn,
  column,
  containerColumns,
  field,
  get,
  integerColumn,
  labelsText,
  listAt,
  nameColumn,
  number,
  requirementsText,
  selectorColumn,
  textAt,
  textOr,
  wide,
} from './cells.ts';
import { metricsText } from './metric-cells.ts';
import { podCells } from './pod-cells.ts';

const template = 'spec.template.spec';
const wideContainers = (path: string) => containerColumns(path).map(wide);
const replicas = column('Desired', (o) => number(o, 'spec.replicas', 1), 0, 'integer');
const replicaColumns = [
  replicas,
  integerColumn('Current', 'status.replicas'),
  integerColumn('Ready', 'status.readyReplicas'),
  ageColumn,
];
const readyOfReplicas = column('Ready', (o) => `${number(o, 'status.readyReplicas')}/${number(o, 'spec.replicas', 1)}`);

export const workloadColumns: Readonly<Record<string, readonly ComputedColumn[]>> = {
  'apps/deployments': [
    readyOfReplicas,
    { ...integerColumn('Up-to-date', 'status.updatedReplicas'), type: 'string' },
    { ...integerColumn('Available', 'status.availableReplicas'), type: 'string' },
    ageColumn,
    ...wideContainers(template),
    wide(column('Selector', (o) => requirementsText(get(o, 'spec.selector')))),
  ],
  'apps/replicasets': [...replicaColumns, ...wideContainers(template), selectorColumn('spec.selector')],
  'apps/statefulsets': [readyOfReplicas, ageColumn, ...wideContainers(template)],
  'apps/daemonsets': [
    integerColumn('Desired', 'status.desiredNumberScheduled'),
    integerColumn('Current', 'status.currentNumberScheduled'),
    integerColumn('Ready', 'status.numberReady'),
    integerColumn('Up-to-date', 'status.updatedNumberScheduled'),
    integerColumn('Available', 'status.numberAvailable'),
    column('Node Selector', (o) => labelsText(get(o, `${template}.nodeSelector`))),
    ageColumn,
    ...wideContainers(template),
    selectorColumn('spec.selector'),
  ],
  'apps/controllerrevisions': [
    column('Controller', controllerOf),
    { ...integerColumn('Revision', 'revision'), type: 'string' },
    ageColumn,
  ],
  '/replicationcontrollers': [
    ...replicaColumns,
    ...wideContainers(template),
    wide(column('Selector', (o) => labelsText(get(o, 'spec.selector')))),
  ],
  '/podtemplates': [
    ...containerColumns('template.spec'),
    column('Pod Labels', (o) => labelsText(get(o, 'template.metadata.labels'))),
  ],
  'batch/jobs': [
    column('Status', jobStatus),
    column('Completions', jobCompletions),
    column('Duration', jobDuration),
    ageColumn,
    ...wideContainers(template),
    selectorColumn('spec.selector'),
  ],
  'batch/cronjobs': [
    field('Schedule', 'spec.schedule'),
    field('Timezone', 'spec.timeZone', '<none>'),
    column('Suspend', (o) => (get(o, 'spec.suspend') ? 'True' : 'False'), 0, 'boolean'),
    column('Active', (o) => listAt(o, 'status.active').length, 0, 'integer'),
    column('Last Schedule', (o, nowMs) =>
      get(o, 'status.lastScheduleTime') ? ageOf(textAt(o, 'status.lastScheduleTime'), nowMs) : '<none>',
    ),
    ageColumn,
    ...wideContainers('spec.jobTemplate.spec.template.spec'),
    selectorColumn('spec.jobTemplate.spec.selector'),
  ],
  '/pods': [
    column('Ready', (o, nowMs) => podCells(o, nowMs).ready),
    column('Status', (o, nowMs) => podCells(o, nowMs).status),
    column('Restarts', (o, nowMs) => podCells(o, nowMs).restarts),
    ageColumn,
    wide(column('IP', (o) => textAt(listAt(o, 'status.podIPs')[0], 'ip') || textOr(o, 'status.podIP', '<none>'))),
    wide(column('Node', (o) => textOr(o, 'spec.nodeName', '<none>'))),
    wide(column('Nominated Node', (o) => textOr(o, 'status.nominatedNodeName', '<none>'))),
    wide(column('Readiness Gates', readinessGates)),
  ],
  'autoscaling/horizontalpodautoscalers': [
    column('Reference', (o) => `${textAt(o, 'spec.scaleTargetRef.kind')}/${textAt(o, 'spec.scaleTargetRef.name')}`),
    column('Targets', metricsText),
    field('MinPods', 'spec.minReplicas', '<unset>'),
    { ...integerColumn('MaxPods', 'spec.maxReplicas'), type: 'string' },
    { ...integerColumn('Replicas', 'status.currentReplicas'), type: 'string' },
    ageColumn,
  ],
  'policy/poddisruptionbudgets': [
    field('Min Available', 'spec.minAvailable', 'N/A'),
    field('Max Unavailable', 'spec.maxUnavailable', 'N/A'),
    integerColumn('Allowed Disruptions', 'status.disruptionsAllowed'),
    ageColumn,
  ],
  'scheduling.k8s.io/priorityclasses': [
    integerColumn('Value', 'value'),
    booleanColumn('Global-Default', 'globalDefault'),
    ageColumn,
    field('PreemptionPolicy', 'preemptionPolicy'),
  ],
  '/events': [
    column('Last Seen', (o, nowMs) => eventTimes(o, nowMs).last),
    field('Type', 'type'),
    field('Reason', 'reason'),
    column('Object', eventTarget),
    wide(field('Subobject', 'involvedObject.fieldPath')),
    wide(column('Source', eventSource)),
    column('Message', (o) => textAt(o, 'message').trim()),
    wide(column('First Seen', (o, nowMs) => eventTimes(o, nowMs).first)),
    wide(column('Count', (o) => Number(get(o, 'series.count') ?? (number(o, 'count') || 1)))),
    wide(nameColumn),
  ],
  // The subresource `scale` of every kind.
  'autoscaling/scales': [
    integerColumn('Desired', 'spec.replicas'),
    integerColumn('Available', 'status.replicas'),
    ageColumn,
  ],
};

function controllerOf({ metadata }: KubeObject): string {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller);
  if (!owner) return '<none>';
  const [group] = owner.apiVersion.includes('/') ? owner.apiVersion.split('/') : [''];
  return `${owner.kind.toLowerCase()}${group ? `.${group}` : ''}/${owner.name}`;
}

function readinessGates(pod: KubeObject): string {
  const gates = listAt(pod, 'spec.readinessGates');
  const isTrue = ({ conditionType }: Record<string, unknown>) =>
    listAt(pod, 'status.conditions').find(({ type }) => type === conditionType)?.status === 'True';
  return gates.length === 0 ? '<none>' : `${gates.filter(isTrue).length}/${gates.length}`;
}

function eventTimes(event: KubeObject, nowMs: number): { first: string; last: string } {
  const ago = (path: string) => ageOf(textAt(event, path), nowMs);
  const first = get(event, 'firstTimestamp') ? ago('firstTimestamp') : ago('eventTime');
  if (get(event, 'series')) return { first, last: ago('series.lastObservedTime') };
  return { first, last: get(event, 'lastTimestamp') ? ago('lastTimestamp') : first };
}

function eventTarget(event: KubeObject): string {
  const [kind, name] = [textAt(event, 'involvedObject.kind').toLowerCase(), textAt(event, 'involvedObject.name')];
  return name ? `${kind}/${name}` : kind;
}

function eventSource(event: KubeObject): string {
  const component = textOr(event, 'source.component', textAt(event, 'reportingComponent'));
  const instance = textOr(event, 'source.host', textAt(event, 'reportingInstance'));
  return instance ? `${component}, ${instance}` : component;
}

function jobStatus(job: KubeObject): string {
  const is = (type: string) => listAt(job, 'status.conditions').find((one) => one.type === type)?.status === 'True';
  if (is('Complete')) return 'Complete';
  if (is('Failed')) return 'Failed';
  if (job.metadata.deletionTimestamp) return 'Terminating';
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find(is) ?? 'Running';
}

function jobCompletions(job: KubeObject): string {
  const [succeeded, parallelism] = [number(job, 'status.succeeded'), number(job, 'spec.parallelism')];
  const completions = get(job, 'spec.completions');
  if (completions !== undefined && completions !== null) return `${succeeded}/${completions}`;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function jobDuration(job: KubeObject, nowMs: number): string {
  const start = textAt(job, 'status.startTime');
  if (!start) return '';
  const end = textAt(job, 'status.completionTime');
  return humanDuration((end ? Date.parse(end) : nowMs) - Date.parse(start));
}
