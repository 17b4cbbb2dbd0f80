/** A real cluster as the agent opens it. */
import type { ClusterPorts, OpenCluster } from '../cluster.ts';
import type { Access } from './access.ts';
import type { ClientLimits } from './client-limits.ts';
import { KubernetesCluster } from './kubernetes-cluster.ts';

/** Whether anybody answers is seen later, again and again. */
export function openKubernetes(
  ports: ClusterPorts,
  options: { readonly access: Access; readonly uid?: string | undefined; readonly limits: ClientLimits },
): OpenCluster {
  const { access, uid, limits } = options;
  const cluster = new KubernetesCluster({ ...ports, access, uid, limits });
  return { cluster, [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() };
}
