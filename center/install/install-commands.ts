/** The commands with which a person installs a node elsewhere, or brings it to another place in the tree. They stand in a rendered README and in what `topology apply` prints. */
import { cliCommand } from '../../core/runtime/cli-command.ts';
import type { PlannedNode } from '../topology/plan.ts';
import { chartSecrets, isSealed } from './chart-values.ts';
import type { InstalledNode } from './deployments.ts';
import { clusterKubeconfig, machineFolder } from './rendered-machine.ts';

/** Commands for one place. `at`: where they are typed. */
export interface CommandBlock {
  readonly at: string;
  readonly commands: readonly string[];
}

const namespace = 'banyan';
const newKey = 'head -c 32 /dev/urandom | base64';

/** The file with the token of a node, where the commands of the person run. */
export function tokenFile({ name }: InstalledNode): string {
  return `${name}.token`;
}

/** The command that admits the node and prints its token. */
export function tokenCommand({ node, names }: InstalledNode, ...more: readonly string[]): string {
  const { path, role } = node;
  const hosts = role === 'relay' ? ['--relay', ...names.flatMap((name) => ['--host', name])] : [];
  return cliCommand('join-token', path, ...hosts, ...more);
}

/** Installs a node whose token is in its file. */
export function installation(deployment: InstalledNode, folder: string): CommandBlock {
  return deployment.as === 'chart' ? byChart(deployment, folder) : onMachine(deployment, folder);
}

function byChart(deployment: InstalledNode, folder: string): CommandBlock {
  const { node, name } = deployment;
  const secret = (of: string, from: string) => `kubectl -n ${namespace} create secret generic ${of} ${from}`;
  return {
    at: `with the kubeconfig of the cluster of ${name}`,
    commands: [
      `kubectl create namespace ${namespace}`,
      ...(isSealed(node.encryption) ? [secret(chartSecrets.keys, `--from-literal=keys="$(${newKey})"`)] : []),
      ...(node.role === 'center' ? [] : [secret(chartSecrets.token, `--from-file=token=${tokenFile(deployment)}`)]),
      upgrade(deployment, folder),
    ],
  };
}

function upgrade({ name }: InstalledNode, folder: string): string {
  return `helm upgrade --install banyan deploy/chart -n ${namespace} --wait -f ${folder}/${name}/values.yaml --set image.repository=registry.example.com/banyan`;
}

function onMachine(deployment: InstalledNode, folder: string): CommandBlock {
  const { node } = deployment;
  const { role, encryption, kubeconfig } = node;
  const own = (from: string, to: string) => `sudo -u banyan cp ${from} ${machineFolder}/${to}`;
  const unit = `banyan-${role}.service`;
  return {
    at: machineOf(deployment),
    commands: [
      `sudo -u banyan mkdir -m 0700 ${machineFolder}/data`,
      // The folder is readable for the user banyan alone.
      ...(encryption?.keyCommand ? [] : [`${newKey} | sudo -u banyan tee ${machineFolder}/keys > /dev/null`]),
      ...(role === 'center' ? [] : [own(tokenFile(deployment), 'join-token')]),
      ...(kubeconfig ? [`${own('KUBECONFIG', clusterKubeconfig)}   # of its cluster`] : []),
      `sudo -u banyan cp -r ${folder}/${deployment.name}/. ${machineFolder}`,
      `sudo cp ${machineFolder}/${unit} /etc/systemd/system/`,
      `sudo systemctl enable --now banyan-${role}`,
    ],
  };
}

function machineOf({ names, name }: InstalledNode): string {
  return `on ${names[0] ?? `the machine of ${name}`}`;
}

/** Takes changed settings of a node that is installed. */
export function renewal(deployment: InstalledNode, folder: string): CommandBlock {
  const { node, name } = deployment;
  if (deployment.as === 'chart') {
    return { at: `with the kubeconfig of the cluster of ${name}`, commands: [upgrade(deployment, folder)] };
  }
  return {
    at: machineOf(deployment),
    commands: [
      `sudo -u banyan cp -r ${folder}/${name}/. ${machineFolder}`,
      `sudo systemctl restart banyan-${node.role}`,
    ],
  };
}

/** Brings an agent to its new place: it keeps its store, so its cluster keeps every object, and joins as the new node. */
export function moving(deployment: InstalledNode, from: string, folder: string): CommandBlock {
  const { name } = deployment;
  if (deployment.as === 'chart') {
    const secret = `kubectl -n ${namespace} create secret generic ${chartSecrets.token} --from-file=token=${tokenFile(deployment)}`;
    return {
      at: `with the kubeconfig of the cluster of ${from}`,
      commands: [
        `kubectl -n ${namespace} delete secret banyan-joined ${chartSecrets.token} --ignore-not-found`,
        secret,
        upgrade(deployment, folder),
      ],
    };
  }
  return {
    at: `on the machine of ${from}`,
    commands: [
      'sudo systemctl stop banyan-agent',
      `sudo -u banyan rm -r ${machineFolder}/data/identity`,
      `sudo -u banyan cp ${tokenFile(deployment)} ${machineFolder}/join-token`,
      `sudo -u banyan cp -r ${folder}/${name}/. ${machineFolder}`,
      'sudo systemctl start banyan-agent',
    ],
  };
}

/** Ends a node that was removed. */
export function ending(name: string, role: PlannedNode['role']): CommandBlock {
  return {
    at: `where ${name} runs`,
    commands: [
      `helm uninstall banyan -n ${namespace}   # on Kubernetes`,
      `sudo systemctl disable --now banyan-${role}   # on a machine`,
    ],
  };
}
