/** The kubeconfig of the agent's own cluster: one context, reached without a proxy. */
import {
  accessOfContext,
  badKubeconfig,
  type ClusterAccess,
  type Kubeconfig,
} from '../../../core/kubeconfig/kubeconfig.ts';

export interface ChosenContext {
  readonly context: string;
  readonly access: ClusterAccess;
}

/** Throws BadRequest with the file, the field and the reason why the field is wrong. `context` absent: the current context. */
export function chosenContext(config: Kubeconfig, file: string, context?: string): ChosenContext {
  const name = context ?? config['current-context'];
  const access = accessOfContext(config, name, file);
  if (!access) {
    throw badKubeconfig(
      file,
      `there is no context ${name || '(none is current)'} with a cluster and a user; name one that is there by cluster.kubernetes.context`,
    );
  }
  if (access.proxy) {
    const { cluster } = config.contexts.find((one) => one.name === name)!.context;
    const field = `clusters[${cluster}].cluster.proxy-url`;
    throw badKubeconfig(
      file,
      `${field} is ${access.proxy}: the agent reaches its own cluster without a proxy; remove the field`,
    );
  }
  return { context: name, access };
}
