/** A served resource as one word: `apps/deployments:v1`, `/pods:v1`, `autoscaling/horizontalpodautoscalers:v2,v1`; versions in the order of preference. */
import type { GroupResource } from '../object/key.ts';

export interface ServedVersions extends GroupResource {
  readonly versions: readonly string[];
}

/**
 * Of one cluster, at most: some 20 KB in what its agent tells of itself, which is sent whole when a node or a kind comes or goes, and some 35 KB in its
 * SyncTarget, which people list by the thousand. Kubernetes itself has about 60; who has more than this is told how many there are.
 */
export const servedMax = 500;

/** A name of each part has no more than 253 characters, and a kind a handful of versions. */
const word = /^([a-z0-9.-]{0,253})\/([a-z0-9.-]{1,253}):([a-z0-9,]{1,200})$/;

export function formatServed({ group, resource, versions }: ServedVersions): string {
  return `${group}/${resource}:${versions.join(',')}`;
}

/** undefined: it is no such word. */
export function parseServed(text: string): ServedVersions | undefined {
  const [, group, resource, versions] = word.exec(text) ?? [];
  return group === undefined || !resource || !versions ? undefined : { group, resource, versions: versions.split(',') };
}
