/** The configuration files of nodes on machines, with a comment for each part. */
import { parentOf } from '../../core/identity/node-path.ts';
import type { ConfiguredSpace } from '../../core/match/delivery-config.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { hostPort } from '../../core/runtime/host-port.ts';
import type { MachineFiles } from './machine-files.ts';

export interface ListenPorts {
  readonly host: string;
  readonly api: number;
  readonly mesh: number;
  readonly terminatedTls?: boolean;
}

interface Serving {
  /** DNS names and IP addresses at which users reach the API. */
  readonly names: readonly string[];
  readonly spaces: readonly ConfiguredSpace[];
  readonly labels?: Readonly<Record<string, string>>;
  /** Fields that a topology adds to the part `encryption`. */
  readonly encryption?: object;
  /** Further fields, as docs/reference/node.md and agent.md have them. */
  readonly more?: Readonly<Record<string, unknown>>;
}

export interface MachineNode extends Serving {
  readonly role: 'relay' | 'agent';
  readonly path: string;
  /** host:port where the parent listens for its children. */
  readonly parent: string;
  /** Addresses of further processes with the path of the parent. */
  readonly replicas?: readonly string[];
  /** Only of a relay. */
  readonly certificateSeconds?: number | undefined;
  readonly access?: object | undefined;
  /** Only of an agent: the part `cluster`. */
  readonly cluster: object;
}

/** JSON is YAML too, so every text stays one value. */
const yaml = (value: unknown) => JSON.stringify(value);

export function centerConfig(
  center: Serving & { readonly tree: string },
  files: MachineFiles,
  listen: ListenPorts,
): string {
  const { tree, names, spaces, labels } = center;
  return `# The center of the tree ${tree}. docs/reference/node.md describes every field. The program refuses a field that it does not know.
path: ""
${dataOf(files, center)}
pki:
  # The center makes the authority of this tree, in pki/ of its data directory. The name stands in every certificate and can't be changed later.
  tree: ${yaml(tree)}
  # DNS names and IP addresses at which users reach the API. After a change, restart the center: it makes another certificate.
  names: ${yaml(names)}
${listenOf(listen, names)}
${labels ? `# Labels of the center.\nlabels: ${yaml(labels)}\n` : ''}# Spaces: Kubernetes API endpoints with objects of their own.
spaces: ${yaml(spaces)}
${moreOf(center)}`;
}

export function nodeConfig(node: MachineNode, files: MachineFiles, listen: ListenPorts): string {
  const { role, path, parent, replicas } = node;
  const isRelay = role === 'relay';
  return `# The ${role} ${path}. docs/reference/${isRelay ? 'node' : 'agent'}.md describes every field. The program refuses a field that it does not know.
path: ${yaml(path)}
${dataOf(files, node)}
# Where the parent listens for its children: host:port, or [address]:port for IPv6.
parent:
  path: ${yaml(parentOf(path))}
  address: ${yaml(parent)}${replicas ? `\n  replicas: ${yaml(replicas)}` : ''}
pki:
  # The token is needed until the ${role} has joined. Key and certificate are then in identity/ of the data directory.
  joinToken: ${yaml(files.token)}
${isRelay ? relayOf(node, listen) : agentOf(node)}${moreOf(node)}`;
}

function relayOf({ path, names, spaces, labels = {}, access, certificateSeconds }: MachineNode, listen: ListenPorts) {
  const admit = cliCommand('join-token', '--relay', path, '--again', '--host', 'NAME');
  const lasting = certificateSeconds === undefined ? '' : `  certificateSeconds: ${certificateSeconds}\n`;
  return `  # DNS names and IP addresses at which users reach the API. The parent has to admit them. To change them, admit all of them there: ${admit}
  names: ${yaml(names)}
${lasting}${listenOf(listen, names)}
# The rights of users of nodes above, here and below: cluster-admin, grants (what roles and AccessGrants of this node say), or none.
access: ${yaml(access ?? { fromAbove: 'cluster-admin' })}
# Labels that the Locations below inherit.
labels: ${yaml(labels)}
# Spaces: Kubernetes API endpoints with objects of their own.
spaces: ${yaml(spaces)}
`;
}

function agentOf({ cluster, access }: MachineNode): string {
  const comment =
    'embedded' in cluster
      ? '# A simulated cluster in the process of the agent, for trials. For a real one: cluster: { kubernetes: { kubeconfig: FILE } }'
      : '# The agent has the rights of this kubeconfig in the cluster.';
  return `${access ? `access: ${yaml(access)}\n` : ''}${comment}
cluster: ${yaml(cluster)}
`;
}

function dataOf({ data, keys }: MachineFiles, { encryption = {} }: Pick<Serving, 'encryption'>): string {
  const parts = { ...encryption, ...('keyCommand' in encryption ? {} : { keyFile: keys }) };
  return `# The store. Its content can't be made again.
data: ${yaml(data)}
# The keys that seal the Secrets in the store. Without them, the store can't be opened.
encryption: ${yaml(parts)}`;
}

function listenOf({ host, api, mesh, terminatedTls }: ListenPorts, [name]: readonly string[]): string {
  const advertised = name === undefined ? {} : { api: hostPort(name, api), mesh: hostPort(name, mesh) };
  return `# The API for users.
api:
  host: ${yaml(host)}
  port: ${api}
# The port for children.
mesh:
  host: ${yaml(host)}
  port: ${mesh}${terminatedTls ? '\n  terminatedTls: true' : ''}
# The addresses that kubeconfigs (api) and join tokens (mesh) name: host:port, such as those of a load balancer.
advertise: ${yaml(advertised)}`;
}

function moreOf({ more = {} }: Serving): string {
  return Object.entries(more)
    .filter(([, value]) => value !== undefined)
    .map(([field, value]) => `${field}: ${yaml(value)}\n`)
    .join('');
}
