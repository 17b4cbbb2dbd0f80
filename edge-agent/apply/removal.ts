/**
 * What is done about an object that is wanted no more, with what only the cluster knows: who has objects of their own by a definition that is about to go. All
 * of these would go with it, in every namespace.
 */
import { formatKey, type GroupResource, type ObjectKey, parseKey } from '../../core/object/key.ts';
import { type KubeObject, parseApiVersion } from '../../core/object/meta.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { decideRemoval, type Removal } from './decide.ts';
import { isContainer, isDefinitionKey } from './order.ts';
import type { OwnerRecord } from './owner-records.ts';

export interface RemovalPorts {
  /** Of the agent. */
  readonly path: string;
  readonly cluster: Cluster;
  /** Keys of what the agent has applied. */
  applied(): Iterable<string>;
}

/** `why`: it is given back although it came with the agent, because of this. */
export type RemovalWithReason = Removal & { readonly why?: string };

/** Owners that are asked for, one request each, before what they own is taken for theirs: those of one controller's objects have mostly gone together. */
const ownersMax = 20;

export async function removalOf(
  key: string,
  record: OwnerRecord,
  live: KubeObject | undefined,
  ports: RemovalPorts,
): Promise<RemovalWithReason> {
  const removal = decideRemoval(record, live, { agent: ports.path, isContainer: isContainer(key) });
  if (removal.do !== 'remove' || !isDefinitionKey(key)) return removal;
  const why = await keptFor(definedBy(parseKey(key)), ports);
  return why === undefined ? removal : { do: 'release', why };
}

/** A definition is named after what it defines: `tills.shop.example.com`. */
export function definedBy({ name }: ObjectKey): GroupResource {
  const dot = name.indexOf('.');
  return { group: name.slice(dot + 1), resource: name.slice(0, dot) };
}

async function keptFor(defined: GroupResource, ports: RemovalPorts): Promise<string | undefined> {
  if (!ports.cluster.metadataOf) return undefined;
  const owners = new Owners(ports.cluster);
  // What is told of may be removed, and be on record no more, before the answer comes.
  const ours = new Set([...ports.applied()].filter((key) => isOfAgent(defined, key)));
  try {
    for await (const { metadata } of ports.cluster.metadataOf(defined)) {
      const { namespace = '', name = '', deletionTimestamp } = metadata;
      const isOurs = ours.has(formatKey({ ...defined, namespace, name }));
      if (isOurs || deletionTimestamp !== undefined || (await owners.haveGone(metadata))) continue;
      return `${defined.resource} ${namespace === '' ? name : `${namespace}/${name}`} is not this agent's, and would go with it`;
    }
  } catch (error) {
    if (!(error instanceof BanyanError)) throw error;
    // Nothing is served by it, so nobody has anything by it that could be told of.
    if (error.code === 'NotFound') return undefined;
    // Internal: its conversion webhook does not answer, which may have been placed with it and has gone before it.
    if (error.code !== 'Forbidden' && error.code !== 'Internal') throw error;
    return `whose objects would go with it can't be seen: ${error.message}`;
  }
  return undefined;
}

export function isOfAgent({ group, resource }: GroupResource, key: string): boolean {
  return key.startsWith(`${group}/${resource}/`);
}

/** What is owned by something that has gone is being collected. */
class Owners {
  readonly #cluster: Cluster;
  readonly #known = new Map<string, boolean>();

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
    const known = this.#known.get(uid);
    if (known !== undefined) return known;
    if (this.#known.size >= ownersMax) return true;
    const served = await this.#cluster.resourceOf(apiVersion, kind);
    const at = served && { ...served, namespace: served.namespaced ? namespace : '', name };
    const live = at && (await this.#cluster.get(at));
    const isSeen = live?.metadata.uid === uid && live.metadata.deletionTimestamp === undefined;
    const isThere = isSeen || (!served && (await this.#isUnknown(apiVersion)));
    this.#known.set(uid, isThere);
    return isThere;
  }

  /** What the cluster serves of the group: an owner of it may be there. */
  async #isUnknown(apiVersion: string): Promise<boolean> {
    const unknown = await this.#cluster.unknownGroups?.();
    return unknown?.has(parseApiVersion(apiVersion).group) ?? false;
  }
}
