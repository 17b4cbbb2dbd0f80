/** The addresses that a node tells its users and children (`advertise` in its configuration). Its Node object shows them. */
import { splitReplica } from '../../core/identity/replica.ts';
import type { NodeApiClient } from './api-client.ts';
import { nodeIn } from './node-contexts.ts';
import { nodeObject } from './object-paths.ts';
import { entryUrl } from './through-tree.ts';
import type { TreeKubeconfig } from './tree-routes.ts';

export interface Advertised {
  /** host:port of the API. */
  readonly api?: string;
  /** host:port for children. */
  readonly mesh?: string;
}

/** Where a kubeconfig leads instead. */
export interface Redirect {
  /** The URL of the node in the present kubeconfig. Absent: every URL. */
  readonly from?: string;
  readonly to: string;
}

/** Returns what the node of the context advertises. Empty: it advertises nothing. Throws the errors of the client. */
export async function advertisedBy(api: Pick<NodeApiClient, 'get'>, context: string): Promise<Advertised> {
  const node = await api.get(context, nodeObject(splitReplica(nodeIn(context)).name));
  return (node?.status as { readonly advertised?: Advertised } | undefined)?.advertised ?? {};
}

/** Leads the URLs of the node of the context to the address that the node advertises. Undefined: it advertises none. */
export function redirectTo(
  { api }: Advertised,
  { config, current }: TreeKubeconfig,
  context: string,
): Redirect | undefined {
  const named = (name: string) => config.contexts.find((one) => one.name === name)?.context.cluster;
  const own = named(context) ?? named(current);
  const cluster = config.clusters.find(({ name }) => name === own)?.cluster;
  return api && cluster ? { from: entryUrl(new URL(cluster.server)).base, to: `https://${api}` } : undefined;
}

/** Returns the URL with the part of the node that it names, such as `/spaces/retail`. */
export function redirected(server: string, redirect: Redirect | undefined): string {
  const url = new URL(server);
  const { base } = entryUrl(url);
  if (redirect === undefined || (redirect.from ?? base) !== base) return server;
  return `${redirect.to}${url.href.slice(base.length).replace(/\/$/, '')}`;
}
