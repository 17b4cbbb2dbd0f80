/** The values with which the chart installs a node. Secrets are named, and are in no file: the token, and the keys of the store. */
import type { PlannedNode } from '../topology/plan.ts';
import { type InstalledNode, streamUsers } from './deployments.ts';

/** Names of Secrets in the namespace of the release. */
export const chartSecrets = { token: 'banyan-join', keys: 'banyan-keys' } as const;

/** `readFile`: the text of a file that the topology names. */
export function chartValues(deployment: InstalledNode, readFile: (file: string) => string): object {
  const { node, parentAddress = '', tree, names } = deployment;
  const joining = {
    path: node.path,
    parent: { address: parentAddress },
    identity: { joinTokenSecretName: chartSecrets.token },
    ...linkOf(node, readFile),
  };
  if (node.role === 'agent') return { role: 'agent', agent: { ...joining, ...agentOf(node) } };
  return {
    role: node.role,
    names,
    ...(node.role === 'center' ? { center: { tree } } : { relay: joining }),
    node: nodeOf(deployment),
  };
}

function nodeOf({ node, ports }: InstalledNode): object {
  const { role, labels, spaces, listen, access, limits, egress, audit, encryption } = node;
  const config = {
    ...(limits ? { limits } : {}),
    ...(egress ? { egress } : {}),
    ...(audit ? { audit: { ...audit, stdout: true } } : {}),
  };
  return {
    labels,
    spaces,
    ...(role === 'relay' && access ? { access } : {}),
    encryption: { secretName: isSealed(encryption) ? chartSecrets.keys : '' },
    mesh: { terminatedTls: listen?.terminatedTls ?? false },
    service: { apiPort: ports.api, meshPort: ports.mesh },
    config,
  };
}

function agentOf(node: PlannedNode): object {
  const { access, accept, limits, encryption, kubeconfig } = node;
  const isSealing = isSealed(encryption);
  const streams = streamUsers(node);
  return {
    ...(access ? { access: { fromAbove: access.fromAbove, metrics: access.metrics ?? [] } } : {}),
    ...(streams ? { streams } : {}),
    ...(accept ? { accept } : {}),
    ...(limits ? { deletions: limits.deletions } : {}),
    encryption: {
      secretName: isSealing ? chartSecrets.keys : '',
      ...(isSealing && encryption ? { resources: encryption.resources } : {}),
    },
    ...(kubeconfig?.uid === undefined ? {} : { cluster: { uid: kubeconfig.uid } }),
  };
}

/** As with `banyan up`, the Secrets of a store are sealed unless the topology says otherwise. */
export function isSealed(encryption: PlannedNode['encryption']): boolean {
  return encryption === undefined || encryption.resources.length > 0;
}

function linkOf({ link }: PlannedNode, readFile: (file: string) => string): object {
  if (!link) return {};
  const { transport, ca, proxy } = link;
  return {
    link: { transport, ...(ca === undefined ? {} : { ca: readFile(ca) }) },
    // A pod has no proxy in its environment, so `none` needs no value.
    ...(proxy === undefined || proxy === 'none' ? {} : { proxy: { url: proxy } }),
  };
}
