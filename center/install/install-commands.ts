/** The commands with which a person installs a node elsewhere, or brings the node to another place in the tree. A rendered README has them, and `topology apply` prints them. */
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { hostPort } from '../../core/runtime/host-port.ts';
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
/** The place of the person, with a kubeconfig of the tree. */
export const ownMachine = 'on your machine';

/** The file with the token of a node, where the commands of the person run. */
export function tokenFile({ name }: InstalledNode): string {
  return `${name}.token`;
}

/** Admits the node, and writes its token into its file. `more`: further options of the command. */
export function newToken(deployment: InstalledNode, ...more: readonly string[]): CommandBlock {
  const { node, hosts } = deployment;
  const { path, role } = node;
  const relay = role === 'relay' ? ['--relay', ...hosts.flatMap((host) => ['--host', host])] : [];
  const command = cliCommand('join-token', path, ...relay, ...more);
  return { at: ownMachine, commands: [`${command} > ${tokenFile(deployment)}`] };
}

/** Installs a node whose token is in its file. */
export function installation(deployment: InstalledNode, folder: string): CommandBlock {
  return deployment.as === 'chart' ? byChart(deployment, folder) : onMachine(deployment, folder);
}

function byChart(deployment: InstalledNode, folder: string): CommandBlock {
  const { node, name } = deployment;
  return {
    at: clusterOf(name),
    commands: [
      `kubectl create namespace ${namespace}`,
      ...(isSealed(node.encryption) ? [secret(chartSecrets.keys, `--from-literal=keys="$(${newKey})"`)] : []),
      ...(node.role === 'center' ? [] : [tokenSecret(deployment)]),
      upgrade(deployment, folder),
    ],
  };
}

/** `node`: its name or its path. */
function clusterOf(node: string): string {
  return `with the kubeconfig of the cluster of ${node}`;
}

function secret(name: string, from: string): string {
  return `kubectl -n ${namespace} create secret generic ${name} ${from}`;
}

function tokenSecret(deployment: InstalledNode): string {
  return secret(chartSecrets.token, `--from-file=token=${tokenFile(deployment)}`);
}

function upgrade({ name }: InstalledNode, folder: string): string {
  return `helm upgrade --install banyan deploy/chart -n ${namespace} --wait -f ${folder}/${name}/values.yaml --set image.repository=registry.example.com/banyan`;
}

function onMachine(deployment: InstalledNode, folder: string): CommandBlock {
  const { node } = deployment;
  const { role, encryption, kubeconfig } = node;
  const unit = `banyan-${role}.service`;
  return {
    at: machineOf(deployment),
    commands: [
      `sudo -u banyan mkdir -m 0700 ${machineFolder}/data`,
      // The folder is readable for the user banyan alone.
      ...(encryption?.keyCommand ? [] : [`${newKey} | sudo -u banyan tee ${machineFolder}/keys > /dev/null`]),
      ...(role === 'center' ? [] : [ownToken(deployment)]),
      ...(kubeconfig ? [`${ownFile('KUBECONFIG', clusterKubeconfig)}   # of its cluster`] : []),
      `sudo -u banyan cp -r ${folder}/${deployment.name}/. ${machineFolder}`,
      `sudo cp ${machineFolder}/${unit} /etc/systemd/system/`,
      `sudo systemctl enable --now banyan-${role}`,
    ],
  };
}

function ownToken(deployment: InstalledNode): string {
  return ownFile(tokenFile(deployment), 'join-token');
}

function ownFile(from: string, to: string): string {
  return `sudo -u banyan cp ${from} ${machineFolder}/${to}`;
}

function machineOf({ names, name }: InstalledNode): string {
  return `on ${names[0] ?? `the machine of ${name}`}`;
}

/** Writes the kubeconfig of the first administrator, at the place of the center. */
export function firstAdministrator(center: InstalledNode): CommandBlock {
  const { as, name, names, ports } = center;
  const server = `https://${hostPort(names[0] ?? 'NAME', ports.api)}`;
  const asked = (data: string) =>
    `user add admin --group system:masters --data ${data} --server ${server} > admin.kubeconfig`;
  return as === 'chart'
    ? {
        at: clusterOf(name),
        commands: [`kubectl -n ${namespace} exec banyan-0 -- /usr/bin/node /app/dist/banyan.js ${asked('/data')}`],
      }
    : { at: machineOf(center), commands: [`sudo -u banyan banyan ${asked(`${machineFolder}/data`)}`] };
}

/** Takes changed settings of a node that is installed. */
export function renewal(deployment: InstalledNode, folder: string): CommandBlock {
  const { node, name } = deployment;
  if (deployment.as === 'chart') {
    return { at: clusterOf(name), commands: [upgrade(deployment, folder)] };
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
  const { commands } = renewal(deployment, folder);
  if (deployment.as === 'chart') {
    const former = `kubectl -n ${namespace} delete secret ${chartSecrets.token} --ignore-not-found`;
    return { at: clusterOf(from), commands: [former, tokenSecret(deployment), ...commands] };
  }
  return { at: `on the machine of ${from}`, commands: [ownToken(deployment), ...commands] };
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
