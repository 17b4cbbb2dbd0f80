/** For `banyan why`: the object in the agent's mailbox, and on its cluster if the kubeconfig reaches the cluster. */

import { nameOf, parentOf, shownPath } from '../../core/identity/node-path.ts';
import { health } from '../../core/object/health.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { NodeApiClient } from './api-client.ts';
import { askReplicas, nodeContexts } from './node-contexts.ts';

/**
 * Returns an object in the mailbox of an agent. For the agents of the topology, the kubeconfig has contexts of their mailboxes. For an enrolled agent, this
 * function asks the parent. If the parent has replicas, the first replica with the object answers. Throws NotFound if the kubeconfig does not have the parent
 * of the agent.
 */
export async function inMailbox(
  api: Pick<NodeApiClient, 'contexts' | 'get'>,
  at: string,
  path: string,
): Promise<KubeObject | undefined> {
  const contexts = api.contexts();
  const context = `mailbox/${at}`;
  if (contexts.includes(context)) return api.get(context, path);
  const parents = nodeContexts(contexts, parentOf(at));
  if (parents.length === 0) {
    const parent = `node/${shownPath(parentOf(at))}`;
    throw new BanyanError(
      'NotFound',
      `the kubeconfig has neither ${context} nor ${parent}, its parent: is "${at}" right?`,
    );
  }
  const mailbox = `/mailboxes/${nameOf(at)}`;
  return (await askReplicas(parents, (parent) => api.get(parent, mailbox + path))).answer;
}

/** The agent reports a Job that has ended, and that the cluster has deleted since, as it was at its end. */
const notThere =
  "it is not there: the cluster has deleted it after its end (a Job with ttlSecondsAfterFinished), or it is not there yet; then the agent's log has the reason";

/**
 * Returns a line about the object on the cluster. If the kubeconfig has no context of the cluster, as for an enrolled agent or a real cluster, the parent of the
 * agent asks through the tree. If that fails, the line says what the agent has reported.
 */
export async function onCluster(
  api: Pick<NodeApiClient, 'contexts' | 'get'>,
  at: string,
  path: string,
  received: KubeObject,
): Promise<string> {
  const context = `cluster/${at}`;
  try {
    const object = await clusterObject(api, at, path);
    return `${context}: ${object ? `it is there, uid ${object.metadata.uid}${troubleOf(object)}` : notThere}`;
  } catch (error) {
    if (!(error instanceof BanyanError)) throw error;
    const reported = received.status
      ? `; the agent's last report of it${troubleOf(received) || ' has no trouble'}`
      : '';
    const remedy = `look there with the cluster's own kubeconfig: kubectl get --raw ${path}`;
    return `${context}: it can't be read through the tree (${error.message})${reported}; ${remedy}`;
  }
}

async function clusterObject(
  api: Pick<NodeApiClient, 'contexts' | 'get'>,
  at: string,
  path: string,
): Promise<KubeObject | undefined> {
  const contexts = api.contexts();
  if (contexts.includes(`cluster/${at}`)) return api.get(`cluster/${at}`, path);
  const parents = nodeContexts(contexts, parentOf(at));
  return (await askReplicas(parents, (parent) => api.get(parent, `/tree/${at}/cluster${path}`))).answer;
}

/** Why the object is not what its spec asks for: `, InProgress (ReplicaFailure): exceeded quota: …`. Empty: nothing is wrong. */
function troubleOf(object: KubeObject): string {
  const { state, reason, message } = health(object);
  return state === 'Current' ? '' : `, ${state} (${reason}): ${message}`;
}
