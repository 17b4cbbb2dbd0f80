/** Requests that do something with a Pod and are no writes of an object: a binding gives the Pod its node, an eviction deletes the Pod if its disruption budget allows that. */
import { timestamp } from '../../object/conditions.ts';
import type { GroupResource, ObjectKey } from '../../object/key.ts';
import type { Condition, KubeObject } from '../../object/meta.ts';
import { type LabelSelector, matchesSelector } from '../../object/selector.ts';
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { DeleteOptions, Space } from '../space.ts';
import { conflict, notFound } from '../status-errors.ts';
import { boundPod } from '../verbs/object-parts.ts';
import { type RequestKind, requestObject } from './request-object.ts';
import { type ApiRequest, type ApiResponse, jsonResponse } from './requests.ts';
import type { Route } from './route.ts';
import { warned } from './warnings.ts';
import { deleteOptionsIn, writeOptionsOf } from './write-options.ts';
import type { WriteTarget } from './writes.ts';

export type PodAct = (request: ApiRequest, target: WriteTarget, clock: Clock) => Promise<ApiResponse>;

export const actedResource: GroupResource = { group: '', resource: 'pods' };
const budgetResource: GroupResource = { group: 'policy', resource: 'poddisruptionbudgets' };
/** Kubernetes' bound for pods that a budget notes as evicted and that are still there. */
const disruptedPodsMax = 2000;
const done = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };

const bindingKind: RequestKind = { kind: 'Binding', apiVersion: 'v1', type: 'io.k8s.api.core.v1.Binding' };
const evictionKind: RequestKind = { kind: 'Eviction', apiVersion: 'policy/v1', type: 'io.k8s.api.policy.v1.Eviction' };

interface Binding extends KubeObject {
  readonly target?: { readonly kind?: string; readonly name?: string } | null;
}

interface Pod extends KubeObject {
  readonly spec: { readonly nodeName?: string };
  readonly status?: { readonly phase?: string; readonly conditions?: readonly Condition[] };
}

interface Budget extends KubeObject {
  readonly spec: { readonly selector?: LabelSelector; readonly unhealthyPodEvictionPolicy?: string };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly disruptionsAllowed?: number;
    readonly currentHealthy?: number;
    readonly desiredHealthy?: number;
    readonly disruptedPods?: Readonly<Record<string, string>>;
  };
}

/** The act to which the URL leads, whatever the method. A POST to `bindings` names its Pod in the body. */
export function podActOf(route: Route & { type: 'resource' }): PodAct | undefined {
  const { of, version, name, subresource } = route;
  if (of.group !== '' || version !== 'v1') return undefined;
  if (of.resource === 'bindings' && name === '') return bind;
  if (of.resource !== actedResource.resource || name === '') return undefined;
  return subresource === 'binding' ? bind : subresource === 'eviction' ? evict : undefined;
}

async function bind(request: ApiRequest, target: WriteTarget, clock: Clock): Promise<ApiResponse> {
  const warnings: string[] = [];
  const options = writeOptionsOf(request, target, warnings);
  const binding: Binding = await requestObject(request, bindingKind);
  const { name = '', annotations } = binding.metadata;
  const key = { ...target.key, name: target.key.name || name };
  checkName('Binding', binding, key);
  const { kind: of = '', name: nodeName = '' } = binding.target ?? {};
  if (nodeName === '') throw invalidTarget('target.name: Required value');
  if (of !== '' && of !== 'Node') {
    throw invalidTarget(`target.kind: Unsupported value: ${JSON.stringify(of)}: supported values: "Node", "<empty>"`);
  }
  const pod = podAt(target.space, key);
  const bound: ObjectKey = { ...key, resource: 'pods/binding' };
  if (pod.metadata.deletionTimestamp)
    throw conflict(bound, `pod ${key.name} is being deleted, cannot be assigned to a host`);
  if (pod.spec.nodeName)
    throw conflict(bound, `pod ${key.name} is already assigned to node ${JSON.stringify(pod.spec.nodeName)}`);
  const all = { ...pod.metadata.annotations, ...annotations };
  const next = boundPod(
    { ...pod, metadata: { ...pod.metadata, annotations: all } },
    nodeName,
    timestamp(clock.wallMs()),
  );
  target.space.update(next, { ...options, subresource: 'binding' });
  await target.space.storage.flushed();
  return jsonResponse(201, done, warned(warnings));
}

async function evict(request: ApiRequest, { space, key, version }: WriteTarget, clock: Clock): Promise<ApiResponse> {
  const warnings: string[] = [];
  const eviction = await requestObject(request, evictionKind);
  checkName('Eviction', eviction, key);
  const pod = podAt(space, key);
  const options = deleteOptionsIn(eviction.deleteOptions, request, { version }, warnings);
  // A dry run checks all, also the preconditions, and notes nothing in the budget.
  space.delete(key, { ...options, dryRun: true });
  const budget = isRunning(pod) ? budgetOf(space, pod) : undefined;
  if (budget) spend(space, budget, pod, options, timestamp(clock.wallMs()));
  if (!options.dryRun) space.delete(key, options);
  await space.storage.flushed();
  return jsonResponse(201, done, warned(warnings));
}

/** A budget is about running pods: the others serve nobody. */
function isRunning({ status, metadata }: Pod): boolean {
  return !['Succeeded', 'Failed', 'Pending'].includes(status?.phase ?? '') && !metadata.deletionTimestamp;
}

function budgetOf(space: Space, { metadata }: Pod): Budget | undefined {
  const labels = metadata.labels ?? {};
  const all = space.storage
    .scan(budgetResource, { namespace: metadata.namespace! })
    .map((stored) => space.parse(stored));
  const found = (all as Budget[]).filter(({ spec }) => spec.selector && matchesSelector(spec.selector, labels));
  if (found.length > 1) {
    const message = 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';
    throw new BanyanError('Internal', message);
  }
  return found[0];
}

/** Notes the eviction in the budget. Throws TooManyRequests if the budget does not allow it. */
function spend(space: Space, budget: Budget, pod: Pod, { dryRun, user }: DeleteOptions, now: string): void {
  const name = budget.metadata.name!;
  const {
    observedGeneration = 0,
    disruptionsAllowed: allowed = 0,
    disruptedPods = {},
    ...counts
  } = budget.status ?? {};
  const { currentHealthy = 0, desiredHealthy = 0 } = counts;
  const isReady = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
  if (!isReady && budget.spec.unhealthyPodEvictionPolicy === 'AlwaysAllow') return;
  if (!isReady && desiredHealthy > 0 && currentHealthy >= desiredHealthy) return;
  if (observedGeneration < (budget.metadata.generation ?? 0)) {
    throw refused(`The disruption budget ${name} is still being processed by the server.`, 10);
  }
  if (allowed <= 0 || Object.keys(disruptedPods).length > disruptedPodsMax) {
    throw refused(
      `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`,
    );
  }
  if (dryRun) return;
  const status = {
    ...budget.status,
    disruptionsAllowed: allowed - 1,
    disruptedPods: { ...disruptedPods, [pod.metadata.name!]: now },
  };
  space.update({ ...budget, status }, { subresource: 'status', fieldManager: 'banyan', ...(user ? { user } : {}) });
}

function refused(message: string, retryAfterSeconds?: number): BanyanError {
  const why = "Cannot evict pod as it would violate the pod's disruption budget.";
  const causes = [{ reason: 'DisruptionBudget', message, field: '' }];
  return new BanyanError('TooManyRequests', why, { causes, ...(retryAfterSeconds ? { retryAfterSeconds } : {}) });
}

/** kube-apiserver answers so to a wrong target. */
function invalidTarget(message: string): BanyanError {
  return new BanyanError('Internal', message);
}

function podAt(space: Space, key: ObjectKey): Pod {
  const pod = space.get(key);
  if (!pod) throw notFound(key);
  return pod as Pod;
}

function checkName(kind: string, { metadata }: KubeObject, key: ObjectKey): void {
  if (metadata.name !== key.name || key.name === '') {
    throw new BanyanError('BadRequest', `name in URL does not match name in ${kind} object`);
  }
  if (metadata.namespace && metadata.namespace !== key.namespace) {
    throw new BanyanError('BadRequest', `namespace in URL does not match namespace in ${kind} object`);
  }
}
