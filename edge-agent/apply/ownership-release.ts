/** Gives a placed object to the cluster: from then on, the object does not belong to the agent. */
import { parseKey } from '../../core/object/key.ts';
import { formatApiVersion, type KubeObject, parseApiVersion } from '../../core/object/meta.ts';
import type { Cluster, ObjectVersion } from '../cluster/cluster.ts';
import { unmarking, withoutMark } from '../cluster/mark.ts';
import { signerOf } from './decide.ts';
import { ownedValues } from './owned-values.ts';
import type { OwnerRecord } from './owner-records.ts';
import { appliedVersion } from './projection.ts';

export interface OwnershipReleasePorts {
  /** The path of the agent. */
  readonly path: string;
  readonly cluster: Cluster;
}

/**
 * Removes the mark of the object, and keeps the object's content. With the mark, another store of the agent would treat the object as an unwanted object.
 * Throws Conflict if somebody has changed the object meanwhile.
 */
export async function releaseOwnership(
  { path, cluster }: OwnershipReleasePorts,
  key: string,
  record: OwnerRecord | undefined,
): Promise<void> {
  const found = await cluster.get(parseKey(key));
  if (!found || signerOf(found, record, path) !== 'us') return;
  const { group, version: returnedVersion } = parseApiVersion(found.apiVersion);
  const version = appliedVersion(found) ?? returnedVersion;
  const isServed =
    version === returnedVersion || (await cluster.resourceOf(formatApiVersion(group, version), found.kind));
  // The cluster does not serve the applied version any more. So the agent can't read the values of the applied fields, and an apply would have to contain
  // them. A patch does not need these values.
  if (!isServed && cluster.patch) return cluster.patch(parseKey(key), unmarking(found), objectVersionOf(found));
  const live = version === returnedVersion ? found : await cluster.get(parseKey(key), version);
  if (live) await cluster.apply(withoutMark(ownedValues(live)), { at: objectVersionOf(live) });
}

function objectVersionOf({ metadata: { uid = '', resourceVersion = '' } }: KubeObject): ObjectVersion {
  return { uid, resourceVersion };
}
