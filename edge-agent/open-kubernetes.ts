/** Opens a real cluster for the agent. */
import type { Clock } from '../core/runtime/clock.ts';
import type { IdentityStore } from '../core/wire/join/identity-store.ts';
import type { ClusterPorts, OpenCluster, WriteGuard } from './cluster/cluster.ts';
import type { Access } from './cluster/kubernetes/access.ts';
import { ClusterApiClient } from './cluster/kubernetes/api-client.ts';
import type { ClientLimits } from './cluster/kubernetes/client-limits.ts';
import { ClusterProxy, type Visitors } from './cluster/kubernetes/cluster-proxy.ts';
import { KubernetesCluster } from './cluster/kubernetes/kubernetes-cluster.ts';
import { secretStore } from './identity/secret-store.ts';
import { KubernetesLease } from './lease/kubernetes-lease.ts';
import type { LeasePort } from './lease/lease.ts';

/** Opens the cluster, and does not wait for an answer of it. The agent checks again and again whether the cluster answers. */
export function openKubernetes(
  ports: ClusterPorts,
  options: {
    readonly access: Access;
    readonly uid?: string | undefined;
    readonly limits: ClientLimits;
    readonly visitors: Visitors;
  },
  guard?: WriteGuard,
): OpenCluster {
  const { access, uid, limits, visitors } = options;
  const cluster = new KubernetesCluster({ ...ports, access, uid, limits, guard });
  const proxy = new ClusterProxy({ visitors, log: ports.logger, ask: (passed) => cluster.pass(passed) });
  return {
    cluster,
    applied: (paths) => cluster.applied(paths),
    take: (connection, user) => proxy.take(connection, user),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

/** Opens the Lease with connections of its own, so that the agent's other requests to the cluster do not delay a renewal of the Lease. */
export function openLease(
  clock: Clock,
  access: Access,
  lease: { readonly namespace: string; readonly name: string },
): LeasePort {
  const client = new ClusterApiClient(access, clock);
  return new KubernetesLease({ ...lease, json: (asked) => client.json(asked), wallMs: () => clock.wallMs() });
}

/** Opens a Secret. This happens before the cluster is opened, because the agent's identity for its parent may be in a Secret of the cluster. */
export function openSecret(
  clock: Clock,
  access: Access,
  secret: { readonly namespace: string; readonly name: string },
): IdentityStore {
  const client = new ClusterApiClient(access, clock);
  return secretStore({ ...secret, json: (asked) => client.json(asked) });
}
