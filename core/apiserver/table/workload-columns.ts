/** The columns of `kubectl get` for kinds of workloads: core, apps, batch, autoscaling, policy. */
import type { KubeObject } from '../../object/meta.ts';
import { ageOf, humanDuration } from './ages.ts';
import {
  age,
  boolean,
  type ComputedColumn,
  column,
  containers,
  field,
  get,
  integer,
  labelsText,
  list,
  nameColumn,
  number,
  selector,
  selectorText,
  text,
  textOr,
  wide,
} from './cells.ts';
import { metricsText } from './metric-cells.ts';
import { podCells } from './pod-cells.ts';

const template = 'spec.template.spec';
const wideContainers = (path: string) => containers(path).map(wide);
const replicas = column('Desired', (o) => number(o, 'spec.replicas', 1), 0, 'integer');
const replicaColumns = [replicas, integer('Current', 'status.replicas'), integer('Ready', 'status.readyReplicas'), age];
const readyOfReplicas = column('Ready', (o) => `${number(o, 'status.readyReplicas')}/${number(o, 'spec.replicas', 1)}`);

export const workloadColumns: Readonly<Record<string, readonly ComputedColumn[]>> = {
  'apps/deployments': [
    readyOfReplicas,
    { ...integer('Up-to-date', 'status.updatedReplicas'), type: 'string' },
    { ...integer('Available', 'status.availableReplicas'), type: 'string' },
    age,
    ...wideContainers(template),
    wide(column('Selector', (o) => selectorText(get(o, 'spec.selector')))),
  ],
  'apps/replicasets': [...replicaColumns, ...wideContainers(template), selector('spec.selector')],
  'apps/statefulsets': [readyOfReplicas, age, ...wideContainers(template)],
  'apps/daemonsets': [
    integer('Desired', 'status.desiredNumberScheduled'),
    integer('Current', 'status.currentNumberScheduled'),
    integer('Ready', 'status.numberReady'),
    integer('Up-to-date', 'status.updatedNumberScheduled'),
    integer('Available', 'status.numberAvailable'),
    column('Node Selector', (o) => labelsText(get(o, `${template}.nodeSelector`))),
    age,
    ...wideContainers(template),
    selector('spec.selector'),
  ],
  'apps/controllerrevisions': [
    column('Controller', controllerOf),
    { ...integer('Revision', 'revision'), type: 'string' },
    age,
  ],
  '/replicationcontrollers': [
    ...replicaColumns,
    ...wideContainers(template),
    wide(column('Selector', (o) => labelsText(get(o, 'spec.selector')))),
  ],
  '/podtemplates': [
    ...containers('template.spec'),
    column('Pod Labels', (o) => labelsText(get(o, 'template.metadata.labels'))),
  ],
  'batch/jobs': [
    column('Status', jobStatus),
    column('Completions', jobCompletions),
    column('Duration', jobDuration),
    age,
    ...wideContainers(template),
    selector('spec.selector'),
  ],
  'batch/cronjobs': [
    field('Schedule', 'spec.schedule'),
    field('Timezone', 'spec.timeZone', '<none>'),
    column('Suspend', (o) => (get(o, 'spec.suspend') ? 'True' : 'False'), 0, 'boolean'),
    column('Active', (o) => list(o, 'status.active').length, 0, 'integer'),
    column('Last Schedule', (o, nowMs) =>
      get(o, 'status.lastScheduleTime') ? ageOf(text(o, 'status.lastScheduleTime'), nowMs) : '<none>',
    ),
    age,
    ...wideContainers('spec.jobTemplate.spec.template.spec'),
    selector('spec.jobTemplate.spec.selector'),
  ],
  '/pods': [
    column('Ready', (o, nowMs) => podCells(o, nowMs).ready),
    column('Status', (o, nowMs) => podCells(o, nowMs).status),
    column('Restarts', (o, nowMs) => podCells(o, nowMs).restarts),
    age,
    wide(column('IP', (o) => text(list(o, 'status.podIPs')[0], 'ip') || textOr(o, 'status.podIP', '<none>'))),
    wide(column('Node', (o) => textOr(o, 'spec.nodeName', '<none>'))),
    wide(column('Nominated Node', (o) => textOr(o, 'status.nominatedNodeName', '<none>'))),
    wide(column('Readiness Gates', readinessGates)),
  ],
  'autoscaling/horizontalpodautoscalers': [
    column('Reference', (o) => `${text(o, 'spec.scaleTargetRef.kind')}/${text(o, 'spec.scaleTargetRef.name')}`),
    column('Targets', metricsText),
    field('MinPods', 'spec.minReplicas', '<unset>'),
    { ...integer('MaxPods', 'spec.maxReplicas'), type: 'string' },
    { ...integer('Replicas', 'status.currentReplicas'), type: 'string' },
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
    boolean('Global-Default', 'globalDefault'),
    age,
    field('PreemptionPolicy', 'preemptionPolicy'),
  ],
  '/events': [
    column('Last Seen', (o, nowMs) => eventTimes(o, nowMs).last),
    field('Type', 'type'),
    field('Reason', 'reason'),
    column('Object', eventTarget),
    wide(field('Subobject', 'involvedObject.fieldPath')),
    wide(column('Source', eventSource)),
    column('Message', (o) => text(o, 'message').trim()),
    wide(column('First Seen', (o, nowMs) => eventTimes(o, nowMs).first)),
    wide(column('Count', (o) => Number(get(o, 'series.count') ?? (number(o, 'count') || 1)))),
    wide(nameColumn),
  ],
  // The subresource `scale` of every kind.
  'autoscaling/scales': [integer('Desired', 'spec.replicas'), integer('Available', 'status.replicas'), age],
};

function controllerOf({ metadata }: KubeObject): string {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller);
  if (!owner) return '<none>';
  const [group] = owner.apiVersion.includes('/') ? owner.apiVersion.split('/') : [''];
  return `${owner.kind.toLowerCase()}${group ? `.${group}` : ''}/${owner.name}`;
}

function readinessGates(pod: KubeObject): string {
  const gates = list(pod, 'spec.readinessGates');
  const isTrue = ({ conditionType }: Record<string, unknown>) =>
    list(pod, 'status.conditions').find(({ type }) => type === conditionType)?.status === 'True';
  return gates.length === 0 ? '<none>' : `${gates.filter(isTrue).length}/${gates.length}`;
}

function eventTimes(event: KubeObject, nowMs: number): { first: string; last: string } {
  const ago = (path: string) => ageOf(text(event, path), nowMs);
  const first = get(event, 'firstTimestamp') ? ago('firstTimestamp') : ago('eventTime');
  if (get(event, 'series')) return { first, last: ago('series.lastObservedTime') };
  return { first, last: get(event, 'lastTimestamp') ? ago('lastTimestamp') : first };
}

function eventTarget(event: KubeObject): string {
  const [kind, name] = [text(event, 'involvedObject.kind').toLowerCase(), text(event, 'involvedObject.name')];
  return name ? `${kind}/${name}` : kind;
}

function eventSource(event: KubeObject): string {
  const component = textOr(event, 'source.component', text(event, 'reportingComponent'));
  const instance = textOr(event, 'source.host', text(event, 'reportingInstance'));
  return instance ? `${component}, ${instance}` : component;
}

function jobStatus(job: KubeObject): string {
  const is = (type: string) => list(job, 'status.conditions').find((one) => one.type === type)?.status === 'True';
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
  const start = text(job, 'status.startTime');
  if (!start) return '';
  const end = text(job, 'status.completionTime');
  return humanDuration((end ? Date.parse(end) : nowMs) - Date.parse(start));
}
