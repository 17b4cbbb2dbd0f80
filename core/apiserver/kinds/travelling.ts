/** Which kinds of a space go to clusters, if a placement selects them. */

import type { GroupResource } from '../../object/key.ts';
import { edgeGroup } from './edge-kinds.ts';

/**
 * Groups whose objects say where others go, or are the cluster's own bookkeeping: they never travel as workload, whatever a `*` says.
 * A component's status is not a workload either.
 */
const groupsThatStay = new Set([edgeGroup, 'inventory.banyan.io', 'mesh.banyan.io', 'events.k8s.io', 'metrics.k8s.io']);
const resourcesThatStay = new Set([
  '/events',
  '/nodes',
  '/bindings',
  '/componentstatuses',
  'coordination.k8s.io/leases',
]);

export function mayTravel(key: GroupResource): boolean {
  return !groupsThatStay.has(key.group) && !resourcesThatStay.has(`${key.group}/${key.resource}`);
}
