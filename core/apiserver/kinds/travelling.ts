/** Decides which kinds of a space may go to clusters if a placement selects them. */

import type { GroupResource } from '../../object/key.ts';
import { edgeGroup } from './edge-placement.ts';

/**
 * Groups and resources whose objects stay in their space, even if a placement selects them with `*`. These objects decide where other objects go, or they
 * are internal records of a cluster. The status of a component is not workload either.
 */
const groupsThatStay = new Set([edgeGroup, 'inventory.banyan.io', 'mesh.banyan.io', 'events.k8s.io', 'metrics.k8s.io']);
const resourcesThatStay = new Set(['/events', '/nodes', '/bindings', '/componentstatuses']);

export function mayTravel(key: GroupResource): boolean {
  return !groupsThatStay.has(key.group) && !resourcesThatStay.has(`${key.group}/${key.resource}`);
}
