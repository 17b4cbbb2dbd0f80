/** The remedy for an entry of `status.failures`: one line, with a command to type where one helps. */
import { cliCommand, shellWord } from '../../core/runtime/cli-command.ts';

export interface ShownFailure {
  readonly path: string;
  /** `deployments.apps shop/till`. Absent: the entry is about the place as a whole. */
  readonly object?: string;
  readonly reason: string;
  readonly message: string;
  readonly since?: string;
  readonly destinations?: number;
}

export function failureRemedy(failure: ShownFailure): string {
  const { path, reason } = failure;
  const known = remedies[reason];
  if (known) return typeof known === 'string' ? known : known(failure);
  const object = objectOf(failure);
  if (!object) return `look at ${cliCommand('tree', path)}`;
  const { resource, name, namespace } = object;
  const where = namespace === '' ? [] : ['-n', namespace];
  return `look at ${cliCommand('why', `${resource}/${name}`, ...where, '--at', path)}`;
}

const pullable = 'correct the name of the image, or the credentials and the way to its registry';
const fits = 'lower the requests of the pods, or add nodes at the place';
const allowed = 'raise the quota, or satisfy the webhook or policy that refuses the pods';
const present = 'place the ConfigMap, Secret or volume that the message names';
const logs = (failure: ShownFailure) => kubectlOf(failure, 'logs', ' --previous');
const describe = (failure: ShownFailure) => kubectlOf(failure, 'describe');
const tree = ({ path }: ShownFailure) => `look at ${cliCommand('tree', path)}`;

const remedies: Readonly<Record<string, string | ((failure: ShownFailure) => string)>> = {
  Away: 'check the power and the network of the place; its objects go on running meanwhile',
  NeverConnected: 'start the node at the place; its log says why it does not connect',
  NotReported: tree,
  ImagePullBackOff: pullable,
  CrashLoopBackOff: logs,
  Error: logs,
  Unschedulable: fits,
  PodUnschedulable: fits,
  FailedCreate: allowed,
  ReplicaFailure: allowed,
  FailedMount: present,
  CreateContainerConfigError: present,
  Unhealthy: describe,
  NotReady: describe,
  Forbidden: "give the agent this right (agent.rights.kinds of the agent's chart)",
  NotOwned: 'let its present owner remove it, or set spec.adopt of the placement',
  Conflicted: 'remove the object from one of the two placements, or change spec.priority',
};

function kubectlOf(failure: ShownFailure, verb: string, options = ''): string {
  const object = objectOf(failure);
  if (!object) return tree(failure);
  const { resource, name, namespace } = object;
  const where = namespace === '' ? '' : ` -n ${shellWord(namespace)}`;
  const context = shellWord(`cluster/${failure.path}`);
  return `look at kubectl --context ${context}${where} ${verb} ${shellWord(`${resource}/${name}`)}${options}`;
}

function objectOf({ object = '' }: ShownFailure): { resource: string; name: string; namespace: string } | undefined {
  const [groupResource = '', place = ''] = object.split(' ');
  const [resource = ''] = groupResource.split('.');
  if (resource === '' || place === '') return undefined;
  const slash = place.indexOf('/');
  return { resource, namespace: slash < 0 ? '' : place.slice(0, slash), name: place.slice(slash + 1) };
}
