/** An object that was placed and becomes the cluster's own. */
import { parseKey } from '../../core/object/key.ts';
import { parseApiVersion } from '../../core/object/meta.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { signerOf } from './decide.ts';
import { withoutMark } from './mark.ts';
import { ownedValues } from './owned-values.ts';
import type { OwnerRecord } from './owner-records.ts';
import { appliedVersion } from './projection.ts';

export interface GivingUpPorts {
  /** Of the agent. */
  readonly path: string;
  readonly cluster: Cluster;
}

/**
 * It stays as it is, and nothing on it says any more that this agent has applied it, by which another store of the agent would take it for one that nobody wants.
 * Conflict: somebody has changed it meanwhile.
 */
export async function giveUp(
  { path, cluster }: GivingUpPorts,
  key: string,
  record: OwnerRecord | undefined,
): Promise<void> {
  const found = await cluster.get(parseKey(key));
  if (!found || signerOf(found, record, path) !== 'us') return;
  const version = appliedVersion(found);
  const isTold = parseApiVersion(found.apiVersion).version === version;
  const live = isTold ? found : await cluster.get(parseKey(key), version);
  if (!live) return;
  const { uid = '', resourceVersion = '' } = live.metadata;
  await cluster.apply(withoutMark(ownedValues(live)), { at: { uid, resourceVersion } });
}
