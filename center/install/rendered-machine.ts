/** The files that a node needs on a machine without Kubernetes, as far as they have no secret: configuration, unit, and the files that its topology names. */
import { join } from 'node:path';
import type { PlannedNode } from '../topology/plan.ts';
import { type InstalledNode, streamUsers } from './deployments.ts';
import { centerConfig, nodeConfig } from './machine-config.ts';
import { type MachineFiles, machineFiles, type ServiceProgram } from './machine-files.ts';
import { systemdUnit } from './systemd-unit.ts';

/** The folder of the node on its machine, as docs/operations/virtual-machines.md makes it. */
export const machineFolder = '/var/lib/banyan';

/** The package of `npm run dist`, in /opt. */
function packaged(role: PlannedNode['role']): ServiceProgram {
  const lib = '/opt/banyan/lib';
  return { node: `${lib}/node`, program: `${lib}/dist/${role}.js`, user: 'banyan' };
}

/** Returns the texts, keyed by the name of the file. `readFile`: the text of a file that the topology names. */
export function machineTexts(deployment: InstalledNode, readFile: (file: string) => string): Record<string, string> {
  const { node } = deployment;
  const { role } = node;
  const files = machineFiles(machineFolder, role);
  const named: Record<string, string> = {};
  const bring = (name: string, file: string) => {
    named[name] = readFile(file);
    return join(machineFolder, name);
  };
  const text = configText(deployment, files, bring);
  const unit = systemdUnit({ role, dir: machineFolder, files, program: packaged(role) });
  return { [`${role}.yaml`]: text, [`banyan-${role}.service`]: unit, ...named };
}

type Bring = (name: string, file: string) => string;

function configText(
  { node, tree, names, ports, parentAddress = '' }: InstalledNode,
  files: MachineFiles,
  bring: Bring,
) {
  const { role, path, labels, spaces, listen: wanted, encryption, access, issuer } = node;
  // The default of a topology is one machine. Elsewhere, the node has to be reached from other machines.
  const host = wanted === undefined || wanted.host === '127.0.0.1' ? '::' : wanted.host;
  const listen = { host, ...ports, terminatedTls: wanted?.terminatedTls ?? false };
  const own = {
    names,
    labels,
    spaces,
    more: furtherFields(node, files, bring),
    ...(encryption ? { encryption: sealingOf(encryption) } : {}),
  };
  if (role === 'center') return centerConfig({ ...own, tree }, files, listen);
  const certificateSeconds = issuer?.certificateSeconds;
  const joining = { role, path, parent: parentAddress, access, certificateSeconds, cluster: clusterOf(node) };
  return nodeConfig({ ...own, ...joining }, files, listen);
}

function furtherFields(node: PlannedNode, files: MachineFiles, bring: Bring): Record<string, unknown> {
  const { link, limits, egress, audit, authentication, frontProxy, accept, kubeconfig } = node;
  // Only an agent beside a real cluster passes requests on.
  const users = kubeconfig && streamUsers(node);
  const { endpoint: _endpoint, ca, ...way } = link ?? {};
  return {
    link: link && { ...way, ...(ca === undefined ? {} : { ca: bring('link-ca.crt', ca) }) },
    limits,
    egress,
    audit: audit && {
      ...audit,
      ...(audit.policyFile === undefined ? {} : { policyFile: bring('audit-policy.yaml', audit.policyFile) }),
      path: join(files.data, 'audit.log'),
    },
    authentication: authentication && { file: bring('authentication.yaml', authentication.file) },
    frontProxy: frontProxy && { ...frontProxy, clientCA: bring('front-proxy-ca.crt', frontProxy.clientCA) },
    accept,
    streams: users && { cluster: users },
  };
}

function sealingOf({ resources, keyCommand }: NonNullable<PlannedNode['encryption']>): object {
  return { resources, ...(keyCommand ? { keyCommand } : {}) };
}

/** A kubeconfig is a secret: a person brings it to the machine. */
function clusterOf({ kubeconfig }: PlannedNode): object {
  if (!kubeconfig) return { embedded: {} };
  const { path: _path, ...which } = kubeconfig;
  return { kubernetes: { kubeconfig: join(machineFolder, clusterKubeconfig), ...which } };
}

export const clusterKubeconfig = 'cluster.kubeconfig';
