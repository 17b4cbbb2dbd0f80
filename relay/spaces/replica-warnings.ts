/**
 * The replicas of a relay share no objects. Whoever changes rights or accounts at one of them is warned that the others do not know of it. A Revocation goes to the
 * others over the parent, so its author is warned only while the parent is away.
 */
import { revocationResource } from '../../core/apiserver/kinds/revocation-kind.ts';
import type { WriteAdmission } from '../../core/apiserver/space.ts';
import { formatGroupResource } from '../../core/object/key.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';

export interface ReplicaFacts {
  readonly path: string;
  /** The number of replicas of this node, itself included. */
  readonly replicas: number;
  /** Whether this node has no session with its parent now. */
  isParentAway(): boolean;
}

const unshared: ReadonlySet<string> = new Set([
  'serviceaccounts',
  'accessgrants.mesh.banyan.io',
  ...['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'].map((one) => `${one}.rbac.authorization.k8s.io`),
]);

export function warnOfReplicas(
  { path, replicas, isParentAway }: ReplicaFacts,
  { key, user, subresource, warn }: Parameters<WriteAdmission>[0],
): void {
  // Objects that the node writes by itself have no user, and each replica writes them.
  if (replicas < 2 || !user || subresource !== undefined) return;
  const resource = formatGroupResource(key);
  if (unshared.has(resource))
    warn?.(`the relay ${path} has ${replicas} replicas, which share no objects: make this change at each of them`);
  if (resource === formatGroupResource(revocationResource) && isParentAway())
    warn?.(
      `this replica of the relay ${path} has no session with its parent now, and the other replicas learn of the Revocation when it has one: for a user, run ${cliCommand('user', 'revoke', 'NAME', '--at', path)}, which asks each replica`,
    );
}
