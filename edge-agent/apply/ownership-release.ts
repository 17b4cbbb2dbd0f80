/** Hands an object that was placed over to the cluster. */
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
 * The object keeps its content. Its mark is removed, because another store of the agent would take a marked object for one that nobody wants. Throws
 * Conflict if somebody has changed the object meanwhile.
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
  // The cluster does not serve the applied version any more. So nobody knows the values at the applied fields, which an apply would have to name. A patch
  // needs no such values.
  if (!isServed && cluster.patch) return cluster.patch(parseKey(key), unmarking(found), objectVersionOf(found));
  const live = version === returnedVersion ? found : await cluster.get(parseKey(key), version);
  if (live) await cluster.apply(withoutMark(ownedValues(live)), { at: objectVersionOf(live) });
}

function objectVersionOf({ metadata: { uid = '', resourceVersion = '' } }: KubeObject): ObjectVersion {
  return { uid, resourceVersion };
}
