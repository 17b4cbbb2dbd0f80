/** The configuration of one node of a local tree, as its process reads it. */
import { hostPort } from '../../core/runtime/host-port.ts';
import type { LogRotation } from '../../core/runtime/log-rotation.ts';
import type { PlannedNode } from '../topology/plan.ts';
import type { DataDirectory } from './data-directory.ts';
import type { NodePortNumbers } from './ports.ts';
import { encryptionOf } from './sealing-keys.ts';
import type { TreePki } from './tree-pki.ts';

/** A tree with everything that the configurations of its nodes name. */
export interface TreeParts {
  /** Parents come before their children. */
  readonly nodes: readonly PlannedNode[];
  readonly ports: ReadonlyMap<string, NodePortNumbers>;
  readonly pki: TreePki;
  readonly logs?: LogRotation | undefined;
}

/** Returns the configuration of each node, keyed by its id. */
export function nodeConfigs(tree: TreeParts, data: DataDirectory): ReadonlyMap<string, object> {
  return new Map(tree.nodes.map((node) => [node.id, configOf(node, tree, data)]));
}

function configOf(node: PlannedNode, { pki, ports, logs }: TreeParts, data: DataDirectory): object {
  const nodePorts = ports.get(node.id)!;
  const [home, ...others] = node.parents.map((id) => {
    const { host, mesh } = ports.get(id)!;
    return hostPort(host, mesh);
  });
  const files = pki.nodeFiles(node.id);
  const { endpoint, ...link } = node.link ?? {};
  // A load balancer before the parents chooses one of them by itself.
  const parent = endpoint === undefined ? { address: home, replicas: others } : { address: endpoint };
  const common = {
    path: node.path,
    data: data.store(node.id),
    logFile: data.log(node.id),
    ...(logs ? { logRotation: logs } : {}),
    statusFile: data.status(node.id),
    ...(home === undefined ? {} : { parent: { ...parent, path: node.parent } }),
    ...(node.link ? { link } : {}),
    pki: { ca: pki.caFile, cert: files.cert, key: files.key, users: { ca: pki.usersFile } },
    api: { host: nodePorts.host, port: nodePorts.api },
    ...(node.limits ? { limits: node.limits } : {}),
    ...(node.audit ? { audit: { ...node.audit, path: data.auditLog(node.id) } } : {}),
    encryption: encryptionOf(node, data),
    // A user who runs all nodes of a tree on one machine has the files of all nodes, and so all rights at them.
    ...(node.role === 'center' ? {} : { access: node.access ?? { fromAbove: 'cluster-admin' } }),
  };
  if (node.role === 'agent') {
    return { ...common, ...(node.accept ? { accept: node.accept } : {}), ...clusterOf(node) };
  }
  const tokenKeys = pki.tokenKeys(node.path);
  return {
    ...common,
    pki: {
      ...common.pki,
      // Only the center signs users: whoever has the key can be anybody at every node.
      ...(node.role === 'center' ? { users: { ...common.pki.users, signer: pki.userSigner } } : {}),
      ...(tokenKeys === undefined ? {} : { tokenKeys }),
      issuer: { ...pki.issuerFiles(node.id), ...node.issuer },
      subtreeIssuer: pki.subtreeIssuerFiles(node.id),
    },
    mesh: { host: nodePorts.host, port: nodePorts.mesh, terminatedTls: node.listen?.terminatedTls ?? false },
    ...(node.replicas > 1 ? { replica: node.replica, replicas: node.replicas } : {}),
    labels: node.labels,
    spaces: node.spaces,
    relays: node.relays,
    children: { named: node.children },
    ...(node.egress ? { egress: node.egress } : {}),
    ...(node.authentication ? { authentication: node.authentication } : {}),
    ...(node.frontProxy ? { frontProxy: node.frontProxy } : {}),
    inventory: node.inventory.map(({ name, labels, annotations, properties }) => ({
      name,
      labels,
      annotations,
      properties,
    })),
  };
}

function clusterOf({ kubeconfig }: PlannedNode): object {
  if (!kubeconfig) return { cluster: { embedded: {} } };
  const { path, ...list } = kubeconfig;
  // With `access.fromAbove: grants`, the cluster's own roles decide about everybody.
  const streams = { cluster: { users: ['*'], groups: ['*'] } };
  return { cluster: { kubernetes: { kubeconfig: path, ...list } }, streams };
}
