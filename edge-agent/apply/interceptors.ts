/**
 * Decides when the agent applies an interceptor: an object that can make the API server refuse requests for other objects (order.ts). An interceptor that is
 * applied before its workload works refuses everything that it matches, for every placement and for the site.
 *
 * - The agent applies an interceptor after the other objects of its placements, and when the workload that serves it is available.
 * - The wait has a bound. Some workloads become ready only after their webhook configuration exists, because they write their certificate into it. So after
 *   the bound, the agent applies the interceptor. If a webhook with the failurePolicy Fail has no available workload then, the agent applies the lenient form:
 *   this webhook gets the failurePolicy Ignore until its workload is available. In this form, the webhook refuses nothing that its workload has not judged.
 * - If no placement brings the workload behind an existing Service, the agent has no workload to wait for. So it applies the lenient form at once, and the
 *   desired form as soon as the Service has a ready pod.
 * - An interceptor that is on the cluster already stays, and its updates do not wait.
 */

import type { KubeObject } from '../../core/object/meta.ts';
import type { Labels } from '../../core/object/selector.ts';
import { isRecord } from '../../core/runtime/is-record.ts';

/**
 * How long an interceptor waits. Most workloads become available within this time, also if the cluster has to pull an image. `helm install --wait` gives up
 * after 5 minutes: a workload that needs its webhook configuration has more than half of this time left.
 */
export const interceptorWaitMaxMs = 120_000;

/** A Service of the cluster. */
export interface ServiceName {
  readonly namespace: string;
  readonly name: string;
}

/** A Service behind which nothing is known to work. */
export interface UnavailableService extends ServiceName {
  /** A clause for messages: `deployments.apps guard/guard is not available: 0 of 1 replicas are available`. */
  readonly why: string;
  /** Whether the Service exists and no placement brings the workload behind it. */
  readonly isForeign: boolean;
}

export interface InterceptorState {
  /** Whether the cluster has the interceptor. */
  readonly isThere: boolean;
  /** Whether the agent has applied the lenient form. */
  readonly isLenient: boolean;
  /** How many objects of the same placements are not applied yet. */
  readonly missing: number;
  readonly unavailable: readonly (ServiceName & Pick<UnavailableService, 'isForeign'>)[];
  /** How long the interceptor has waited. */
  readonly waitedMs: number;
}

export function decideInterceptor(object: KubeObject, state: InterceptorState): 'apply' | 'wait' | 'lenient' {
  const { isThere, isLenient, missing, unavailable, waitedMs } = state;
  if (isThere && !isLenient) return 'apply';
  const form = strictWebhooks(object, unavailable).length > 0 ? 'lenient' : 'apply';
  if (isThere || waitedMs >= interceptorWaitMaxMs) return form;
  // The lenient form helps only for webhooks. An APIService waits for every workload.
  const awaited = webhooksOf(object).length > 0 ? unavailable.filter(({ isForeign }) => !isForeign) : unavailable;
  return missing === 0 && awaited.length === 0 ? form : 'wait';
}

/** The Services that serve the interceptor, each once. A webhook may have a URL instead of a Service. A binding of a policy has neither. */
export function servicesOf(object: KubeObject): readonly ServiceName[] {
  const { service } = recordOf(object.spec);
  const found = [service, ...webhooksOf(object).map(serviceIn)].flatMap((one) => serviceNameOf(one) ?? []);
  return [...new Map(found.map((one) => [`${one.namespace}/${one.name}`, one])).values()];
}

/** The Service of the conversion webhook of a CustomResourceDefinition. Undefined: the definition has no such webhook, or the webhook has a URL. */
export function conversionServiceOf(definition: KubeObject): ServiceName | undefined {
  const conversion = recordOf(recordOf(definition.spec).conversion);
  return conversion.strategy === 'Webhook' ? serviceNameOf(serviceIn(conversion.webhook)) : undefined;
}

/** The labels of the pods that the object runs: of a Pod its own, of any other kind those of its template. Undefined: it runs no pods. */
export function podLabelsOf({ kind, apiVersion, metadata, spec }: KubeObject): Labels | undefined {
  if (kind === 'Pod' && apiVersion === 'v1') return metadata.labels ?? {};
  const { template } = recordOf(spec);
  return isRecord(template) ? (recordOf(recordOf(template.metadata).labels) as Labels) : undefined;
}

/** The lenient form of a webhook configuration: webhooks without an available workload have the failurePolicy Ignore. */
export function lenientForm(object: KubeObject, unavailable: readonly ServiceName[]): KubeObject {
  const strict = new Set(strictWebhooks(object, unavailable));
  return {
    ...object,
    webhooks: webhooksOf(object).map((webhook) =>
      strict.has(webhook) ? { ...webhook, failurePolicy: 'Ignore' } : webhook,
    ),
  };
}

/** The content hash of the lenient form. The record of the applied object has it, so the agent applies the desired form as other content later. */
export function lenientHash(bodyHash: string): string {
  return `${bodyHash}${lenientMark}`;
}

export function isLenientHash(bodyHash: string | undefined): boolean {
  return bodyHash?.endsWith(lenientMark) ?? false;
}

const lenientMark = '~lenient';

/** The names of the webhooks that have the failurePolicy Ignore in the lenient form only. */
export function namesOfStrict(object: KubeObject, unavailable: readonly ServiceName[]): readonly string[] {
  return strictWebhooks(object, unavailable).map(({ name }) => `${name}`);
}

/** Webhooks with the failurePolicy Fail, which is the default, whose Service is unavailable. */
function strictWebhooks(object: KubeObject, unavailable: readonly ServiceName[]): Record<string, unknown>[] {
  return webhooksOf(object).filter((webhook) => {
    const service = serviceNameOf(serviceIn(webhook));
    if (!service || webhook.failurePolicy === 'Ignore') return false;
    return unavailable.some(({ namespace, name }) => namespace === service.namespace && name === service.name);
  });
}

function webhooksOf({ webhooks }: KubeObject): Record<string, unknown>[] {
  return Array.isArray(webhooks) ? webhooks.filter(isRecord) : [];
}

function serviceIn(webhook: unknown): unknown {
  return recordOf(recordOf(webhook).clientConfig).service;
}

/** Undefined if the value names no Service. The cluster itself refuses values of the wrong type. */
function serviceNameOf(value: unknown): ServiceName | undefined {
  const { namespace, name } = recordOf(value);
  return typeof namespace === 'string' && typeof name === 'string' ? { namespace, name } : undefined;
}

function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}
