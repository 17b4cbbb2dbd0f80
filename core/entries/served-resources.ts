/** A served resource as one text: `apps/deployments:v1`, `/pods:v1`, `autoscaling/horizontalpodautoscalers:v2,v1`. Versions are in the order of preference. */
import type { GroupResource } from '../object/key.ts';

export interface ServedVersions extends GroupResource {
  readonly versions: readonly string[];
}

/**
 * Limit for the resources that an agent reports for one cluster. 500 resources are about 20 KB in the agent's report about itself, which is sent whole after
 * each added or removed node or kind. They are about 35 KB in the SyncTarget, and people list thousands of SyncTargets. Kubernetes itself has about 60
 * resources. If a cluster has more than 500, the agent also reports how many there are.
 */
export const servedMax = 500;

/** Group and resource have at most 253 characters each. 200 characters are enough for the versions, because a kind has only a few. */
const servedForm = /^([a-z0-9.-]{0,253})\/([a-z0-9.-]{1,253}):([a-z0-9,]{1,200})$/;

export function formatServed({ group, resource, versions }: ServedVersions): string {
  return `${group}/${resource}:${versions.join(',')}`;
}

/** Undefined: the text is not of this form. */
export function parseServed(text: string): ServedVersions | undefined {
  const [, group, resource, versions] = servedForm.exec(text) ?? [];
  return group === undefined || !resource || !versions ? undefined : { group, resource, versions: versions.split(',') };
}
