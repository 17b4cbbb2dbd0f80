/** An object that was placed and becomes the cluster's own. */
import { parseKey } from '../../core/object/key.ts';
import { formatApiVersion, type KubeObject, parseApiVersion } from '../../core/object/meta.ts';
import type { AsItWas, Cluster } from '../cluster/cluster.ts';
import { unmarking, withoutMark } from '../cluster/mark.ts';
import { signerOf } from './decide.ts';
import { ownedValues } from './owned-values.ts';
import type { OwnerRecord } from './owner-records.ts';
import { appliedVersion } from './projection.ts';

export interface OwnershipReleasePorts {
  /** Of the agent. */
  readonly path: string;
  readonly cluster: Cluster;
}

/**
 * It stays as it is, and nothing on it says any more that this agent has applied it, by which another store of the agent would take it for one that nobody wants.
 * Conflict: somebody has changed it meanwhile.
 */
export async function releaseOwnership(
  { path, cluster }: OwnershipReleasePorts,
  key: string,
  record: OwnerRecord | undefined,
): Promise<void> {
  const found = await cluster.get(parseKey(key));
  if (!found || signerOf(found, record, path) !== 'us') return;
  const { group, version: told } = parseApiVersion(found.apiVersion);
  const version = appliedVersion(found) ?? told;
  const isServed = version === told || (await cluster.resourceOf(formatApiVersion(group, version), found.kind));
  // Nobody tells any more what is at the fields that were applied, which an apply would have to name.
  if (!isServed && cluster.patch) return cluster.patch(parseKey(key), unmarking(found), asOf(found));
  const live = version === told ? found : await cluster.get(parseKey(key), version);
  if (live) await cluster.apply(withoutMark(ownedValues(live)), { at: asOf(live) });
}

function asOf({ metadata: { uid = '', resourceVersion = '' } }: KubeObject): AsItWas {
  return { uid, resourceVersion };
}
