/** The configuration files that `banyan init` writes, with a comment for each part. */
import { parentOf } from '../../core/identity/node-path.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import type { InitFiles, InitOptions } from './init-options.ts';

export interface ListenPorts {
  readonly host: string;
  readonly api: number;
  readonly mesh: number;
}

/** JSON is YAML too, so every text stays one value. */
const yaml = (value: unknown) => JSON.stringify(value);

export function centerConfig(
  { tree, names, spaces }: { readonly tree: string } & Pick<InitOptions, 'names' | 'spaces'>,
  files: InitFiles,
  listen: ListenPorts,
): string {
  return `# The center of the tree ${tree}. docs/reference/node.md describes every field. The program refuses a field that it does not know.
path: ""
${dataOf(files)}
pki:
  # The center makes the authority of this tree, in pki/ of its data directory. The name stands in every certificate and can't be changed later.
  tree: ${yaml(tree)}
  # DNS names and IP addresses at which users reach the API. After a change, restart the center: it makes another certificate.
  names: ${yaml(names)}
${listenOf(listen)}
# Spaces: Kubernetes API endpoints with objects of their own.
spaces: ${yaml(spacesOf(spaces))}
`;
}

export function nodeConfig(
  own: Pick<InitOptions, 'role' | 'names' | 'spaces' | 'cluster'> & { readonly path: string; readonly parent: string },
  files: InitFiles,
  listen: ListenPorts,
): string {
  const { role, path, parent, cluster } = own;
  const isRelay = role === 'relay';
  return `# The ${role} ${path}. docs/reference/${isRelay ? 'node' : 'agent'}.md describes every field. The program refuses a field that it does not know.
path: ${yaml(path)}
${dataOf(files)}
# Where the parent listens for its children: host:port, or [address]:port for IPv6.
parent:
  path: ${yaml(parentOf(path))}
  address: ${yaml(parent)}
pki:
  # The token is needed until the ${role} has joined. Key and certificate are then in identity/ of the data directory.
  joinToken: ${yaml(files.token)}
${isRelay ? relayOf(own, listen) : agentOf(cluster)}`;
}

function relayOf(
  { path, names, spaces }: { readonly path: string } & Pick<InitOptions, 'names' | 'spaces'>,
  listen: ListenPorts,
): string {
  const admit = cliCommand('join-token', '--relay', path, '--again', '--host', 'NAME');
  return `  # DNS names and IP addresses at which users reach the API. The parent has to admit them. To change them, admit all of them there: ${admit}
  names: ${yaml(names)}
${listenOf(listen)}
# What users of nodes above may do here and below: cluster-admin, grants (what roles and AccessGrants of this node say), or none.
access:
  fromAbove: cluster-admin
# Labels that the Locations below inherit.
labels: {}
# Spaces: Kubernetes API endpoints with objects of their own.
spaces: ${yaml(spacesOf(spaces))}
`;
}

function agentOf(cluster: string | undefined): string {
  if (cluster === undefined) {
    return `# A simulated cluster in the process of the agent, for trials. For a real one: cluster: { kubernetes: { kubeconfig: FILE } }
cluster:
  embedded: {}
`;
  }
  return `cluster:
  kubernetes:
    # What the agent may do in the cluster is what this kubeconfig may do.
    kubeconfig: ${yaml(cluster)}
`;
}

export function spacesOf(names: readonly string[]): { readonly name: string; readonly type: 'Workload' }[] {
  return names.map((name) => ({ name, type: 'Workload' }));
}

function dataOf({ data, keys }: InitFiles): string {
  return `# The store. Its content can't be made again.
data: ${yaml(data)}
# The keys that seal the Secrets in the store. Without them, the store can't be opened.
encryption:
  keyFile: ${yaml(keys)}`;
}

function listenOf({ host, api, mesh }: ListenPorts): string {
  return `# The API for users.
api:
  host: ${yaml(host)}
  port: ${api}
# The port for children.
mesh:
  host: ${yaml(host)}
  port: ${mesh}`;
}
