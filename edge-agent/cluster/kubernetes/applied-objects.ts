/** Lists the objects that the agent has applied to the cluster, also with an earlier store. The mark and the signature on each object identify them. */
import { formatGroupResource } from '../../../core/object/key.ts';
import { BanyanError, describeError } from '../../../core/runtime/errors.ts';
import type { Logger } from '../../../core/runtime/logger.ts';
import type { AppliedObject, FoundObjects, ServedResource } from '../cluster.ts';
import { markSelector, signatureOf } from '../mark.ts';
import type { ClusterApiClient } from './api-client.ts';
import type { ClusterIdentity } from './cluster-identity.ts';
import { type Discovery, staleGroupMessage, urlPathOf } from './discovery.ts';
import { type ListPage, ListPages } from './list-pages.ts';
import { metadataList } from './resource-watch.ts';

export interface AppliedObjectsPorts {
  readonly client: ClusterApiClient;
  readonly discovery: Discovery;
  readonly identity: ClusterIdentity;
  readonly logger: Logger;
  served(): Promise<readonly ServedResource[]>;
}

/** Resources without a list: the agent is not allowed to list them (`refused`), or they can't be listed now (`unknown`). */
interface Without {
  readonly refused: string[];
  readonly unknown: string[];
}

/**
 * Returns the objects of the agent with these paths. If the agent is not allowed to list a kind, the kind gives no objects: with the permissions of the chart,
 * most kinds are such kinds. After any other failure, the objects of the kind are unknown. Such a failure says nothing about other kinds: a webhook or an
 * aggregated API server may be down.
 */
export async function appliedObjects(ports: AppliedObjectsPorts, paths: readonly string[]): Promise<FoundObjects> {
  const { client, discovery, identity, logger } = ports;
  await identity.check();
  const served = await ports.served();
  const refused: string[] = [];
  const unknown = [...(await discovery.unknownGroups())].map((group) => `*.${group}: ${staleGroupMessage(group)}`);
  const found = await Promise.all(served.map((resource) => appliedOf(client, resource, paths, { refused, unknown })));
  if (unknown.length > 0) {
    // The check runs again: failures for some kinds may be the first sign that the whole cluster fails.
    identity.unsure();
    await identity.check();
  }
  if (refused.length > 0) {
    logger.info(
      { resources: refused },
      'the agent does not know which objects of these resources an earlier store has applied: it may not list them',
    );
  }
  return { objects: found.flat(), unknown };
}

/** Lists every object of the resource in pages, with metadata only. */
export function metadataPages(
  client: ClusterApiClient,
  served: ServedResource,
  query: Readonly<Record<string, string>> = {},
): AsyncGenerator<ListPage> {
  const path = urlPathOf(served, served.versions[0]!);
  return new ListPages((asked) => client.json(asked)).of({ path, query, accept: metadataList });
}

async function appliedOf(
  client: ClusterApiClient,
  served: ServedResource,
  paths: readonly string[],
  without: Without,
): Promise<AppliedObject[]> {
  const { group, resource } = served;
  const found: AppliedObject[] = [];
  for await (const page of markedPages(client, served, without)) {
    for (const item of page.items ?? []) {
      const signature = signatureOf(item);
      if (!signature || !paths.includes(signature.agent)) continue;
      const { namespace = '', name = '', uid = '' } = item.metadata;
      found.push({ key: { group, resource, namespace, name }, uid, ...signature });
    }
  }
  return found;
}

async function* markedPages(
  client: ClusterApiClient,
  served: ServedResource,
  { refused, unknown }: Without,
): AsyncGenerator<ListPage> {
  try {
    yield* metadataPages(client, served, { labelSelector: markSelector });
  } catch (error) {
    if (!(error instanceof BanyanError)) throw error;
    const isNothingOfOurs = ['Forbidden', 'NotFound', 'MethodNotAllowed'].includes(error.code);
    if (isNothingOfOurs) refused.push(formatGroupResource(served));
    else unknown.push(`${formatGroupResource(served)}: ${describeError(error)}`);
  }
}
