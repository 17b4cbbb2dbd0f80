/** A real cluster as the agent opens it. */
import type { ClusterPorts, OpenCluster } from '../cluster.ts';
import { type AccessOptions, accessOf } from './access.ts';
import type { ClientLimits } from './client-limits.ts';
import { KubernetesCluster } from './kubernetes-cluster.ts';

/** Throws BadRequest for a kubeconfig that says too little; whether anybody answers is seen later, again and again. */
export function openKubernetes(
  ports: ClusterPorts,
  options: AccessOptions & { readonly uid?: string | undefined; readonly limits: ClientLimits },
): OpenCluster {
  const cluster = new KubernetesCluster({
    ...ports,
    access: accessOf(options),
    uid: options.uid,
    limits: options.limits,
  });
  return { cluster, [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() };
}
