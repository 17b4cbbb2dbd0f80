/** Gives a placed object to the cluster: from then on, the object does not belong to the agent. */
import { parseKey } from '../../core/object/key.ts';
import { formatApiVersion, type KubeObject, parseApiVersion } from '../../core/object/meta.ts';
import type { Cluster, ObjectVersion } from '../cluster/cluster.ts';
import { othersOf, unmarking, withoutMark, withoutOwnership } from '../cluster/mark.ts';
import { signerOf } from './decide.ts';
import { mergePatchOf, siteForm } from './former-form.ts';
import { isContainer } from './order.ts';
import { ownedValues } from './owned-values.ts';
import type { OwnerRecord, OwnerRecords } from './owner-records.ts';
import { appliedVersion } from './projection.ts';

export interface OwnershipReleasePorts {
  /** The path of the agent. */
  readonly path: string;
  readonly cluster: Cluster;
}

/**
 * Removes the mark of the object, and keeps the object's content. With the mark, another store of the agent would treat the object as an unwanted object.
 * `found`: the object on the cluster. Throws Conflict if somebody has changed the object meanwhile.
 */
export async function releaseOwnership(
  { path, cluster }: OwnershipReleasePorts,
  key: string,
  record: OwnerRecord | undefined,
  found: KubeObject,
): Promise<void> {
  if (signerOf(found, record, path) !== 'us') return;
  const { group, version: returnedVersion } = parseApiVersion(found.apiVersion);
  const version = appliedVersion(found) ?? returnedVersion;
  const isServed =
    version === returnedVersion || (await cluster.resourceOf(formatApiVersion(group, version), found.kind));
  // The cluster does not serve the applied version any more. So the agent can't read the values of the applied fields, and an apply would have to contain
  // them. A patch does not need these values.
  if (!isServed) return cluster.patch(parseKey(key), unmarking(found), objectVersionOf(found));
  const live = version === returnedVersion ? found : await cluster.get(parseKey(key), version);
  if (live) await cluster.apply(withoutMark(ownedValues(live)), { at: objectVersionOf(live) });
}

/**
 * Gives back an object that nobody wants any more and that the agent must not remove. The object gets the values that it had before the agent, at the fields
 * that only the agent owns. If the agent has no former form (another store of the agent took the object over), an ordinary object keeps its content: a missing
 * field could break the site's own program. Throws Conflict if somebody has changed the object meanwhile.
 */
export async function giveBack(
  ports: OwnershipReleasePorts & { readonly records: OwnerRecords },
  key: string,
  record: OwnerRecord,
  live: KubeObject,
): Promise<void> {
  const { cluster, records } = ports;
  const isOrphaned = isContainer(key) && record.deletion === 'Orphan';
  const former = isOrphaned ? undefined : records.formerFormOf(key);
  if (former && former.metadata.uid === live.metadata.uid && (await restoreFormer(cluster, key, live, former))) return;
  if (isContainer(key)) await cluster.apply(withoutOwnership(live, isOrphaned));
  else await releaseOwnership(ports, key, record, live);
}

/** Restores the former form by one patch. False: the cluster does not serve the version of the former form any more, and nothing has changed. */
async function restoreFormer(
  cluster: Cluster,
  key: string,
  { apiVersion, kind }: KubeObject,
  former: KubeObject,
): Promise<boolean> {
  const { group } = parseApiVersion(apiVersion);
  const { version } = parseApiVersion(former.apiVersion);
  if (!(await cluster.resourceOf(formatApiVersion(group, version), kind))) return false;
  const live = await cluster.get(parseKey(key), version);
  if (!live) return true;
  // The paths of the owned fields are those of the applied version.
  const isComparable = live.apiVersion === former.apiVersion && appliedVersion(live) === version;
  if (!isComparable || live.metadata.uid !== former.metadata.uid) return false;
  const { metadata, ...change } = mergePatchOf(live, siteForm(live, former)) as Partial<KubeObject>;
  const patch = { ...change, metadata: { ...metadata, managedFields: othersOf(live.metadata) } };
  await cluster.patch(parseKey(key), patch, objectVersionOf(live), version);
  return true;
}

function objectVersionOf({ metadata: { uid = '', resourceVersion = '' } }: KubeObject): ObjectVersion {
  return { uid, resourceVersion };
}
