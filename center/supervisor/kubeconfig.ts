/** The kubeconfig of a running tree: a context for every node, space, cluster and mailbox, as docs/reference/cli.md lists them. */
import { stringify } from 'yaml';
import { ancestors, type PlannedNode, sourceName } from '../topology/plan.ts';

export interface KubeconfigUser {
  readonly caPem: string;
  readonly certPem: string;
  readonly keyPem: string;
}

export function contextsOf(
  nodes: readonly PlannedNode[],
  urlOf: (path: string) => string,
): { name: string; url: string }[] {
  const byPath = new Map(nodes.map((node) => [node.path, node]));
  const contexts: { name: string; url: string }[] = [];
  for (const node of nodes) {
    const url = urlOf(node.path);
    const shown = node.path === '' ? 'center' : node.path;
    if (node.role === 'agent') {
      const name = node.path.slice(node.path.lastIndexOf(':') + 1);
      contexts.push({ name: `cluster/${node.path}`, url });
      contexts.push({ name: `mailbox/${node.path}`, url: `${urlOf(node.parent ?? '')}/mailboxes/${name}` });
      for (const above of ancestors(node.path)) {
        const holder = above === '' ? 'center' : above;
        contexts.push({ name: `reported/${holder}/${node.path}`, url: `${urlOf(above)}/reported/${node.path}` });
      }
      continue;
    }
    contexts.push({ name: `node/${shown}`, url });
    for (const space of node.spaces)
      contexts.push({ name: `space/${shown}/${space.name}`, url: `${url}/spaces/${space.name}` });
    for (const above of ancestors(node.path)) {
      for (const space of byPath.get(above)?.spaces ?? []) {
        const source = sourceName(above, space.name);
        contexts.push({ name: `space/${shown}/${source}`, url: `${url}/spaces/${source}` });
      }
    }
    if (node.role === 'relay') {
      const name = node.path.slice(node.path.lastIndexOf(':') + 1);
      contexts.push({ name: `mailbox/${node.path}`, url: `${urlOf(node.parent ?? '')}/mailboxes/${name}` });
    }
  }
  return contexts;
}

export function kubeconfig(
  contexts: readonly { name: string; url: string }[],
  user: KubeconfigUser,
  current?: string,
): string {
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
