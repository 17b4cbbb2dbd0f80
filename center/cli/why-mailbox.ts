/** For `banyan why`: what the parent of an agent has for it, and what is on its cluster, as far as the kubeconfig reaches there. */

import { nameOf, parentOf, shownPath } from '../../core/identity/node-path.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { NodeApiClient } from './api-client.ts';
import { askReplicas, nodeContexts } from './node-contexts.ts';

/**
 * An object of the agent's mailbox. The kubeconfig names the mailboxes of a topology's agents; that of one which was enrolled is asked for at its parent, of
 * siblings at the first that has it. Throws NotFound where the kubeconfig has no parent of it.
 */
export async function inMailbox(
  api: Pick<NodeApiClient, 'contexts' | 'get'>,
  at: string,
  path: string,
): Promise<KubeObject | undefined> {
  const contexts = api.contexts();
  const own = `mailbox/${at}`;
  if (contexts.includes(own)) return api.get(own, path);
  const parents = nodeContexts(contexts, parentOf(at));
  if (parents.length === 0) {
    const parent = `node/${shownPath(parentOf(at))}`;
    throw new BanyanError('NotFound', `the kubeconfig has neither ${own} nor ${parent}, its parent: is "${at}" right?`);
  }
  const mailbox = `/mailboxes/${nameOf(at)}`;
  return (await askReplicas(parents, (parent) => api.get(parent, mailbox + path))).answer;
}

/** The cluster of an agent that was enrolled, or has a real one, is none of the kubeconfig's. */
export async function onCluster(
  api: Pick<NodeApiClient, 'contexts' | 'get'>,
  at: string,
  path: string,
): Promise<string> {
  const own = `cluster/${at}`;
  if (!api.contexts().includes(own)) {
    return `${own}: the kubeconfig of the tree does not reach this cluster; look there with its own: kubectl get --raw ${path}`;
  }
  const object = await api.get(own, path);
  return `${own}: ${object ? `it is there, uid ${object.metadata.uid}` : "it is not there yet; the agent's log says why"}`;
}
