/**
 * Decides what to do about an unwanted object. For a CustomResourceDefinition, the decision also needs an answer of the cluster: who has objects of the
 * defined kind? If the definition is removed, the cluster deletes all these objects, in every namespace.
 */

import { formatKey, type GroupResource, type ObjectKey, parseKey } from '../../core/object/key.ts';
import { type KubeObject, parseApiVersion } from '../../core/object/meta.ts';
import { isTerminating } from '../../core/object/terminating.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { decideRemoval, type Removal } from './decide.ts';
import { isContainer, isDefinitionKey } from './order.ts';
import type { OwnerRecord } from './owner-records.ts';

export interface RemovalPorts {
  /** The path of the agent. */
  readonly path: string;
  readonly cluster: Cluster;
  /** The keys of the objects that the agent has applied. */
  applied(): Iterable<string>;
}

/** `why`: the reason why the object stays on the cluster, although the agent created it. */
export type RemovalWithReason = Removal & { readonly why?: string };

/**
 * How many owners the agent reads at most, with one request each. It treats all further owners as still present. The owners of one controller's objects have
 * mostly been deleted together.
 */
const ownersMax = 20;

export async function removalOf(
  key: string,
  record: OwnerRecord,
  live: KubeObject | undefined,
  ports: RemovalPorts,
): Promise<RemovalWithReason> {
  const removal = decideRemoval(record, live, { agent: ports.path, isContainer: isContainer(key) });
  if (removal.do !== 'remove' || !isDefinitionKey(key)) return removal;
  const why = await reasonToKeep(definedBy(parseKey(key)), ports);
  return why === undefined ? removal : { do: 'release', why };
}

/** The resource that a definition defines. The name of a definition contains the resource and the group: `tills.shop.example.com`. */
export function definedBy({ name }: ObjectKey): GroupResource {
  const dot = name.indexOf('.');
  return { group: name.slice(dot + 1), resource: name.slice(0, dot) };
}

async function reasonToKeep(defined: GroupResource, ports: RemovalPorts): Promise<string | undefined> {
  if (!ports.cluster.metadataOf) return undefined;
  const owners = new Owners(ports.cluster);
  // The keys are read before the list: an object in the answer may be removed, and lose its record, before the answer arrives.
  const ours = new Set([...ports.applied()].filter((key) => isOfAgent(defined, key)));
  try {
    for await (const { metadata } of ports.cluster.metadataOf(defined)) {
      const { namespace = '', name = '', deletionTimestamp } = metadata;
      const isOurs = ours.has(formatKey({ ...defined, namespace, name }));
      if (isOurs || deletionTimestamp !== undefined || (await owners.haveGone(metadata))) continue;
      return `${defined.resource} ${namespace === '' ? name : `${namespace}/${name}`} is not this agent's, and would be deleted with it`;
    }
  } catch (error) {
    if (!(error instanceof BanyanError)) throw error;
    // The cluster serves no objects of this definition, so no object would be deleted.
    if (error.code === 'NotFound') return undefined;
    // Internal: the conversion webhook of the definition does not answer. The webhook may have been placed together with the definition, and removed before
    // the definition.
    if (error.code !== 'Forbidden' && error.code !== 'Internal') throw error;
    return `the agent can't see whose objects would be deleted with it: ${error.message}`;
  }
  return undefined;
}

export function isOfAgent({ group, resource }: GroupResource, key: string): boolean {
  return key.startsWith(`${group}/${resource}/`);
}

/** Finds out whether all owners of an object are gone. If they are, the garbage collector deletes the object anyway. */
class Owners {
  readonly #cluster: Cluster;
  readonly #answers = new Map<string, boolean>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async haveGone({ namespace = '', ownerReferences = [] }: KubeObject['metadata']): Promise<boolean> {
    if (ownerReferences.length === 0) return false;
    for (const owner of ownerReferences) if (await this.#isThere(namespace, owner)) return false;
    return true;
  }

  async #isThere(
    namespace: string,
    { apiVersion, kind, name, uid }: { apiVersion: string; kind: string; name: string; uid: string },
  ): Promise<boolean> {
    const answer = this.#answers.get(uid);
    if (answer !== undefined) return answer;
    if (this.#answers.size >= ownersMax) return true;
    const served = await this.#cluster.resourceOf(apiVersion, kind);
    const at = served && { ...served, namespace: served.namespaced ? namespace : '', name };
    const live = at && (await this.#cluster.get(at));
    const isSeen = live?.metadata.uid === uid && !isTerminating(live);
    const isThere = isSeen || (!served && (await this.#isUnknown(apiVersion)));
    this.#answers.set(uid, isThere);
    return isThere;
  }

  /** Whether the agent does not know the kinds that the cluster serves in the group. Then an owner of this group may exist. */
  async #isUnknown(apiVersion: string): Promise<boolean> {
    const unknown = await this.#cluster.unknownGroups?.();
    return unknown?.has(parseApiVersion(apiVersion).group) ?? false;
  }
}
