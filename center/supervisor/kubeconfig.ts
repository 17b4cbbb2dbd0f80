/** The kubeconfig of a running tree. It has a context for every node, space, fleet, cluster and mailbox, as docs/reference/cli.md lists them. */
import { stringify } from 'yaml';
import { ancestorsOf, nameOf, shownPath } from '../../core/identity/node-path.ts';
import { withReplica } from '../../core/identity/replica.ts';
import { type PlannedNode, sourceName } from '../topology/plan.ts';
import type { TopologySpace } from '../topology/topology.ts';

/** The user of the kubeconfig. */
export const administrator = { name: 'admin', groups: ['system:masters'] } as const;

export interface KubeconfigUser {
  readonly caPem: string;
  readonly certPem: string;
  readonly keyPem: string;
}

export interface Context {
  readonly name: string;
  readonly url: string;
}

/** The facts about a node from which its contexts are made. */
export type ContextNode = Pick<PlannedNode, 'path' | 'id' | 'role' | 'parent' | 'kubeconfig'> & {
  readonly spaces: readonly Pick<TopologySpace, 'name' | 'type'>[];
};

/**
 * `urlOf` returns the URL of the node with this id. Each replica has its own contexts. From the second replica on, the name contains the number of the
 * replica.
 */
export function contextsOf(nodes: readonly ContextNode[], urlOf: (id: string) => string): Context[] {
  const replicas = new Map<string, ContextNode[]>();
  for (const node of nodes) replicas.set(node.path, [...(replicas.get(node.path) ?? []), node]);
  const idsAt = (path: string) => (replicas.get(path) ?? []).map(({ id }) => id);
  return nodes.flatMap((node): Context[] => {
    const url = urlOf(node.id);
    const shown = shownPath(node.id);
    const holders = idsAt(node.parent ?? '');
    if (node.role === 'agent') {
      const mailboxes = holders.map((holder, replica) =>
        mailboxOf(node, withReplica(node.path, replica), urlOf(holder)),
      );
      const reported = ancestorsOf(node.path)
        .flatMap(idsAt)
        .map((above) => {
          return { name: `reported/${shownPath(above)}/${node.path}`, url: `${urlOf(above)}/reported/${node.path}` };
        });
      // A real cluster has its own kubeconfig.
      const clusterContext = node.kubeconfig ? [] : [{ name: `cluster/${node.path}`, url }];
      return [...clusterContext, ...mailboxes, ...reported];
    }
    const sources = [
      ...node.spaces.map(({ name, type }) => ({ name, type })),
      ...ancestorsOf(node.path).flatMap((above) =>
        (replicas.get(above)?.[0]?.spaces ?? []).map(({ name, type }) => ({ name: sourceName(above, name), type })),
      ),
    ];
    // Only the objects of workload spaces go to clusters.
    const placing = sources.filter(({ type }) => type === 'Workload');
    return [
      { name: `node/${shown}`, url },
      ...sources.map((space) => ({ name: `space/${shown}/${space.name}`, url: `${url}/spaces/${space.name}` })),
      ...placing.map((space) => ({ name: `fleet/${shown}/${space.name}`, url: `${url}/fleet/${space.name}` })),
      ...(node.role === 'relay' && holders[0] !== undefined ? [mailboxOf(node, node.id, urlOf(holders[0]))] : []),
    ];
  });
}

function mailboxOf({ id }: ContextNode, shown: string, holder: string): Context {
  return { name: `mailbox/${shown}`, url: `${holder}/mailboxes/${nameOf(id)}` };
}

export function kubeconfig(contexts: readonly Context[], user: KubeconfigUser, current?: string): string {
  const base64 = (pem: string) => Buffer.from(pem).toString('base64');
  return stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: contexts.map(({ name, url }) => ({
        name,
        cluster: { server: url, 'certificate-authority-data': base64(user.caPem) },
      })),
      users: [
        {
          name: 'admin',
          user: { 'client-certificate-data': base64(user.certPem), 'client-key-data': base64(user.keyPem) },
        },
      ],
      contexts: contexts.map(({ name }) => ({ name, context: { cluster: name, user: 'admin' } })),
      'current-context': current ?? contexts[0]?.name ?? '',
    },
    { aliasDuplicateObjects: false },
  );
}
