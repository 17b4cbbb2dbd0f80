/** A served resource as one text: `apps/deployments:v1`, `/pods:v1`, `autoscaling/horizontalpodautoscalers:v2,v1`. Versions are in the order of preference. */
import type { GroupResource } from '../object/key.ts';

export interface ServedVersions extends GroupResource {
  readonly versions: readonly string[];
}

/**
 * Bound for one cluster: some 20 KB in the agent's report about itself, which is sent whole when a node or a kind is added or removed, and some 35 KB in its
 * SyncTarget, of which people list thousands. Kubernetes itself has about 60. Of a cluster with more, the number of all is reported.
 */
export const servedMax = 500;

/** Each part has at most 253 characters, and a kind has a handful of versions. */
const servedForm = /^([a-z0-9.-]{0,253})\/([a-z0-9.-]{1,253}):([a-z0-9,]{1,200})$/;

export function formatServed({ group, resource, versions }: ServedVersions): string {
  return `${group}/${resource}:${versions.join(',')}`;
}

/** Undefined: the text is not of this form. */
export function parseServed(text: string): ServedVersions | undefined {
  const [, group, resource, versions] = servedForm.exec(text) ?? [];
  return group === undefined || !resource || !versions ? undefined : { group, resource, versions: versions.split(',') };
}
