/**
 * Finds out whether anything answers behind a Service when the agent has placed no workload for it. Such a workload may come from an operator, from another
 * placement or from the site, or it may be missing.
 */

import type { KubeObject } from '../../core/object/meta.ts';
import { isReadyPod } from '../../core/object/pod-cause.ts';
import type { Labels } from '../../core/object/selector.ts';
import { isTerminating } from '../../core/object/terminating.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Cluster } from '../cluster/cluster.ts';

interface ServiceSpec {
  readonly type?: string;
  readonly selector?: Labels;
  readonly publishNotReadyAddresses?: boolean;
}

interface EndpointSliceView {
  readonly endpoints?: readonly {
    readonly addresses?: readonly string[];
    readonly conditions?: { readonly ready?: boolean };
  }[];
}

const slicesOfService = 'kubernetes.io/service-name';
/** The first pods or slices of a Service are enough: of more than these, some are ready if the Service works at all. */
const readMax = 100;

/** A clause for messages. Undefined: something answers, or the agent can't find out. */
export async function idleBehind(
  cluster: Pick<Cluster, 'find' | 'get'>,
  service: KubeObject,
): Promise<string | undefined> {
  const { type, selector = {}, publishNotReadyAddresses } = (service.spec ?? {}) as ServiceSpec;
  // The name of a host outside of the cluster.
  if (type === 'ExternalName' || !cluster.find) return undefined;
  try {
    if (Object.keys(selector).length === 0) {
      return (await hasEndpoints(cluster, service)) ? undefined : 'it has no selector and no ready endpoints';
    }
    const namespace = service.metadata.namespace ?? '';
    const of = { namespace, selector: { matchLabels: selector }, limit: readMax };
    const pods = await cluster.find({ group: '', resource: 'pods' }, of);
    const isServing = (pod: KubeObject) => !isTerminating(pod) && isReadyPod(pod);
    return pods.some(publishNotReadyAddresses ? () => true : isServing)
      ? undefined
      : 'no pod that its selector selects is ready';
  } catch (error) {
    // The agent may not read pods, or the cluster has no EndpointSlices.
    if (error instanceof BanyanError && (error.code === 'Forbidden' || error.code === 'NotFound')) return undefined;
    throw error;
  }
}

/** Somebody writes the endpoints of a Service without a selector: as EndpointSlices, or as Endpoints, of which the cluster makes EndpointSlices. */
async function hasEndpoints(cluster: Pick<Cluster, 'find' | 'get'>, { metadata }: KubeObject): Promise<boolean> {
  const { namespace = '', name = '' } = metadata;
  const selector = { matchLabels: { [slicesOfService]: name } };
  const resource = { group: 'discovery.k8s.io', resource: 'endpointslices' };
  const slices = await cluster.find!(resource, { namespace, selector, limit: readMax });
  const isReady = (slice: KubeObject) =>
    ((slice as EndpointSliceView).endpoints ?? []).some(
      ({ addresses = [], conditions }) => addresses.length > 0 && conditions?.ready !== false,
    );
  if (slices.some(isReady)) return true;
  const endpoints = await cluster.get({ group: '', resource: 'endpoints', namespace, name });
  const { subsets = [] } = (endpoints ?? {}) as { subsets?: readonly { addresses?: readonly unknown[] }[] };
  return subsets.some(({ addresses = [] }) => addresses.length > 0);
}
